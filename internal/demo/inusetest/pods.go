package inusetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// KeepsPods is Keeps for a program that makes the Pods of ReplicaSets. It returns when the program has ended with its
// context.
func KeepsPods(t *testing.T, keep Program) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: agent}, CutAfter: time.Minute, CutAbruptly: true})
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", UserAgent: agent}, Probability: 0.3, Status: fakeapi.InternalError()})
		users, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		config := server.Config()
		config.UserAgent = agent
		go func() { ended <- keep(ctx, config) }()

		labels := map[string]string{"app": "web"}
		set, err := users.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		expect := func(n int, why string) []corev1.Pod {
			t.Helper()
			time.Sleep(patience)
			synctest.Wait()
			pods, err := users.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, pods.Items, n, why)
			return pods.Items
		}
		pods := expect(3, "a ReplicaSet that asks for three")
		require.NoError(t, users.CoreV1().Pods(namespace).Delete(ctx, pods[0].Name, metav1.DeleteOptions{}))
		expect(3, "a Pod was deleted")
		set, err = users.AppsV1().ReplicaSets(namespace).Get(ctx, set.Name, metav1.GetOptions{})
		require.NoError(t, err)
		set.Spec.Replicas = new(int32(1))
		_, err = users.AppsV1().ReplicaSets(namespace).Update(ctx, set, metav1.UpdateOptions{})
		require.NoError(t, err)
		expect(1, "a ReplicaSet was scaled down")

		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			require.NoError(t, err, "the program must end when its context ends")
		}
	})
}
