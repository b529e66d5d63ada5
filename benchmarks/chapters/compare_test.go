package chapters

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/mini"
)

// A peer is one implementation of what a chapter builds. It prepares for n of something, and then measures: b.N
// operations, in a loop of its own.
type peer struct {
	name string
	run  func(b *testing.B, n int)
}

// compare measures all peers with each size, which is how many there are of what; with -short, the first alone.
func compare(b *testing.B, question, what string, sizes []int, peers ...peer) {
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		for _, p := range peers {
			b.Run(fmt.Sprintf("%s/%s=%d/%s", question, what, n, p.name), func(b *testing.B) { p.run(b, n) })
		}
	}
}

// pods are n Pods on n/50 nodes, so that each node has 50.
func pods(n int) []*corev1.Pod {
	all := make([]*corev1.Pod, n)
	for i := range all {
		all[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: fmt.Sprintf("shop-%d", i%50), Name: fmt.Sprintf("web-6d4f5c7b9-%05d", i),
				UID: types.UID(fmt.Sprintf("0b6c0a0e-%012d", i)), ResourceVersion: fmt.Sprint(100_000 + i),
				Labels: map[string]string{"app": "web", "pod-template-hash": "6d4f5c7b9"},
			},
			Spec: corev1.PodSpec{NodeName: nodeOf(i / 50), Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		}
	}
	return all
}

func nodeOf(i int) string { return fmt.Sprintf("node-%d", i) }

// requests are the keys of n objects.
func requests(n int) []mini.Request {
	all := make([]mini.Request, n)
	for i, pod := range pods(n) {
		all[i] = mini.KeyOf(pod)
	}
	return all
}
