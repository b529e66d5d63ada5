package all

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/minis"
	"github.com/loopwright/loopwright/mini"
)

func names(t *testing.T, originals ...string) []string {
	t.Helper()
	c, err := mini.NewCluster(&rest.Config{Host: "https://none.invalid"}, scheme.Scheme)
	require.NoError(t, err)
	all, names, err := Controllers(mini.NewManager(c), originals)
	if err == nil {
		require.GreaterOrEqual(t, len(all), len(names))
	}
	return names
}

// A controller whose original runs would undo its work, and one that is missing would leave it undone.
func TestAControllerRunsIfItsOriginalDoesNot(t *testing.T) {
	require.Equal(t, []string{"replicaset", "deployment", "endpoints"}, names(t))
	require.Equal(t, []string{"replicaset", "deployment", "endpoints", "garbage-collector"}, names(t, "-garbage-collector-controller"))
	require.Equal(t, []string{"replicaset", "endpoints", "job"}, names(t, "deployment-controller", "-job-controller"))
	require.Empty(t, names(t, cluster.SampleControllers...))
	require.Len(t, names(t, cluster.Bare), 11)
}

// The cluster can switch off what is listed here, and nothing that is not.
func TestEachControllerHasAnOriginalThatTheClusterCanSwitchOff(t *testing.T) {
	for _, maker := range minis.Makers {
		known := append(append([]string{}, cluster.SampleControllers...), cluster.OptionalControllers...)
		require.Contains(t, known, maker.Original)
	}
}
