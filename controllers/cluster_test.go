package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/manager/client"
)

// The clusters of other tests have the originals switched off, so this test has one of its own.
func TestNoControllerStartsNextToItsOriginal(t *testing.T) {
	ctx := t.Context()
	original := clustertest.WithOriginals(t, cluster.SampleControllers...)

	err := replicaset.Run(ctx, original.RESTConfig(), 1)
	require.ErrorContains(t, err,
		"somebody else does the work of the replicaset-controller already: "+
			"kube-controller-manager has answered the probe ReplicaSet default/loopwright-probe-")
	c, err := client.New(original.RESTConfig(), client.Options{})
	require.NoError(t, err)
	var left appsv1.ReplicaSetList
	require.NoError(t, c.List(ctx, &left))
	require.Empty(t, left.Items)
}
