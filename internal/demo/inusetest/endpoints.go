package inusetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// KeepsEndpoints is Keeps for a program that writes the Endpoints of Services. It returns when the program has ended with
// its context.
func KeepsEndpoints(t *testing.T, keep Program) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: agent}, CutAfter: time.Minute, CutAbruptly: true})
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update", Resource: "endpoints", UserAgent: agent}, Probability: 0.3, Status: fakeapi.InternalError()})
		config := server.Config()
		config.WarningHandlerWithContext = rest.NoWarnings{} // that Endpoints are deprecated
		users, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		own := rest.CopyConfig(config)
		own.UserAgent = agent
		go func() { ended <- keep(ctx, own) }()

		expect := func(addresses int, why string) {
			t.Helper()
			time.Sleep(patience)
			synctest.Wait()
			endpoints, err := users.CoreV1().Endpoints(namespace).Get(ctx, "web", metav1.GetOptions{})
			require.NoError(t, err, why)
			found := 0
			for _, subset := range endpoints.Subsets {
				found += len(subset.Addresses)
			}
			require.Equal(t, addresses, found, why)
		}
		_, err = users.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.9", Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		expect(0, "a Service without Pods")
		for i := range 3 {
			startPod(ctx, t, users, i)
		}
		expect(3, "three Pods")
		require.NoError(t, users.CoreV1().Pods(namespace).Delete(ctx, "web-1", metav1.DeleteOptions{}))
		expect(2, "a Pod was deleted")
		require.NoError(t, users.CoreV1().Services(namespace).Delete(ctx, "web", metav1.DeleteOptions{}))
		time.Sleep(patience)
		synctest.Wait()
		_, err = users.CoreV1().Endpoints(namespace).Get(ctx, "web", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "the Service was deleted: %v", err)

		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			require.NoError(t, err, "the program must end when its context ends")
		}
	})
}

// startPod makes a Pod that is ready.
func startPod(ctx context.Context, t *testing.T, users kubernetes.Interface, i int) {
	t.Helper()
	pod, err := users.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, fmt.Sprint("10.0.0.", i+1)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	_, err = users.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}
