package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADirectoryThatHoldsSomebodysFilesKeepsThemAndItsMode(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	own := []string{filepath.Join(home, "bin", "tool"), filepath.Join(home, "cluster", "thesis.tex")}
	require.NoError(t, os.Mkdir(home, 0o755))
	for _, path := range own {
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("mine"), 0o644))
	}
	at := place{dir: home}
	require.NoError(t, at.make())
	require.NoError(t, privateFile(at.kubeconfig(), []byte("ours")))
	info, err := os.Stat(home)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "LOOPWRIGHT_DIR=/tmp would lock everybody out of it")

	require.NoError(t, Down(t.Context(), Options{Dir: home}))
	for _, path := range own {
		assert.FileExists(t, path, "LOOPWRIGHT_DIR=$HOME would cost a reader's files")
	}
	assert.NoFileExists(t, at.kubeconfig())
	assert.NoDirExists(t, at.pki(""))
}

func TestAPrivateFileIsReplacedAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("a longer text before"), 0o644))
	require.NoError(t, privateFile(path, []byte("new")))
	assert.Equal(t, "new", readFile(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1, "a temporary file is left")
	assert.ErrorContains(t, privateFile(filepath.Join(path, "below"), nil), "writing "+path)
}
