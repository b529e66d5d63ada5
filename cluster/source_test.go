package cluster

import (
	"archive/zip"
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "renew the archive of the control plane's sources")

func TestTheCarriedSourcesAreThoseOfTheNestedModule(t *testing.T) {
	module := map[string]string{}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	require.NoError(t, eachSource(os.DirFS("controlplane"), func(path string, content []byte) error {
		module[path] = string(content)
		file, err := archive.Create(path)
		require.NoError(t, err)
		_, err = file.Write(content)
		return err
	}))
	require.NoError(t, archive.Close())
	if *update {
		require.NoError(t, os.WriteFile("controlplane.zip", packed.Bytes(), 0o600))
		carried = packed.Bytes()
	}

	t.Chdir(t.TempDir()) // as a program of another module is not in a checkout
	found, err := findSource()
	require.NoError(t, err)
	require.Empty(t, found.dir)
	carries := map[string]string{}
	require.NoError(t, fs.WalkDir(found.files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var content []byte
			content, err = fs.ReadFile(found.files, path)
			carries[path] = string(content)
		}
		return err
	}))
	for path := range module {
		assert.Equal(t, module[path], carries[path], "%s differs: `go generate ./cluster` renews what is carried", path)
	}
	assert.Len(t, carries, len(module), "`go generate ./cluster` renews what is carried")
}

func TestACheckoutAndTheArchiveShareABuild(t *testing.T) {
	checkout, err := findSource()
	require.NoError(t, err)
	require.NotEmpty(t, checkout.dir)
	t.Chdir(t.TempDir())
	archive, err := findSource()
	require.NoError(t, err)
	of := func(files fs.FS) string {
		id, err := fingerprint(files)
		require.NoError(t, err)
		return id
	}
	assert.Equal(t, of(checkout.files), of(archive.files), "minutes are spent on the same binary again")
}

func TestTheArchiveIsUnpackedForABuildAndThenGone(t *testing.T) {
	t.Chdir(t.TempDir())
	archive, err := findSource()
	require.NoError(t, err)
	at := filepath.Join(t.TempDir(), "source")
	require.NoError(t, os.MkdirAll(filepath.Join(at, "left by a killed build"), 0o700))
	dir, drop, err := archive.unpacked(at)
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(dir, "go.sum"))
	assert.FileExists(t, filepath.Join(dir, "internal", "part", "part.go"))
	assert.NoDirExists(t, filepath.Join(dir, "left by a killed build"))
	drop()
	assert.NoDirExists(t, at)
}
