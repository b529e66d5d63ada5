// Package kubelet has what a cluster has beside its API server, as far as Pods are concerned: a
// fake node on which they become ready and end. The chapters' programs need it in memory; on a
// real cluster kwok does the same.
package kubelet

import (
	"context"
	"iter"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// InMemory makes an in-memory API server a cluster on which a Pod is ready after a second, and a
// deleted one has ended after two. Tests give it to demotest.InMemoryWith.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	go run(ctx, server, time.Second, 2*time.Second)
}

// Quick is InMemory where a Pod is ready after 50 ms. The API server removes a deleted one at once.
func Quick(ctx context.Context, server *fakeapi.Server) {
	go run(ctx, server, 50*time.Millisecond, 0)
}

func run(ctx context.Context, server *fakeapi.Server, readyAfter, endsAfter time.Duration) {
	client := kubernetes.NewForConfigOrDie(server.Config())
	for pod := range Pods(ctx, client) {
		// A refusal means that the Pod is gone or has changed: an event says so.
		switch {
		case pod.DeletionTimestamp != nil && endsAfter == 0:
		case pod.DeletionTimestamp != nil:
			time.AfterFunc(endsAfter, func() {
				now := metav1.DeleteOptions{
					GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
				}
				_ = client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
			})
		case pod.Status.Phase == corev1.PodPending && hasImage(pod):
			time.AfterFunc(readyAfter, func() {
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				}}
				_, _ = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			})
		}
	}
}

// Pods yields each Pod that there is, and each that changes, until ctx ends or the server ends the watch, which
// is half an hour later at the earliest.
func Pods(ctx context.Context, client kubernetes.Interface) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		w, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			if ctx.Err() == nil { // a program may be over before its kubelet has begun
				panic("a kubelet can't watch Pods: " + err.Error())
			}
			return
		}
		defer w.Stop()
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && !yield(pod) {
				return
			}
		}
	}
}

// hasImage reports whether a Pod can run. The registry of the chapters' bad images has none.
func hasImage(pod *corev1.Pod) bool {
	return !strings.HasPrefix(pod.Spec.Containers[0].Image, "registry.invalid/")
}
