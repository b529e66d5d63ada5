package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
)

// endless makes the test binary a demo that runs a learner's endless loop.
const endless = "DEMO_TEST_ENDLESS"

func TestMain(m *testing.M) {
	if os.Getenv(endless) != "" {
		endLimit = time.Second
		Main("Endless", func(context.Context, *Demo) error {
			fmt.Println("looping")
			for {
				time.Sleep(time.Hour)
			}
		})
	}
	os.Exit(clustertest.Run(m))
}

// Whoever presses Ctrl-C on their own endless loop wants the prompt back. And the
// namespace that is left must not stay for good.
func TestADemoThatDoesNotEndIsEndedAndWhatItLeftIsRemovedByTheNext(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	dir := t.TempDir()
	on, err := cluster.Up(t.Context(), cluster.Options{Dir: dir, Ephemeral: true, Out: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Down(context.Background(), cluster.Options{Dir: dir})) })

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	demo := exec.CommandContext(ctx, os.Args[0])
	demo.Env = append(os.Environ(), endless+"=1", "LOOPWRIGHT_DIR="+dir, "CLUSTER=embedded")
	var said bytes.Buffer
	demo.Stderr = &said
	out, err := demo.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, demo.Start())
	var printed strings.Builder
	for part := make([]byte, 512); !strings.Contains(printed.String(), "looping"); {
		n, err := out.Read(part)
		printed.Write(part[:n])
		require.NoError(t, err, "%s%s", &printed, &said)
	}
	require.NoError(t, demo.Process.Signal(os.Interrupt))
	_, err = io.Copy(&printed, out)
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, demo.Wait(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Contains(t, said.String(), "look for a loop that never ends")

	var next bytes.Buffer
	require.NoError(t, On(t.Context(), &next, on, func(context.Context, *Demo) error { return nil }))
	assert.Contains(t, next.String(), "Removing what an earlier demo left behind: demo-")
}

// A story must not have to delete its namespace, in whatever way it ends.
func TestTheNamespaceOfADemoGoesWithIt(t *testing.T) {
	client := clustertest.Client(t)
	var name string
	err := On(t.Context(), io.Discard, clustertest.Shared(t), func(_ context.Context, d *Demo) error {
		name = d.Namespace
		return io.ErrUnexpectedEOF
	})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Eventually(t, func() bool {
		found, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && found.DeletionTimestamp != nil
	}, time.Minute, 20*time.Millisecond)
}

// On a cluster that others use, another demo may be running.
func TestADemoOfSomebodyElseIsNotTakenForALeftover(t *testing.T) {
	shared := *clustertest.Shared(t)
	shared.Mode = cluster.Current
	require.NoError(t, On(t.Context(), io.Discard, &shared, func(ctx context.Context, first *Demo) error {
		return On(ctx, io.Discard, &shared, func(ctx context.Context, second *Demo) error {
			found, err := first.Client.CoreV1().Namespaces().Get(ctx, first.Namespace, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Nil(t, found.DeletionTimestamp)
			return nil
		})
	}))
}
