package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheStartPageHasNoBadgesAndLeadsToTheFirstChapterAndExercise(t *testing.T) {
	s, err := openCourse(t, "")
	require.NoError(t, err)
	page, found, err := s.vitePage(0)
	require.NoError(t, err)
	require.Empty(t, found)
	assert.NotContains(t, page, "badge.svg")
	assert.Contains(t, page, "link: /chapters/01-list/\n")
	assert.Contains(t, page, "link: /chapters/01-list/exercise\n")
	assert.Contains(t, page, "tagline: This is a course.\n")
	assert.Contains(t, page, "description: This is a course.\n")
	assert.Contains(t, page, "<p>It is small.</p>", "the upper half has the first sentence")
}

func TestTheFirstSentenceOfTheStartPageIsCutOnlyWhereItIsPlainText(t *testing.T) {
	for _, c := range []struct{ intro, about, rest string }{
		{"One\nline. Two.", "One line.", "<p>Two.</p>"},
		{"One\nline.\nTwo.", "One line.", "<p>Two.</p>"},
		{"Only one.", "Only one.", ""},
		{"One. With `code` in it.", "One.", "<p>With <code>code</code> in it.</p>"},
		{"With `code` in it. Two.", "With code in it.", "<p>With <code>code</code> in it. Two.</p>"},
	} {
		p, found := newPage(home, "# Course\n\n"+c.intro+"\n")
		require.Empty(t, found)
		out, found := (&Site{}).text(p)
		require.Empty(t, found)
		assert.Equal(t, c.about, p.about)
		assert.Equal(t, c.rest, strings.TrimSpace(out))
	}
}
