package demo

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// On a kind cluster, a chapter would wait for Pods on nodes that have no kubelet, and print wrong numbers.
func TestAStoryThatNeedsKwokSaysWhereItFindsIt(t *testing.T) {
	for name, c := range map[string]struct {
		value  string
		ready  corev1.ConditionStatus
		begins bool
	}{
		"kind":               {"", corev1.ConditionTrue, false},
		"kwok has gone away": {"fake", corev1.ConditionUnknown, false},
		"embedded":           {"fake", corev1.ConditionTrue, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			nodes := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Nodes()
			node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: "node-1", Annotations: map[string]string{"kwok.x-k8s.io/node": c.value},
			}}, metav1.CreateOptions{})
			require.NoError(t, err)
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.ready}}
			_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
			require.NoError(t, err)
			began := false
			err = On(t.Context(), io.Discard, cluster.Of("kind cluster shop", server.Config()),
				NeedsKwok(func(context.Context, *Demo) error { began = true; return nil }))
			require.Equal(t, c.begins, began)
			if c.begins {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "kind cluster shop has no Ready node that kwok plays: run it with CLUSTER=embedded")
		})
	}
}
