package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// hangLimit is how long a demo may take before it counts as hanging.
const hangLimit = 3 * time.Minute

// The chapter's text shows this output and draws conclusions from it.
func TestTheDemoDoesWhatTheTextShows(t *testing.T) {
	demotest.CompareTidied(t, story, withoutRepeats,
		demotest.Rule{Find: `node-\d|\S+-control-plane`, Put: "NODE"},
		demotest.Rule{Find: `items has \d+`, Put: "items has N"},
		demotest.Rule{Find: `from \d+ to \d+`, Put: "from N to N"})
}

// withoutRepeats leaves out how often a line came and what the table counts of
// it: the scheduler, the kubelet and the clock decide that.
func withoutRepeats(story string) string {
	lines := slices.Compact(strings.Split(story, "\n"))
	counts := regexp.MustCompile(`^ (Pod|ConfigMap) (\d+ ?)+$`)
	for i, line := range lines {
		if counts.MatchString(line) {
			lines[i] = strings.TrimRight(line, " 0123456789") + " N, repeated " + line[strings.LastIndex(line, " ")+1:]
		}
	}
	return strings.Join(lines, "\n")
}

// run starts the demo as a reader does, on a cluster of its own, and calls
// disturb when a line of its output contains the mark.
func run(t *testing.T, mark string, disturb func(demo *exec.Cmd, dir string)) (output string, err error) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	dir := t.TempDir()
	_, err = cluster.Up(t.Context(), cluster.Options{Dir: dir, Ephemeral: true, Out: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Down(context.Background(), cluster.Options{Dir: dir})) })

	binary := filepath.Join(t.TempDir(), "demo")
	built, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	demo := exec.CommandContext(ctx, binary)
	demo.Env = append(os.Environ(), "LOOPWRIGHT_DIR="+dir, "CLUSTER=embedded")
	out := &marked{mark: mark, hit: make(chan struct{})}
	demo.Stdout, demo.Stderr = out, out
	require.NoError(t, demo.Start())
	select {
	case <-out.hit:
		disturb(demo, dir)
	case <-ctx.Done():
	}
	err = demo.Wait()
	require.NoError(t, ctx.Err(), "the demo hangs:\n%s", out.text.String())
	return out.text.String(), err
}

// marked collects output and closes hit when the mark has come.
type marked struct {
	mark string
	text bytes.Buffer
	hit  chan struct{}
	done bool
}

func (m *marked) Write(p []byte) (int, error) {
	m.text.Write(p)
	if !m.done && strings.Contains(m.text.String(), m.mark) {
		m.done = true
		close(m.hit)
	}
	return len(p), nil
}

// A reader whose laptop runs out of memory sees a killed API server: the demo
// must end, and say what to do.
func TestAControlPlaneThatIsKilledEndsTheDemoWithAdvice(t *testing.T) {
	output, err := run(t, "A leek is no fruit", func(_ *exec.Cmd, dir string) {
		status, err := cluster.Inspect(t.Context(), cluster.Options{Dir: dir})
		require.NoError(t, err)
		for _, part := range status.Parts {
			if part.Part == cluster.APIServer {
				require.NoError(t, syscall.Kill(part.PID, syscall.SIGKILL))
			}
		}
	})
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", output)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, output, "make cluster-up")
	require.Contains(t, output, "is left over")
}

// Ctrl-C is how most demos end. The namespace must not stay behind.
func TestAnInterruptedDemoCleansUp(t *testing.T) {
	output, err := run(t, "A leek is no fruit", func(demo *exec.Cmd, dir string) {
		require.NoError(t, demo.Process.Signal(os.Interrupt))
	})
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", output)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, output, "interrupted")
	require.NotContains(t, output, "left over")
}

func TestTheDemosNamespaceGoesAway(t *testing.T) {
	on := clustertest.Shared(t)
	var name string
	require.NoError(t, demo.On(t.Context(), &bytes.Buffer{}, on, func(_ context.Context, d *demo.Demo) error {
		name = d.Namespace
		return nil
	}))
	client, err := kubernetes.NewForConfig(on.RESTConfig())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, time.Minute, 50*time.Millisecond)
}
