package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/goproxytest"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestTrying types try, use and unuse. There, controller-runtime and the checkout of Loopwright are
// modules of a few lines, so a script takes seconds; benchmarks/ tries a program on the real ones.
func TestTrying(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	proxy, err := goproxytest.NewServer(filepath.Join("testdata", "proxy"), "")
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	common, err := filepath.Abs(filepath.Join("testdata", "checkout"))
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/try",
		Setup: func(env *testscript.Env) error {
			for name, value := range map[string]string{
				"GOCACHE": strings.TrimSpace(string(cache)), "GOPROXY": proxy.URL, "GOSUMDB": "off", "GOFLAGS": "-modcacherw",
				"GOTOOLCHAIN": "local",
			} {
				env.Setenv(name, value)
			}
			return os.CopyFS(filepath.Join(env.WorkDir, "loopwright"), os.DirFS(common))
		},
		UpdateScripts: os.Getenv("UPDATE") != "",
	})
}
