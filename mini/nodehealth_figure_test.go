package mini

import (
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// The chapter shows what becomes of a node, and of Pods that tolerate its silence for 5 s,
// for 300 s and forever. For each second, the test asks what Reconcile would.
func TestTheFigureOfASilentNodeShowsWhenItsPodsLeave(t *testing.T) {
	picture := figures.NewSteps("node", "tolerates\n5 s", "tolerates\n300 s", "tolerates\nforever")
	node, began := healthyNode(), healthNow
	pods := []*corev1.Pod{
		tolerant(toleration(corev1.TaintNodeUnreachable, 5)),
		tolerant(toleration(corev1.TaintNodeUnreachable, 300)),
		tolerant(toleration(corev1.TaintNodeUnreachable, forever)),
	}
	gone := make([]bool, len(pods))
	heard := heartbeatOf(node, &coordinationv1.Lease{}, began.Time)
	var before []figures.State
	for second := range 400 {
		now := *healthTime(time.Duration(second) * time.Second)
		left := heard.left(now.Time)
		if left == 0 {
			setUnknown(node, now)
		}
		node.Spec.Taints = nodeTaints(node, shouldEvict(node, left, false), now)
		states := []figures.State{{Class: "well", Text: "ready"}}
		if slices.ContainsFunc(node.Spec.Taints, isNoExecute) {
			states[0] = figures.State{Class: "ending", Text: "Unknown\nNoExecute"}
		}
		for i, pod := range pods {
			at, leaves := evictionTime(pod, node.Spec.Taints)
			gone[i] = gone[i] || leaves && !at.After(now.Time)
			state := figures.State{Class: "well", Text: "ready"}
			switch {
			case gone[i]:
				state = figures.State{}
			case left == 0:
				state = figures.State{Class: "waiting", Text: "not ready"}
			}
			states = append(states, state)
		}
		if !slices.Equal(states, before) {
			picture.Add(fmt.Sprintf("%d s of silence", second), states...)
		}
		before = states
	}
	figurestest.Check(t, picture.Draw("A node falls silent",
		"After 50 s, the node's condition Ready is Unknown, it gets a taint NoExecute, "+
			"and its Pods aren't ready. A Pod that tolerates that for 5 s leaves after 55 "+
			"s, one with 300 s after 350 s, and the last one stays."),
		"../chapters/35-nodelifecycle/silence.svg")
}
