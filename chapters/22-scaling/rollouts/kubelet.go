package rollouts

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Kubelet is a fake one for the tests: a Pod is ready a second after it was created, unless its
// image is on a host below .invalid. On a real cluster, kwok does the same.
func Kubelet(ctx context.Context, server *fakeapi.Server) {
	client := kubernetes.NewForConfigOrDie(server.Config())
	go func() {
		pods, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			panic("the kubelet cannot watch Pods: " + err.Error())
		}
		defer pods.Stop()
		for event := range pods.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil ||
				strings.Contains(pod.Spec.Containers[0].Image, ".invalid/") {
				continue
			}
			time.AfterFunc(time.Second, func() {
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				}}
				// A refusal means that the Pod is gone or has changed: an event says so.
				_, _ = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			})
		}
	}()
}
