package example

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// InMemory makes an in-memory API server a cluster for the example: it serves Websites, and has a
// kubelet. Tests give it to demotest.InMemoryWith.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	server.Register(fakeapi.Kind{
		Group: Kind.Group, Version: Kind.Version, Kind: Kind.Kind, Status: true, Example: &Website{},
	})
	go kubelet(ctx, kubernetes.NewForConfigOrDie(server.Config()))
}

// kubelet is a fake one: every Pod is ready 50 ms after it was created.
func kubelet(ctx context.Context, client kubernetes.Interface) {
	pods, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		panic("the kubelet cannot watch Pods: " + err.Error())
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		time.AfterFunc(50*time.Millisecond, func() {
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue,
			}}
			// A refusal means that the Pod is gone or has changed: an event says so.
			_, _ = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		})
	}
}
