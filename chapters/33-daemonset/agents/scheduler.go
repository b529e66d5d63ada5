package agents

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// InMemory makes an in-memory API server a cluster with a kubelet and a scheduler, which binds a
// Pod to the node that its affinity names. Tests give it to demotest.InMemoryWith.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	kubelet.InMemory(ctx, server)
	go schedule(ctx, kubernetes.NewForConfigOrDie(server.Config()))
}

func schedule(ctx context.Context, client kubernetes.Interface) {
	for pod := range kubelet.Pods(ctx, client) {
		if pod.Spec.NodeName != "" || pod.Spec.Affinity == nil {
			continue
		}
		terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		_ = client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{ // or it is bound already
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: terms[0].MatchFields[0].Values[0]},
		}, metav1.CreateOptions{})
	}
}
