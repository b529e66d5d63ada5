// Package figuretest has the tests that every figure must pass: its chapter's picture is the one that it draws, and
// whatever a reader does leads to a picture that can be shown, and can be taken back.
package figuretest

import (
	"encoding/xml"
	"io"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/build"
	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// Root is the root of the checkout, from a package of figures.
var Root = filepath.Join("..", "..", "..", "..")

// Module tests all figures of a module.
func Module(t *testing.T, name string, definitions []figure.Definition) {
	var names []string
	for _, d := range definitions {
		names = append(names, d.Name)
		t.Run(d.Name, func(t *testing.T) {
			t.Run("the chapter's picture is the figure's", func(t *testing.T) { picture(t, d) })
			t.Run("whatever a reader does can be shown, and taken back", func(t *testing.T) { walk(t, d) })
		})
	}
	for _, m := range build.Modules {
		if m.Name == name {
			require.Equal(t, m.Figures, names, "modules.go must list the figures of %s", name)
			return
		}
	}
	t.Fatalf("modules.go has no module %s", name)
}

func picture(t *testing.T, d figure.Definition) {
	path, err := build.Picture(Root, d.Name)
	require.NoError(t, err)
	figurestest.Check(t, d.Still(), path)
}

// Press does what a reader does with some controls, which must be there and not be off.
func Press(t testing.TB, s *figure.Session, actions ...figure.Action) {
	t.Helper()
	for _, action := range actions {
		found := false
		for _, control := range s.Controls() {
			if control.Key == action.Key {
				found = true
				require.Empty(t, control.Off, "%s", control.Label)
			}
		}
		require.True(t, found, "no control %s", action.Key)
		s.Do(action)
	}
}

// walk goes through long stories.
func walk(t *testing.T, d figure.Definition) {
	used := map[string]bool{}
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 11))
		s := d.Open()
		if seed%2 == 0 {
			s.Do(figure.Action{Key: "restart"})
		}
		for range 50 {
			controls := s.Controls()
			c := controls[random.IntN(len(controls))]
			action := figure.Action{Key: c.Key, Value: valueOf(c, random)}
			before := s.View(draw.Wide)
			s.Do(action)
			after := s.View(draw.Wide)
			valid(t, after)
			valid(t, s.View(draw.Phone))
			require.NotEmpty(t, s.Said(), "%s: a reader must be told what happened", c.Label)
			require.NotEmpty(t, s.Words())
			switch {
			case c.Off != "":
				require.Equal(t, before, after, "%s is off, and did something", c.Label)
				require.Equal(t, c.Off, s.Said())
			case c.Kind == figure.Button && c.Key != "back" && c.Key != "restart":
				used[c.Key] = true
				s.Do(figure.Action{Key: "back"})
				require.Equal(t, before, s.View(draw.Wide), "%s cannot be taken back", c.Label)
				s.Do(action)
				require.Equal(t, after, s.View(draw.Wide), "%s does not do the same the second time", c.Label)
			}
		}
	}
	t.Logf("%d buttons were used", len(used))
}

func valueOf(c figure.Control, random *rand.Rand) string {
	switch c.Kind {
	case figure.Choice:
		return c.Options[random.IntN(len(c.Options))].Value
	case figure.Range:
		return strconv.Itoa(c.Min + random.IntN(c.Max-c.Min+1))
	case figure.Check:
		return strconv.FormatBool(c.Value != "true")
	}
	return ""
}

var (
	textAt   = regexp.MustCompile(`<text class="([^"]*)" x="([^"]*)" y="[^"]*">(.*?)</text>`)
	tags     = regexp.MustCompile(`<[^>]*>`)
	entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'")
)

// valid fails if a picture is no XML, or has a text that leaves it.
func valid(t testing.TB, picture string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
	width := 0.0
	if size := regexp.MustCompile(`viewBox="0 0 (\d+) `).FindStringSubmatch(picture); size != nil {
		width, _ = strconv.ParseFloat(size[1], 64)
	}
	require.Positive(t, width)
	for _, match := range textAt.FindAllStringSubmatch(picture, -1) {
		class, text := match[1], entities.Replace(tags.ReplaceAllString(match[3], ""))
		x, err := strconv.ParseFloat(match[2], 64)
		require.NoError(t, err)
		long := draw.WidthOf(text, 15)
		switch {
		case strings.Contains(class, "small"):
			long = draw.WidthOf(text, 13)
		case strings.Contains(class, "code"):
			long = draw.CodeWidth(text)
		}
		left := x
		switch {
		case strings.Contains(class, "end"):
			left = x - long
		case strings.Contains(class, "middle"):
			left = x - long/2
		}
		require.GreaterOrEqual(t, left, -2.0, "%q leaves a picture of %v on the left", text, width)
		require.LessOrEqual(t, left+long, width+2, "%q leaves a picture of %v on the right", text, width)
	}
}
