package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A demo that changes 300 objects at once shows a storm only if its client may. At
// client-go's 5 requests per second it takes a minute, and shows nothing.
func TestNoClusterOfAnyKindLimitsTheRequestsOfADemo(t *testing.T) {
	require.True(t, limited(t, &rest.Config{Host: "https://127.0.0.1:9"}), "a client that sets no limit: this test would find nothing")
	for mode, up := range map[Mode]func(*testing.T) (*Cluster, error){
		Embedded: func(t *testing.T) (*Cluster, error) { return shared(t), nil },
		Kind: func(t *testing.T) (*Cluster, error) {
			kindCluster(t, "--controllers=*,-deployment-controller,-replicaset-controller,-endpoints-controller")
			return Up(t.Context(), Options{Mode: Kind, Dir: t.TempDir(), KindName: "mine"})
		},
		Current: func(t *testing.T) (*Cluster, error) {
			pointAt(t, kindCluster(t)+".kubeconfig")
			return Up(t.Context(), Options{Mode: Current, Yes: true})
		},
	} {
		t.Run(string(mode), func(t *testing.T) {
			cluster, err := up(t)
			require.NoError(t, err)
			assert.False(t, limited(t, cluster.RESTConfig()))
		})
	}
}

// limited reports whether a client of this configuration limits its requests. It
// sends none.
func limited(t *testing.T, config *rest.Config) bool {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	limiter := client.CoreV1().RESTClient().GetRateLimiter()
	if limiter == nil {
		return false
	}
	for range 10_000 { // a minute of client-go's own limit allows 310
		if !limiter.TryAccept() {
			return true
		}
	}
	return false
}
