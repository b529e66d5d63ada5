package controllers_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/manager/client"
)

// The clusters of other tests have the originals switched off, so this test has one of its own.
func TestNoControllerStartsNextToItsOriginal(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	options := cluster.Options{
		Dir: filepath.Join(t.TempDir(), "state"), Ephemeral: true, Out: os.Stderr,
		Originals: cluster.SampleControllers,
	}
	// the cluster may have to be built
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	t.Cleanup(func() { require.NoError(t, cluster.Down(context.Background(), options)) })
	original, err := cluster.Up(ctx, options)
	require.NoError(t, err)

	err = replicaset.Run(ctx, original.RESTConfig(), 1)
	require.ErrorContains(t, err,
		"somebody else does the work of the replicaset-controller already: "+
			"kube-controller-manager has answered the probe ReplicaSet default/loopwright-probe-")
	c, err := client.New(original.RESTConfig(), client.Options{})
	require.NoError(t, err)
	var left appsv1.ReplicaSetList
	require.NoError(t, c.List(ctx, &left))
	require.Empty(t, left.Items)
}
