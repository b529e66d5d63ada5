package pages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever breaks a link or an anchor in a text learns it here, without Node.
func TestAllTextsOfThisRepositoryBecomePages(t *testing.T) {
	s, err := Open("../../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "public", "figures"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "public", "old.html"), nil, 0o644))
	require.NoError(t, s.Write(dir))
	assert.NoFileExists(t, filepath.Join(dir, "public", "old.html"), "a page that has gone must not stay")
	assert.DirExists(t, filepath.Join(dir, "public", "figures"), "another program makes the figures")
	for _, p := range s.order {
		text, err := os.ReadFile(filepath.Join(dir, "pages", strings.TrimSuffix(p.out, ".html")+".md"))
		require.NoError(t, err)
		assert.NotContains(t, string(text), "<!--", "%s: a comment is for the programs that read the text", p.file)
	}
	assert.Len(t, s.order, len(s.pages), "each text has one place in the order")
	page, err := os.ReadFile(filepath.Join(dir, "public", "source", "informer", "listwatch.go.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), `id="L10"`)
	assert.NotContains(t, string(page), "<script")
	assert.FileExists(t, filepath.Join(dir, "public", "source", "informer", "index.html"))
	assert.FileExists(t, filepath.Join(dir, "public", "chapters", "03-reflector", "reconnect.svg"))
}
