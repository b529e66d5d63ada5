package scaledown

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// InMemory gives an in-memory API server a kubelet, for which every Pod is ready 50 ms after it was
// created, if its image exists. Tests give it to demotest.InMemoryWith.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	go kubelet(ctx, kubernetes.NewForConfigOrDie(server.Config()))
}

func kubelet(ctx context.Context, client kubernetes.Interface) {
	pods, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		panic("the kubelet cannot watch Pods: " + err.Error())
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil ||
			strings.HasPrefix(pod.Spec.Containers[0].Image, "registry.invalid/") {
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
