package walkthrough_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/tests/walkthrough"
)

var originals = flag.Bool("originals", false, "play the walks with Kubernetes' own controllers, too")
var update = flag.Bool("update", false, "write the table of docs/walkthroughs.md")

func TestMain(m *testing.M) {
	cluster.EndWithParent()
	os.Exit(m.Run())
}

func walks(t *testing.T) []walkthrough.Walk {
	all, err := walkthrough.Walks()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

type runtime struct {
	name        string
	controllers []string // the kinds that its controllers reconcile
}

// runtimes have the controllers that play the walks.
var runtimes = []runtime{
	{"mini", []string{"deployment", "replicaset", "garbagecollector", "job", "cronjob",
		"daemonset", "statefulset"}},
	{"the library", []string{"deployment", "replicaset", "garbagecollector"}},
}

func TestWithKubernetesOwnControllers(t *testing.T) {
	if !*originals {
		t.Skip("-originals plays them")
	}
	play(t, t.Context(), up(t, cluster.SampleControllers), "Kubernetes", walks(t))
}

func TestWithMini(t *testing.T) {
	t.Setenv("ORIGINALS", cluster.Bare) // mini/cmd/mini runs all controllers then
	c := up(t, []string{cluster.Bare})
	running := run(t, c, "../../../mini/cmd/mini")
	play(t, running, c, "mini", playedWith("mini", walks(t)))
}

func TestWithTheLibrary(t *testing.T) {
	c := up(t, []string{"-garbage-collector-controller"})
	running := run(t, c, "../../../controllers/cmd/controllers",
		"--controllers=deployment,replicaset,endpoints,garbagecollector",
		"--metrics-bind-address=0", "--pprof-bind-address=0", "--health-probe-bind-address=0")
	play(t, running, c, "the library", playedWith("the library", walks(t)))
}

// playedWith returns the walks for which a runtime has all controllers.
func playedWith(name string, all []walkthrough.Walk) (played []walkthrough.Walk) {
	for _, r := range runtimes {
		for _, w := range all {
			if r.name == name && w.NeedsOnly(r.controllers) {
				played = append(played, w)
			}
		}
	}
	return played
}

// up starts a cluster for one test.
func up(t *testing.T, originals []string) *cluster.Cluster {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	c, err := cluster.Up(ctx, cluster.Options{
		Ephemeral: true, Originals: originals, Out: os.Stderr,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Down(context.Background())) })
	return c
}

// run runs a program until the end of the test. If the program ends before, the context does, too.
func run(t *testing.T, c *cluster.Cluster, directory string, flags ...string) context.Context {
	program := filepath.Join(t.TempDir(), "program")
	output, err := exec.Command("go", "build", "-o", program, directory).CombinedOutput()
	require.NoError(t, err, "%s", output)
	command := exec.Command(program, flags...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	require.NoError(t, command.Start())
	running, ended := context.WithCancelCause(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { ended(fmt.Errorf("the program has ended: %v", command.Wait())) })
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		waiting.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return running
}

// play plays walks beside each other. Each step has to end as the walk says.
func play(
	t *testing.T, ctx context.Context, c *cluster.Cluster, name string, all []walkthrough.Walk,
) {
	require.NotEmpty(t, all)
	t.Run("walks", func(t *testing.T) {
		for _, w := range all {
			t.Run(w.Name, func(t *testing.T) {
				t.Parallel()
				walk(t, ctx, c, name, w)
			})
		}
	})
}

func walk(
	t *testing.T, ctx context.Context, c *cluster.Cluster, name string, w walkthrough.Walk,
) {
	shell, err := walkthrough.NewShell(ctx, c.Kubectl, c.Kubeconfig, "walk-"+w.Name, t.TempDir())
	require.NoError(t, err)
	require.NoError(t, shell.Take(ctx, walkthrough.Step{Do: w.Before}))
	for _, step := range w.Steps {
		why := step.Not[name]
		shell.Patience = 2 * time.Minute
		if why != "" {
			shell.Patience = 5 * time.Second // it would be wasted
		}
		err := shell.Take(ctx, step)
		require.NoError(t, context.Cause(ctx))
		if why != "" {
			require.Error(t, err, "%s: it passes now, so this is not true: %s", step.Step, why)
			continue
		}
		require.NoError(t, err, step.Step)
	}
}

// The table of docs/walkthroughs.md is what TestWithMini and TestWithTheLibrary have proven.
//
//	go test ./internal/tests/walkthrough -run ThePage -update
func TestThePageSaysWhatTheWalksSay(t *testing.T) {
	const page = "../../../docs/walkthroughs.md"
	const begin, end = "<!-- walks -->\n", "<!-- /walks -->"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	var table strings.Builder
	for _, w := range walks(t) {
		tabulate(&table, w)
	}
	table.WriteString("\n")
	expected := before + begin + table.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(expected), 0o600))
	}
	require.Equal(t, expected, string(text), "run this test with -update")
}

// tabulate writes the table of a walk. A runtime without its controllers has no column.
func tabulate(out *strings.Builder, w walkthrough.Walk) {
	played := slices.DeleteFunc(slices.Clone(runtimes), func(r runtime) bool {
		return !w.NeedsOnly(r.controllers)
	})
	fmt.Fprintf(out, "\n### %s\n\n[The page](%s).\n\n| step |", w.Title, w.Page)
	for _, r := range played {
		fmt.Fprintf(out, " %s |", r.name)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(played)) + "\n")
	for _, step := range w.Steps {
		fmt.Fprintf(out, "| %s |", step.Step)
		for _, r := range played {
			said := "passes"
			if why := step.Not[r.name]; why != "" {
				said = "no: " + why
			}
			fmt.Fprintf(out, " %s |", said)
		}
		out.WriteString("\n")
	}
}
