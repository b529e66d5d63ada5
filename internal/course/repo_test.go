package course

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page that was made from a text has the same words: counted as a text, it would be
// checked, filled in and made into a page again.
func TestWhatTheBooksGeneratorWritesIsNoText(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"docs/a.md":                    "# A\n",
		"docs/book/README.md":          "# The book\n",
		"docs/book/pages/docs/a.md":    "# A\n",
		"docs/book/public/source/x.md": "# X\n",
		"mini/testdata/golden.md":      "# Golden\n",
	})
	files, err := r.Markdown()
	require.NoError(t, err)
	assert.Equal(t, []string{"README.md", "chapters/01-sum/README.md", "chapters/02-mean/README.md", "docs/a.md", "docs/book/README.md", "docs/glossary.md", "exercises/01-sum/README.md"}, files)
}
