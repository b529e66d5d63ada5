package api

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAGeneratedFileIsCheckedAsItIsWritten holds that `make check` finds a file that `make api` would
// change, and says where.
func TestAGeneratedFileIsCheckedAsItIsWritten(t *testing.T) {
	root := t.TempDir()
	file := Written{"new/file.md", []byte("a\nb\n")}
	assert.EqualError(t, file.Check(root), `new/file.md is out of date (line 1 is "", and should be "a"); `+"`make api` writes it")
	require.NoError(t, file.Write(root))
	assert.NoError(t, file.Check(root))

	require.NoError(t, os.WriteFile(filepath.Join(root, "new", "file.md"), []byte("a\nc\n"), 0o600))
	assert.ErrorContains(t, file.Check(root), `line 2 is "c", and should be "b"`)
	require.NoError(t, file.Write(root))
	assert.NoError(t, file.Check(root))
}
