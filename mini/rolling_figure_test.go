package mini

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// podCount is how many Pods there are: of the old template, and of the new one.
type podCount struct{ old, available, starting int32 }

// rolledOut plays a rollout of 20 Pods with 25% each, and counts Pods after each action of
// the other controllers. grow decides about the new ReplicaSet.
func rolledOut(bad bool, grow func(*rollout) []scaling) (counts []podCount) {
	quarter := intstr.FromString("25%")
	d := &appsv1.Deployment{}
	d.Spec.Replicas = new(int32(20))
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
		MaxSurge: &quarter, MaxUnavailable: &quarter,
	}
	set := func(pods int32) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{}
		rs.Spec.Replicas = &pods
		rs.Status.Replicas, rs.Status.AvailableReplicas = pods, pods
		return rs
	}
	oldRS, newRS := set(20), set(0)
	r := &rollout{d: d, newRS: newRS, oldRSs: []*appsv1.ReplicaSet{oldRS}}
	write := func(plan []scaling) {
		for _, s := range plan {
			if *s.rs.Spec.Replicas != s.replicas {
				s.rs.Spec.Replicas = new(s.replicas)
				s.rs.Generation++
			}
		}
	}
	count := func() podCount {
		n := newRS.Status
		return podCount{
			old: oldRS.Status.Replicas, available: n.AvailableReplicas,
			starting: n.Replicas - n.AvailableReplicas,
		}
	}
	counts = append(counts, count())
	for len(counts) < 100 {
		write(grow(r))
		write(reconcileOldReplicaSets(r))
		switch o, n := oldRS, newRS; {
		case n.Status.ObservedGeneration < n.Generation:
			n.Status.Replicas, n.Status.ObservedGeneration = *n.Spec.Replicas, n.Generation
		case o.Status.ObservedGeneration < o.Generation: // Pods are created sooner than deleted
			o.Status.Replicas, o.Status.ObservedGeneration = *o.Spec.Replicas, o.Generation
			o.Status.AvailableReplicas = o.Status.Replicas
		case !bad && n.Status.AvailableReplicas < n.Status.Replicas:
			n.Status.AvailableReplicas = n.Status.Replicas
		default:
			return counts
		}
		counts = append(counts, count())
	}
	return counts
}

// drawRollout draws a bar for each moment, and the limits of 25 Pods and 15 available.
func drawRollout(title, desc string, counts []podCount) *figures.Canvas {
	const width, height, bottom, left, bar, perPod = 480, 240, 210, 104, 40, 5
	c := figures.New(height, title, desc)
	c.Resize(width, height)
	c.Style(figures.StateStyle())
	legend := func(x float64, class, text string) {
		c.Rect("state "+class, x, 14, 14, 14, 2)
		c.Text("small", x+20, 26, text)
	}
	legend(left, "well", "old")
	legend(left+70, "fresh", "new, available")
	legend(left+210, "waiting", "new, starting")
	y := func(pods int32) float64 { return bottom - perPod*float64(pods) }
	for i, n := range counts {
		x, below := float64(left+bar*i+3), int32(0)
		stack := func(class string, pods int32) {
			below += pods
			if pods > 0 {
				c.Rect("state "+class, x, y(below), bar-6, perPod*float64(pods), 2)
			}
		}
		stack("well", n.old)
		stack("fresh", n.available)
		stack("waiting", n.starting)
		c.Text("small middle", x+bar/2-3, y(below)-5, fmt.Sprint(below))
	}
	limit := func(pods int32, text string) {
		c.Line("dashed thick", left, y(pods), width-8, y(pods))
		c.Text("small end", left-8, y(pods)+5, text)
	}
	limit(25, "25 at most")
	limit(15, "15 available")
	c.Line("", left, bottom, width-8, bottom)
	c.Text("small dim end", width-8, bottom+20, "time")
	return c
}

// The chapter shows that a rollout keeps to its limits, which one it breaks without
// settled, and where a bad image stops it.
func TestTheFiguresOfARolloutShowItsSteps(t *testing.T) {
	good := rolledOut(false, reconcileNewReplicaSet)
	for _, n := range good {
		require.LessOrEqual(t, n.old+n.available+n.starting, int32(25))
		require.GreaterOrEqual(t, n.old+n.available, int32(15))
	}
	figurestest.Check(t, drawRollout("A rollout between its limits",
		"Bars of old Pods, new ones that are available, and new ones that start. There "+
			"are 20, 25, 20, 25, 25, 15, 25, 25 and 20 Pods, never more than 25. Old and "+
			"available new ones together are never fewer than 15.", good),
		"../chapters/24-rolling/rollout.svg")

	unsettled := rolledOut(false, func(r *rollout) []scaling {
		return []scaling{{r.newRS, NewRSNewReplicas(r.d, r.allRSs(), r.newRS)}}
	})
	figurestest.Check(t, drawRollout("A rollout that adds up the sizes",
		"The same bars, if the new ReplicaSet grows without waiting. There are 20 and 25 "+
			"Pods, and then 30: ten new ones start while all 20 old ones are still there. "+
			"Later there are never more than 25.", unsettled),
		"../chapters/24-rolling/unsettled.svg")

	bad := rolledOut(true, reconcileNewReplicaSet)
	require.Equal(t, podCount{old: 15, starting: 10}, bad[len(bad)-1])
	figurestest.Check(t, drawRollout("A rollout that stands still",
		"Bars of a rollout whose new Pods never become available: 20, 25, 20 and 25 "+
			"Pods. It ends with 15 old ones and 10 that start, at both limits.", bad),
		"../chapters/24-rolling/stalled.svg")
}
