package kubelet_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/chapters/33-daemonset/agents"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A program that fails at once is over before a busy machine gets to its kubelet. A panic of the kubelet's would hide why.
func TestAKubeletOfAProgramThatIsOverEnds(t *testing.T) {
	for _, start := range []func(context.Context, *fakeapi.Server){
		kubelet.InMemory, kubelet.Quick, agents.InMemory,
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			ctx, stop := context.WithCancel(t.Context())
			stop()
			start(ctx, server)
			synctest.Wait()
		})
	}
}

// The answer to a watch may come just as the program ends. Nobody reads it then, but somebody has to close it.
func TestAWatchThatIsAnsweredAsTheProgramEndsIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		config := server.Config()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				stop()
				return answer, err
			})
		})
		for pod := range kubelet.Pods(ctx, kubernetes.NewForConfigOrDie(config)) {
			t.Errorf("there is a Pod %s", pod.Name)
		}
	})
}

// Whoever has seen the Pod they wait for leaves the loop, and the watch ends with it.
func TestALoopThatIsLeftClosesItsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{AnyNamespace: true})
		defer server.Close()
		client := kubernetes.NewForConfigOrDie(server.Config())
		for _, name := range []string{"a", "b"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}}
			if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		seen := 0
		for range kubelet.Pods(t.Context(), client) {
			seen++
			break
		}
		if seen != 1 {
			t.Errorf("it has seen %d Pods", seen)
		}
		synctest.Wait()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
