package scaffold

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/goproxytest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// The first time, everything has to be downloaded. Minutes without a word look as if the command hangs.
func TestCompleteSaysHowLongItTakesAndShowsWhatTheGoCommandSays(t *testing.T) {
	dir := t.TempDir()
	for _, file := range txtar.Parse([]byte(modules)).Files {
		require.NoError(t, writeFile(filepath.Join(dir, file.Name), file.Data))
	}
	proxy := goproxytest.NewTestServer(t, filepath.Join(dir, "proxy"), "")
	for name, value := range map[string]string{
		"GOPROXY": proxy.URL, "GOSUMDB": "off", "GOMODCACHE": filepath.Join(dir, "cache"), "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local",
	} {
		t.Setenv(name, value)
	}
	project := filepath.Join(dir, "project")
	require.NoError(t, writeFile(filepath.Join(project, "go.mod"), []byte("module example.com/shop\n\ngo 1.26.0\n\nrequire "+ours+" v1.2.3\n")))
	require.NoError(t, writeFile(filepath.Join(project, "main.go"), []byte("package main\n\nimport _ \""+ours+"/nothing\"\n\nfunc main() {}\n")))
	var out strings.Builder
	err := Complete(t.Context(), project, &out)
	assert.ErrorContains(t, err, "`go mod tidy` failed")
	asked, downloads := strings.Index(out.String(), "2 minutes"), strings.Index(out.String(), "go: downloading "+ours+" v1.2.3\n")
	assert.NotEqual(t, -1, asked, out.String())
	assert.Greater(t, downloads, asked, out.String())
}
