package chapters

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/informer"
)

// A list has all objects, so it's as long as there are objects. The server's answer is prepared: what's measured is the
// client, and nearly all of that is decoding JSON.
func Benchmark01(b *testing.B) {
	compare(b, "a list", "Pods", []int{100, 10_000},
		peer{"mini", func(b *testing.B, n int) {
			listWatch, err := miniCluster(b, serve(b, pods(n))).ListWatch(&corev1.Pod{}, "")
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if items, _, err := listWatch.List(b.Context()); err != nil || len(items) != n {
					b.Fatal(len(items), err)
				}
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			listWatch := libraryListWatch(b, pods(n))
			for b.Loop() {
				if list, err := listWatch.List(b.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != n {
					b.Fatal(err)
				}
			}
		}},
		peer{"client-go", func(b *testing.B, n int) {
			client, err := kubernetes.NewForConfig(serve(b, pods(n)))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if list, err := client.CoreV1().Pods("").List(b.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != n {
					b.Fatal(err)
				}
			}
		}},
	)
}

func libraryListWatch(b *testing.B, pods []*corev1.Pod) *informer.ListWatch[*corev1.Pod] {
	listWatch, err := informer.NewListWatch[*corev1.Pod](serve(b, pods), corev1.SchemeGroupVersion.WithResource("pods"), informer.ListWatchOptions{JSON: true})
	if err != nil {
		b.Fatal(err)
	}
	return listWatch
}
