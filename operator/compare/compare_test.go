package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/pki"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// limit is how long one run of the scenario may take. It takes about a minute.
const limit = 6 * time.Minute

// TestAPortedOperatorDoesTheSame is about one operator, built before and after. The order of its parts
// matters: a suite leaves its CRD on the cluster.
func TestAPortedOperatorDoesTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	built := build(t)
	t.Run("both binaries leave the same", func(t *testing.T) { leaveTheSame(t, built) })
	t.Run("the suite passes with controller-runtime", func(t *testing.T) {
		// controller-runtime's envtest runs an etcd and an API server that somebody has downloaded. Nobody
		// has, so the suite runs on the embedded cluster.
		t.Setenv("USE_EXISTING_CLUSTER", "true")
		t.Setenv("KUBECONFIG", clustertest.Shared(t).Kubeconfig)
		goCommand(t, "..", "test", "-count=1", "./internal/...")
	})
	t.Run("the ported suite passes", func(t *testing.T) {
		t.Setenv("USE_EXISTING_CLUSTER", "")
		goCommand(t, built.ported, "test", "-count=1", "./internal/...")
	})
}

// leaveTheSame holds what somebody relies on who ports an operator: whatever it met, the cluster is in the same
// state, with the same events, and dashboards find the same metrics.
func leaveTheSame(t *testing.T, built binaries) {
	theirs := run(t, "compare-a", built.theirs)
	ours := run(t, "compare-b", built.ours)
	require.Equal(t, titles(theirs), titles(ours), "the two runs have different parts")
	for _, complaint := range unexplained(theirs, ours, differences) {
		assert.Fail(t, complaint)
	}
}

// run plays the scenario with one of the binaries, in a namespace of its own.
func run(t *testing.T, namespace, binary string) *record {
	t.Helper()
	began := time.Now()
	ctx, cancel := deadline(t)
	defer cancel()
	running := clustertest.Shared(t)
	config := running.RESTConfig()
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.Resource(namespaces).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}, metav1.CreateOptions{})
	require.NoError(t, err)

	ca, err := pki.NewCA("compare")
	require.NoError(t, err)
	front, err := newFront()
	require.NoError(t, err)
	defer func() { assert.NoError(t, front.close()) }()
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	install := &installation{client: client, kinds: kinds, root: "..", front: front, ca: ca}
	certs := t.TempDir()
	require.NoError(t, install.certificates(certs))
	remove, err := install.install(ctx)
	defer func() {
		if !t.Failed() { // else sites may be left that nobody finalizes, and the cluster goes away anyway
			assert.NoError(t, remove(ctx))
		}
	}()
	require.NoError(t, err)

	desk := newDesk()
	defer desk.server.Close()
	s := &scenario{
		t: t, install: install, namespace: namespace, desk: desk, record: &record{}, metrics: map[string]bool{},
		fleet: &fleet{t: t, binary: binary, dir: t.TempDir(), kubeconfig: running.Kubeconfig, certs: certs,
			namespace: namespace, registrar: desk.server.URL, front: front},
	}
	defer s.fleet.killAll()
	s.play(ctx)
	t.Logf("%s: the scenario took %s", filepath.Base(filepath.Dir(binary)), time.Since(began).Round(time.Second))
	return s.record
}

// deadline leaves the test time to end its processes before the go command ends the test.
func deadline(t *testing.T) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("the scenario is not over after %s", limit)
	at := time.Now().Add(limit)
	if end, ok := t.Deadline(); ok && end.Add(-time.Minute).Before(at) {
		at, late = end.Add(-time.Minute), errors.New("the time of the test is up")
	}
	return context.WithDeadlineCause(t.Context(), at, late)
}
