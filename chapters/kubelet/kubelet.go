// Package kubelet has what a cluster has beside its API server, as far as Pods are concerned: a fake
// node on which they become ready and end. The chapters about Deployments need it in memory; on a
// real cluster kwok does the same.
package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// In an in-memory cluster, each Pod is ready and each deleted one has ended after this time.
const (
	ReadyAfter = time.Second
	EndsAfter  = 2 * time.Second
)

// InMemory makes an in-memory API server a cluster on which Pods run. Tests give it to
// demotest.InMemoryWith.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	go run(ctx, kubernetes.NewForConfigOrDie(server.Config()))
}

func run(ctx context.Context, client kubernetes.Interface) {
	pods, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		panic("the kubelet cannot watch Pods: " + err.Error())
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		// A refusal means that the Pod is gone or has changed: an event says so.
		switch {
		case !ok:
		case pod.DeletionTimestamp != nil:
			time.AfterFunc(EndsAfter, func() {
				now := metav1.DeleteOptions{
					GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
				}
				_ = client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
			})
		case pod.Status.Phase == corev1.PodPending:
			time.AfterFunc(ReadyAfter, func() {
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				}}
				_, _ = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			})
		}
	}
}
