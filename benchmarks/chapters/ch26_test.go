package chapters

import (
	"testing"

	"github.com/loopwright/loopwright/mini"
)

// A Deployment is looked at whenever one of its ReplicaSets or Pods changes, and nearly always there's nothing to do.
func Benchmark26(b *testing.B) {
	compare(b, "a look at a Deployment", "old-ReplicaSets", []int{10, 100}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		c, err := mini.NewDeploymentController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		d := deployment()
		w.create(d)
		for _, rs := range oldSets(d, n, 0) {
			w.create(rs)
		}
		w.look(c.Reconciler, mini.KeyOf(d))
	}})
}
