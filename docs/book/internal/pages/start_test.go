package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTopOfTheStartPageHasNoBadgesAndThreeDoors(t *testing.T) {
	s, err := openCourse(t, "-- docs/playground.md --\n# The playground\n-- docs/porting.md --\n# An operator you have\n")
	require.NoError(t, err)
	page, found, err := s.vitePage(0)
	require.NoError(t, err)
	require.Empty(t, found)
	assert.NotContains(t, page, "badge.svg")
	for _, door := range []string{"chapters/01-list/", "docs/playground", "docs/porting"} {
		assert.Contains(t, page, "link: /"+door+"\n")
	}
	assert.Contains(t, page, "tagline: This is a course.\n")
	assert.Contains(t, page, "description: This is a course. It is small.\n")
	assert.Contains(t, page, "<p>It is small.</p>", "the upper half has the first sentence")
}

func TestTheFirstSentenceOfTheStartPageIsCutWhereTheTaglineHasAllOfIt(t *testing.T) {
	for _, c := range []struct{ intro, about, rest string }{
		{"One\nline. Two.", "One line.", "<p>Two.</p>"},
		{"One\nline.\nTwo.", "One line.", "<p>Two.</p>"},
		{"Only one.", "Only one.", ""},
		{"One. With `code` in it.", "One.", "<p>With <code>code</code> in it.</p>"},
		{"With `code` in it. Two.", "With code in it.", "<p>Two.</p>"},
		{"A `b. c` d.", "A b.", "<p>A <code>b. c</code> d.</p>"},
		{"It ends in\n`code`.", "It ends in code.", ""},
		{"With *stress* in it. Two.", "With stress in it.", "<p>With <em>stress</em> in it. Two.</p>"},
	} {
		p, found := newPage(home, "# Course\n\n"+c.intro+"\n")
		require.Empty(t, found)
		out, found := (&Site{}).text(p)
		require.Empty(t, found)
		assert.Equal(t, c.about, p.about)
		assert.Equal(t, c.rest, strings.TrimSpace(out))
	}
}

// A card with the way of an event instead of a sentence would say nothing to whoever is sent a link.
func TestAPageIsDescribedByItsFirstSentences(t *testing.T) {
	long := strings.Repeat("word ", 45) + "end."
	for _, c := range []struct{ text, want string }{
		{"`API server -> informer`\n\nYour program lists\nPods. Then it stops.", "Your program lists Pods. Then it stops."},
		{"Short. " + long, "Short."},
		{long + " More.", long},
		{"", ""},
	} {
		p, found := newPage("chapters/01-list/README.md", "# 1. List\n\n"+c.text+"\n")
		require.Empty(t, found)
		assert.Equal(t, c.want, p.description)
	}
}
