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
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	coloured := regexp.MustCompile(`([^\n{}]*?) \{[^}]*(?:fill|stroke): #`)
	for _, rule := range coloured.FindAllStringSubmatch(light, -1) {
		for selector := range strings.SplitSeq(rule[1], ", ") {
			require.Regexp(t, `(?m)^\s*([^{]*, )?`+regexp.QuoteMeta(selector)+`(,[^{]*)? \{`, dark, "%s has a colour for light pages only", selector)
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

// The tests that compare pictures run on processors that round differently.
func TestCoordinatesHaveOneDigitAtMost(t *testing.T) {
	require.Equal(t, []string{"0", "12", "0.3", "-1.5"}, []string{number(0), number(12), number(0.1 + 0.2), number(-1.52)})
}
