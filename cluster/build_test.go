package cluster

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheVersionIsThatOfTheModule(t *testing.T) {
	assert.Contains(t, readFile(t, "controlplane/go.mod"), "\n\tk8s.io/kubernetes "+kubernetesVersion+"\n")
}

func TestProgressCountsPackagesAndKeepsComplaints(t *testing.T) {
	var printed bytes.Buffer
	progress := &buildProgress{out: &printed, start: time.Now(), total: 3}
	complaints := progress.follow(strings.NewReader(strings.Join([]string{
		"go: downloading k8s.io/api v0.36.3", "internal/abi", "k8s.io/api/core/v1", "# k8s.io/api/core/v1", "core.go:1:1: syntax error",
	}, "\n")))
	assert.Equal(t, []string{"# k8s.io/api/core/v1", "core.go:1:1: syntax error"}, complaints)
	assert.Contains(t, printed.String(), "  downloaded 1 modules, 0s so far\n")
	assert.Contains(t, printed.String(), "  compiled 2 of at most 3 packages, 0s so far\n")
}

func TestALineOfAnyLengthDoesNotBlockTheBuild(t *testing.T) {
	reading, writing := io.Pipe()
	written := make(chan error, 1) // one: go may end after the test has failed
	go func() {
		_, err := io.WriteString(writing, strings.Repeat("x", 1<<20)+"\nmore\n")
		written <- err
		_ = writing.Close()
	}()
	(&buildProgress{out: io.Discard}).follow(reading)
	assert.NoError(t, <-written)
}

func TestTheFingerprintChangesWithTheSourcesAndOnlyWithThem(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("main.go", "package main")
	write("go.mod", "module x")
	print := func() string {
		found, err := fingerprint(os.DirFS(dir))
		require.NoError(t, err)
		return found
	}
	first := print()
	assert.Len(t, first, 16)
	write("README.md", "text")
	write("main_test.go", "package main")
	assert.Equal(t, first, print(), "a build of minutes for nothing")
	for _, name := range []string{"main.go", "go.mod", "go.sum", "other.go"} {
		before := print()
		write(name, "something else")
		assert.NotEqual(t, before, print(), "%s changed, and an old control plane runs", name)
	}
	_, err := fingerprint(os.DirFS(filepath.Join(dir, "missing")))
	assert.Error(t, err)
}

func TestTheBuildIgnoresWhatTheShellCompilesFor(t *testing.T) {
	for name, value := range map[string]string{
		"GOFLAGS": "-nonsense", "GOOS": "plan9", "GOARCH": "mips", "GOWORK": "/nonexistent/go.work", "GODEBUG": "x509negativeserial=1",
		"GO111MODULE": "off", "GOEXPERIMENT": "nonsense", "CGO_ENABLED": "1",
	} {
		t.Setenv(name, value)
	}
	answer, err := goCommand(t.Context(), "controlplane", "env", "GOFLAGS", "GOOS", "GOARCH", "GOWORK", "CGO_ENABLED", "GODEBUG", "GOEXPERIMENT").Output()
	require.NoError(t, err)
	assert.Equal(t, []string{"-mod=readonly", runtime.GOOS, runtime.GOARCH, "off", "0", "", ""}, strings.Split(strings.TrimSuffix(string(answer), "\n"), "\n"))
}
