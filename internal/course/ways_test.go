package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const tinyWays = `written:
  - {chapter: 1, what: A sum}
  - {chapter: 2, what: A mean}
ways:
  - {way: An evening, chapters: [{chapter: 1}, {chapter: 2, shown: true}], then: you add}
  - {way: All of it, then: you divide}
`

// Hours that somebody once added up are wrong as soon as a chapter is added.
func TestTheWaysThroughTheCourseAreCountedFromItsChapters(t *testing.T) {
	t.Parallel()
	r := withWorkshops(t, tinyWorkshops+tinyWays, "<!-- course:ways -->\n<!-- /course:ways -->\n<!-- course:written -->\n<!-- /course:written -->\n")
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, `<!-- course:ways -->

|  | Chapters | Hours | Then |
|---|---|---|---|
| An evening | 1, 2 without its exercise | 2 | you add |
| All of it | 1 to 2 | 3 | you divide |

<!-- /course:ways -->
<!-- course:written -->

|  | Hours |
|---|---|
| A sum | 1 |
| A mean | 1 |

<!-- /course:written -->
`, read(t, r, "docs/teaching.md"))

	chapters, err := r.written()
	require.NoError(t, err)
	times, err := r.Times(chapters[0])
	require.NoError(t, err)
	assert.Equal(t, Times{Read: 25, Run: 10, Write: 40}, times, "75 minutes, half of them to write")
}

func TestAWayThroughAChapterThatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ways", "written"} {
		r := withWorkshops(t, tinyWorkshops+strings.ReplaceAll(tinyWays, "chapter: 2", "chapter: 7"), "<!-- course:"+name+" -->\n<!-- /course:"+name+" -->\n")
		_, err := r.Sync()
		require.ErrorContains(t, err, "docs/workshops.yaml takes chapter 7, which does not exist")
	}
}
