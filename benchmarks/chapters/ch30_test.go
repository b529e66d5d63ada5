package chapters

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// A namespace is deleted with all that's in it: which kinds there are is asked first, and then each is emptied with one
// request, and looked at.
func Benchmark30(b *testing.B) {
	compare(b, "the end of a namespace", "ConfigMaps", []int{1, 100}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		c, err := mini.NewNamespaceController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		var ending []mini.Request // namespaces that are being deleted
		for round := 0; b.Loop(); round++ {
			if len(ending) == 0 {
				b.StopTimer()
				for i := range 60 + 200/n {
					ending = append(ending, w.ending(fmt.Sprintf("shop-%d-%d", round, i), n))
				}
				w.settle(c.Reconciler, w.ending(fmt.Sprint("last-", round), 0)) // the cache has seen them all
				b.StartTimer()
			}
			w.settle(c.Reconciler, ending[0])
			_, err := mini.Get[*corev1.Namespace](b.Context(), w.m.Client.Client, ending[0])
			if err == nil || mini.IgnoreNotFound(err) != nil {
				b.Fatal("the namespace is still there: ", err)
			}
			ending = ending[1:]
		}
	}})
}

// ending is a namespace that has n ConfigMaps, and that a user has deleted a minute ago. The controller waits for five seconds
// after a deletion, until all API servers know of it; this one is loaded with its deletion, so the benchmark needn't wait, too.
func (w *world) ending(name string, n int) mini.Request {
	for i := range n {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: fmt.Sprint("map-", i)}})
	}
	deleted := metav1.NewTime(time.Now().Add(-time.Minute))
	namespace := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, DeletionTimestamp: &deleted, Finalizers: []string{"loopwright.dev/loaded"},
			ResourceVersion: "1", // of before the watch began
		},
		Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating},
	}
	if _, err := w.server.Load(corev1.SchemeGroupVersion.WithResource("namespaces"), namespace); err != nil {
		w.Fatal(err)
	}
	namespace.Finalizers = nil // a watch doesn't show what's loaded, but what changes
	if err := w.m.Client.Update(w.Context(), namespace); err != nil {
		w.Fatal(err)
	}
	return mini.KeyOf(namespace)
}
