package quota

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// InMemory makes the in-memory API server slow, and plays what it does not have: a quota.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 10 * time.Millisecond,
	})
	server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, DelayEvents: 30 * time.Millisecond,
	})
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1()
	go func() {
		for ctx.Err() == nil {
			quotas, err := client.ResourceQuotas("").List(ctx, metav1.ListOptions{})
			if err == nil && len(quotas.Items) > 0 {
				quota := &quotas.Items[0]
				pods, _ := client.Pods(quota.Namespace).List(ctx, metav1.ListOptions{})
				allowed := quota.Spec.Hard[corev1.ResourcePods]
				server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: "create", Resource: "pods"},
					Skip:  int(allowed.Value()) - len(pods.Items), Status: fakeapi.Forbidden(),
				})
				quota.Status.Hard = quota.Spec.Hard
				_, _ = client.ResourceQuotas(quota.Namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
}
