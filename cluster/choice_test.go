package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestAChoiceOfPartsThatCannotWorkIsRefused(t *testing.T) {
	for says, parts := range map[string][]Part{
		`no part "scheduler"`: {Etcd, APIServer, "scheduler"},
		"without etcd":        {APIServer, Scheduler},
		"kube-apiserver":      {},
	} {
		_, err := Up(t.Context(), Options{Dir: t.TempDir(), Parts: parts})
		assert.ErrorContains(t, err, says)
	}
	assert.NoError(t, checkParts(nil))
	assert.NoError(t, checkParts([]Part{Etcd, APIServer, Kwok}))
}

func TestOnlyWithoutAControllerManagerPodsNeedNoServiceAccount(t *testing.T) {
	const off = "--disable-admission-plugins=ServiceAccount"
	at := place{dir: "/d"}
	assert.NotContains(t, arguments(APIServer, at, state{}), off)
	assert.NotContains(t, arguments(APIServer, at, state{Parts: Parts}), off)
	assert.Contains(t, arguments(APIServer, at, state{Parts: []Part{Etcd, APIServer}}), off)
}

func TestAnotherClusterThanAnEmbeddedOneIsLeftAlone(t *testing.T) {
	other := &Cluster{Mode: Current}
	_, err := other.UserConfig("ann", nil)
	require.ErrorIs(t, err, ErrOutOfReach)
	require.ErrorIs(t, other.StopPart(t.Context(), APIServer), ErrOutOfReach)
	require.ErrorIs(t, other.StartPart(t.Context(), APIServer), ErrOutOfReach)
	require.ErrorIs(t, other.Down(t.Context()), ErrOutOfReach)
	assert.Empty(t, other.EtcdURL())
}

// The API server taints each new node, and the node lifecycle controller removes that. Where it is off, up
// would wait forever.
func TestANodeMayBeTaintedOnlyWhereNothingRemovesTheTaint(t *testing.T) {
	node := newNode("node-1")
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	client := fake.NewClientset(node)
	for _, off := range []string{Bare, "-node-lifecycle-controller"} {
		assert.NoError(t, nodeCheck([]string{off})(t.Context(), client))
	}
	assert.EqualError(t, nodeCheck([]string{"-job-controller"})(t.Context(), client), "0 of 1 nodes are ready")
	node.Status.Conditions[0].Status = corev1.ConditionFalse
	assert.EqualError(t, nodeCheck([]string{Bare})(t.Context(), fake.NewClientset(node)), "0 of 1 nodes are ready")
}
