package fakeapi_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func testPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Labels: map[string]string{"app": "x", "i": fmt.Sprint(i % 10)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "img:1"}}},
	}
}

func TestAHundredWatchersSeeEveryPodComeAndGo(t *testing.T) {
	const watchers, objects = 100, 300
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		var group sync.WaitGroup
		for range watchers {
			w, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(s.ResourceVersion())})
			require.NoError(t, err)
			group.Go(func() {
				defer w.Stop()
				// A pod without a node shows its deletion and is then deleted.
				for range 3 * objects {
					<-w.ResultChan()
				}
			})
		}
		pods := c.CoreV1().Pods("default")
		for i := range objects {
			_, err := pods.Create(t.Context(), testPod(i), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "i=3"})
		require.NoError(t, err)
		require.Len(t, list.Items, objects/10)
		require.NoError(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		group.Wait()
	})
}

// benchmark runs a benchmark against a server. It does not run in a bubble,
// whose bookkeeping would be measured too.
func benchmark(b *testing.B, options fakeapi.Options) *kubernetes.Clientset {
	s := fakeapi.New(options)
	b.Cleanup(s.Close)
	cfg := s.Config()
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	c, err := kubernetes.NewForConfig(cfg)
	require.NoError(b, err)
	return c
}

func BenchmarkCreatePod(b *testing.B) {
	for name, options := range map[string]fakeapi.Options{"tracked": {}, "untracked": {NoManagedFields: true}} {
		b.Run(name, func(b *testing.B) {
			pods := benchmark(b, options).CoreV1().Pods("default")
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pods.Create(b.Context(), testPod(i), metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkUpdateStatus(b *testing.B) {
	for name, options := range map[string]fakeapi.Options{"tracked": {}, "untracked": {NoManagedFields: true}} {
		b.Run(name, func(b *testing.B) {
			pods := benchmark(b, options).CoreV1().Pods("default")
			p, err := pods.Create(b.Context(), testPod(0), metav1.CreateOptions{})
			require.NoError(b, err)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				p.Status.Message = fmt.Sprint(i)
				if p, err = pods.UpdateStatus(b.Context(), p, metav1.UpdateOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListAThousandPods(b *testing.B) {
	pods := benchmark(b, fakeapi.Options{NoManagedFields: true}).CoreV1().Pods("default")
	for i := range 1000 {
		_, err := pods.Create(b.Context(), testPod(i), metav1.CreateOptions{})
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pods.List(b.Context(), metav1.ListOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// What every test pays: a server, a client, one request, and the end.
func BenchmarkAServerFromBeginningToEnd(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := fakeapi.New(fakeapi.Options{})
		c, err := kubernetes.NewForConfig(s.Config())
		require.NoError(b, err)
		_, err = c.CoreV1().Pods("").List(b.Context(), metav1.ListOptions{})
		require.NoError(b, err)
		s.Close()
	}
}
