package chapters

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// Each reconcile asks of each Pod whose it is. All of them are ours here, so there's nothing to write.
func Benchmark20(b *testing.B) {
	compare(b, "whose Pods are these", "Pods", []int{100, 10_000}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		rs := replicaSet(n)
		rs.UID = "rs"
		all := pods(n)
		for _, pod := range all {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		}
		match, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if mine, err := mini.Claim(b.Context(), w.m.Client, rs, match, all); err != nil || len(mine) != n {
				b.Fatal(len(mine), err)
			}
		}
	}})
}
