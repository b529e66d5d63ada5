package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeDocker puts a shell script in the place of docker, and nothing else where
// a container engine could be found.
func fakeDocker(t testing.TB, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/bash\n"+script+"\n"), 0o700))
	setPath(t, dir)
	return dir
}

func setPath(t testing.TB, dir string) {
	t.Helper()
	for _, tool := range []string{"cat", "sleep"} {
		if _, err := os.Lstat(filepath.Join(dir, tool)); err != nil {
			require.NoError(t, os.Symlink("/bin/"+tool, filepath.Join(dir, tool)))
		}
	}
	t.(interface{ Setenv(string, string) }).Setenv("PATH", dir)
}

func TestKindWithoutAnEngineSaysWhatToInstallOrToUseInstead(t *testing.T) {
	setPath(t, t.TempDir())
	for _, call := range []func() error{
		func() error { _, err := Up(t.Context(), Options{Mode: Kind, Dir: t.TempDir()}); return err },
		func() error { return Down(t.Context(), Options{Mode: Kind, Dir: t.TempDir()}) },
		func() error { _, err := Inspect(t.Context(), Options{Mode: Kind, Dir: t.TempDir()}); return err },
	} {
		assert.EqualError(t, call(), "CLUSTER=kind needs a running Docker, Podman or nerdctl, and none is installed: "+
			"start one (`docker ps` must work), or use CLUSTER=embedded, which needs none")
	}
}

func TestKindWithAnEngineThatDoesNotRunSaysWhatTheEngineSaid(t *testing.T) {
	fakeDocker(t, `echo "Docker version 29.0" ; [ "$1" = -v ] && exit 0
echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2; exit 1`)
	_, err := Up(t.Context(), Options{Mode: Kind, Dir: t.TempDir()})
	assert.EqualError(t, err, "CLUSTER=kind needs a running Docker, Podman or nerdctl, and none answered "+
		"(docker: exit status 1: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?): "+
		"start one (`docker ps` must work), or use CLUSTER=embedded, which needs none")
}

func TestKindWithAnEngineThatHangsSaysSo(t *testing.T) {
	fakeDocker(t, "exec sleep 600")
	_, err := Up(t.Context(), Options{Mode: Kind, Dir: t.TempDir()})
	assert.ErrorContains(t, err, "docker: no answer within 5s")
}

func TestTheFirstEngineThatAnswersIsUsed(t *testing.T) {
	dir := fakeDocker(t, "exit 1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "podman"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	found, err := findEngine(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "podman", found.command, "a Docker client without its service hides a Podman that runs")

	fakeDocker(t, "exit 0")
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "podman")
	_, err = findEngine(t.Context())
	assert.Error(t, err, "kind's own variable is ignored")
}

func TestTheHostsCgroupsAreAskedFromItsEngine(t *testing.T) {
	for answer, old := range map[string]bool{"1": true, "v1": true, "2": false, "v2": false, "": false, "10": false} {
		fakeDocker(t, "echo "+answer)
		found, err := findEngine(t.Context())
		require.NoError(t, err)
		assert.Equal(t, old, found.hasCgroupV1(t.Context()), "%q", answer)
	}
}
