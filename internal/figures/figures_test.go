package figures

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without a dark form a colour that was chosen for white paper may vanish on a dark page.
func TestEveryColourHasADarkForm(t *testing.T) {
	coloured := regexp.MustCompile(`([^\n{}]*?) \{[^}]*(?:fill|stroke): #`)
	for _, rules := range []string{style, stateStyle} {
		light, dark, found := strings.Cut(rules, "@media (prefers-color-scheme: dark)")
		require.True(t, found)
		for _, rule := range coloured.FindAllStringSubmatch(light, -1) {
			for selector := range strings.SplitSeq(rule[1], ", ") {
				require.Regexp(t, `(?m)^\s*([^{]*, )?`+regexp.QuoteMeta(selector)+`(,[^{]*)? \{`, dark, "%s has a colour for light pages only", selector)
			}
		}
	}
}

// A browser shows nothing but an error for a picture that is not XML.
func TestAPictureIsXMLWhateverItsTextSays(t *testing.T) {
	c := New(100, "a < b", `"a" & 'b'`)
	c.Text("bold", 1.25, 2, "from <none> to Informer[T] & back")
	c.Words("", 0, 0, Word{Text: "<a>"}, Word{Class: "fill1", Text: "&b"})
	c.Squares("fill1", 6, 1, 2, 3, 4)
	c.Line("grid", 0, 0, 1, 1)
	decoder := xml.NewDecoder(strings.NewReader(c.String()))
	text := ""
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if data, ok := token.(xml.CharData); ok {
			text += string(data)
		}
	}
	require.Contains(t, text, "a < b")
	require.Contains(t, text, "from <none> to Informer[T] & back")
	require.Contains(t, text, "<a> &b", "words have a space between them")
	require.Contains(t, c.String(), `<path class="fill1" d="M1,2h6v6h-6zM3,4h6v6h-6z"/>`)
}

// A reader sees how long a state lasts, and where a thing isn't there.
func TestAStateThatLastsIsOneBar(t *testing.T) {
	steps, well := NewSteps("Pod"), State{"well", "ready"}
	for _, state := range []State{well, well, {}, well} {
		steps.Add("a step", state)
	}
	picture := steps.Draw("", "")
	require.Equal(t, 2, strings.Count(picture.String(), `class="state well"`))
	require.Contains(t, picture.String(), `y="48" width="400" height="80"`, "two rows")
	require.Contains(t, picture.String(), `y="180" width="400" height="36"`, "the fourth row")
}

// The tests that compare pictures run on processors that round differently.
func TestCoordinatesHaveOneDigitAtMost(t *testing.T) {
	require.Equal(t, []string{"0", "12", "0.3", "-1.5"}, []string{number(0), number(12), number(0.1 + 0.2), number(-1.52)})
}
