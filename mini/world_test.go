package mini_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// world is an in-memory API server in a synctest bubble, and two ways to it: mini's, and
// client-go's for what another process does.
type world struct {
	*testing.T
	Server  *fakeapi.Server
	Cluster *mini.Cluster
	Other   kubernetes.Interface

	running sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context // ends before the server does
}

// inMemory runs a test in a world of its own. Everything started by run has ended when it
// returns: a goroutine that is left over fails the test.
func inMemory(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// No test asks who owns which field, and to track it takes a third of the time.
		server := fakeapi.New(fakeapi.Options{NoManagedFields: true})
		defer server.Close()
		cluster, err := mini.NewCluster(server.Config(), scheme.Scheme)
		require.NoError(t, err)
		cluster.Trace = trace.New(0)
		other, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		w := &world{T: t, Server: server, Cluster: cluster, Other: other}
		w.ctx, w.stop = context.WithCancel(t.Context())
		defer w.end()
		test(w)
	})
}

// run runs a part of the machinery until the test ends.
func (w *world) run(part func(context.Context) error) {
	w.running.Go(func() {
		if err := part(w.ctx); err != nil {
			w.Errorf("a part ended with an error: %v", err)
		}
	})
}

// end stops what run has started, and waits for it.
func (w *world) end() {
	w.stop()
	w.running.Wait()
}
