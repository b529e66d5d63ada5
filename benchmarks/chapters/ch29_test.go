package chapters

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// An owner is deleted, and its dependents follow: each is asked about, read once more, and deleted.
func Benchmark29(b *testing.B) {
	compare(b, "an owner's dependents, deleted", "dependents", []int{1, 100}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		controllers, err := mini.NewGarbageCollector(w.m, &corev1.ConfigMap{})
		if err != nil {
			b.Fatal(err)
		}
		for round := 0; b.Loop(); round++ {
			b.StopTimer()
			owner := &corev1.ConfigMap{ObjectMeta: named(fmt.Sprint("owner-", round))}
			w.create(owner)
			ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
			dependents := make([]mini.Object, n)
			for i := range dependents {
				meta := named(fmt.Sprintf("dependent-%d-%d", round, i))
				meta.OwnerReferences = []metav1.OwnerReference{ref}
				dependents[i] = &corev1.ConfigMap{ObjectMeta: meta}
			}
			w.create(dependents...)
			if err := w.m.Client.Delete(b.Context(), owner, metav1.DeleteOptions{}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			for _, dependent := range dependents {
				w.reconcile(controllers[0].Reconciler, mini.KeyOf(dependent))
			}
		}
		left, err := mini.List[*corev1.ConfigMap](b.Context(), w.m.Client, mini.Selection{})
		if err != nil || len(left) != 0 {
			b.Fatal(len(left), err)
		}
	}})
}
