package endtoend

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mini's controllers take the place of eleven of Kubernetes' own: without one of them, an object of its kind
// would stay as it is, or stay forever.
func TestMakeDemoAllRunsAClusterOnMinisControllersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	dir := filepath.Join(t.TempDir(), "state")
	_, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // as for make demo
	t.Cleanup(stop)
	t.Cleanup(func() { typed(t, dir, "cluster-down") })
	output, failed := typed(t, dir, "demo-all")
	require.False(t, failed, output)
	require.Contains(t, output, "11 controllers in one process")
	for _, done := range []string{"deployment web", "job once", "cronjob tick", "daemonset agent", "statefulset db", "node", "namespace"} {
		require.Contains(t, output, "kubectl delete "+done, output)
	}
	require.Contains(t, output, "Cleaned up")

	output, failed = typed(t, dir, "cluster-status")
	require.False(t, failed, output)
	require.Contains(t, output, "a bare cluster", "whoever uses it next has to know what it lacks")
}
