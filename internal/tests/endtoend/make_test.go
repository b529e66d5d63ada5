// Package endtoend types what a newcomer types, and looks at what comes back.
// It has no code but tests; below it is the Makefile.
package endtoend

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hangLimit is how long a command may take before it counts as hanging. What is
// bounded by it takes seconds; the rest is for a cold build cache.
const hangLimit = 10 * time.Minute

// typed runs make in the checkout as from a fresh shell, with a state directory
// of its own, and returns what it printed and whether it failed.
func typed(t *testing.T, dir string, arguments ...string) (output string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hangLimit) // t.Context has ended when a test cleans up
	defer cancel()
	command := exec.CommandContext(ctx, "make", arguments...)
	command.Dir = "../../.."
	// make passes its own flags on to the tests that it runs.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CLUSTER", "YES", "N", "MINE"}, name)
	})
	command.Env = append(command.Env, "LOOPWRIGHT_DIR="+dir)
	text, err := command.CombinedOutput()
	require.NoError(t, ctx.Err(), "make %s hangs:\n%s", strings.Join(arguments, " "), text)
	return string(text), err != nil
}

func TestMakeAloneExplainsWhatThereIs(t *testing.T) {
	output, failed := typed(t, t.TempDir())
	require.False(t, failed, output)
	for _, target := range []string{"demo", "demo-all", "chapter-N", "quick", "test", "test-all", "check", "bench", "bench-N", "cluster-up", "cluster-down", "cluster-status", "clean", "exercise-N", "bug-N", "catch-up-N", "mini", "progress"} {
		assert.Contains(t, output, "make "+target+" ")
	}
	// Even a dry run runs the lines of test-all that call make, and they need this.
	built, failed := typed(t, t.TempDir(), ".loopwright/tools/slowest")
	require.False(t, failed, built)
	for _, listed := range regexp.MustCompile(`(?m)^  make (\S+)`).FindAllStringSubmatch(output, -1) {
		target := strings.ReplaceAll(listed[1], "-N", "-1")
		output, failed := typed(t, t.TempDir(), "--dry-run", target)
		assert.False(t, failed, "make lists %s, but cannot make it:\n%s", target, output)
	}
}

func TestWhatDoesNotExistIsAnsweredWithWhatDoes(t *testing.T) {
	for _, try := range []struct {
		arguments []string
		answers   []string
	}{
		{[]string{"chapter-99"}, []string{"there is no chapter \"99\"", "List, then watch"}},
		{[]string{"chapter", "N=99"}, []string{"there is no chapter \"99\"", "List, then watch"}},
		{[]string{"bench-99"}, []string{"there is no chapter \"99\"", "List, then watch"}},
		{[]string{"bench-1", "MINE=1"}, []string{"none of the files up to chapter 1 is yours yet", "make exercise-1"}},
		{[]string{"chapter"}, []string{"which chapter?", "List, then watch"}},
		{[]string{"exercise"}, []string{"which one?", "make exercise-1"}},
		{[]string{"bug", "N=99"}, []string{"there is no exercise \"99\"", "write listwatch.go"}},
		{[]string{"class"}, []string{"which directory?", "make class DIR=../learners"}},
		{[]string{"class", "DIR=/none"}, []string{"looking for learners", "/none"}},
		{[]string{"chapter-1-garbage"}, []string{"there is no chapter", "List, then watch"}},
		{[]string{"exercise-99"}, []string{"there is no exercise \"99\"", "write listwatch.go"}},
		{[]string{"hint-99"}, []string{"there is no exercise \"99\""}},
		{[]string{"chapter-1", "CLUSTER=nonsense"}, []string{`CLUSTER="nonsense"`, "embedded", "kind", "current"}},
		{[]string{"cluster-up", "CLUSTER=nonsense"}, []string{`CLUSTER="nonsense"`, "embedded", "kind", "current"}},
		{[]string{"cluster-up", "NODES=many"}, []string{`NODES="many"`, "whole number"}},
		{[]string{"cluster-down", "CLUSTER=current"}, []string{"refused"}},
	} {
		output, failed := typed(t, t.TempDir(), try.arguments...)
		name := "make " + strings.Join(try.arguments, " ")
		assert.True(t, failed, "%s succeeds:\n%s", name, output)
		for _, answer := range try.answers {
			assert.Contains(t, output, answer, name)
		}
		assert.NotContains(t, output, "panic", name)
	}
}

// The README's first command on a cluster, and the one that takes everything back.
func TestMakeDemoLeavesAClusterAndClusterDownLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	dir := filepath.Join(t.TempDir(), "state")
	// Ctrl-C must not take the cleaning up away. The demo is told, too, and ends.
	_, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(stop)
	t.Cleanup(func() { typed(t, dir, "cluster-down") })
	output, failed := typed(t, dir, "demo")
	require.False(t, failed, output)
	require.Contains(t, output, "is being deleted. The cluster stays up; `make cluster-status` shows it.")

	output, failed = typed(t, dir, "cluster-status")
	require.False(t, failed, output)
	require.Contains(t, output, "3 of them ready")
	require.Contains(t, output, "export KUBECONFIG="+filepath.Join(dir, "cluster", "kubeconfig"))

	output, failed = typed(t, dir, "cluster-down")
	require.False(t, failed, output)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	output, failed = typed(t, dir, "cluster-status")
	require.False(t, failed, output)
	require.Contains(t, output, "No embedded cluster is running")
}
