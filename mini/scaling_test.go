package mini_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

var scaleOrRoll = controllerOf((*mini.Deployments).ScaleOrRoll)

func pause(paused bool) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Paused = paused }
}

// Otherwise scaling would change which part of the Pods runs the new template.
func TestAProportionIsAPartOfTheWhole(t *testing.T) {
	for _, c := range []struct {
		name         string
		size         int32
		max          string // the annotation
		desired      int32
		surge        string
		toAdd, added int32
		want         int32
	}{
		{"8 of 13 become 11 of 18", 8, "13", 15, "3", 5, 0, 3},
		{"5 of 13 become 7 of 18", 5, "13", 15, "3", 5, 0, 2},
		{"8 of 13 become 2 of 4", 8, "13", 1, "3", -9, 0, -6},
		{"1 of 1 becomes 2 of 2", 1, "1", 2, "0", 1, 0, 1},
		{"a half is rounded up", 1, "2", 3, "0", 5, 0, 1},
		{"no more than are left", 8, "13", 15, "3", 5, 3, 2},
		{"the last one", 8, "13", 15, "3", 1, 0, 1},
		{"nothing is left", 8, "13", 15, "3", 5, 5, 0},
		{"nothing is to be added", 8, "13", 15, "3", 0, 0, 0},
		{"8 of 13 become 5 of 8", 8, "13", 5, "3", -5, 0, -3},
		{"no more are taken than have to be", 8, "13", 5, "3", -5, -4, -1},
		{"growing takes nothing away", 8, "26", 10, "3", 2, 0, 0},
		{"shrinking adds nothing", 8, "6", 10, "3", -2, 0, 0},
		{"no Pod is wanted any more", 8, "13", 0, "3", -8, 0, -8},
		{"no annotation: it has no part in the change", 8, "", 15, "3", 5, 0, 0},
		{"no annotation, and Pods have to go", 8, "", 5, "3", -5, 0, 0},
		{"no good annotation", 8, "many", 15, "3", 5, 0, 0},
		{"0 is no whole", 8, "0", 15, "3", 5, 0, 0},
		{"the product of two sizes does not overflow", 60_000, "60000", 120_000, "0", 60_000, 0, 60_000},
	} {
		d, rs := deployment(c.desired, fenceposts(c.surge, "2")), replicaSet("a", c.size)
		if c.max != "" {
			rs.Annotations = map[string]string{mini.MaxReplicasAnnotation: c.max}
		}
		require.Equal(t, c.want, mini.GetReplicaSetProportion(rs, d, c.toAdd, c.added),
			"%s: the part of a ReplicaSet of %d, with %d Pods to add, of which others got %d", c.name, c.size, c.toAdd, c.added)
	}
}

// scaled returns the sizes of the ReplicaSets of a Deployment that was scaled. The last
// one has its template. No Pods are created.
func scaled(t *testing.T, from, to int32, surge string, sizes ...int32) (got []int32) {
	t.Helper()
	inMemory(t, func(w *world) {
		m := mini.NewManager(w.Cluster)
		w.run(m.Run)
		sets := w.Other.AppsV1().ReplicaSets("default")
		name := func(i int) string { return fmt.Sprint("v", i) }
		for i, size := range sizes {
			d := deployment(from, image(name(i)))
			rs := replicaSet(name(i), size)
			rs.Labels, rs.Spec.Selector, rs.Spec.Template = d.Spec.Template.Labels, d.Spec.Selector, d.Spec.Template
			rs.Annotations = map[string]string{
				mini.DesiredReplicasAnnotation: fmt.Sprint(from),
				mini.MaxReplicasAnnotation:     fmt.Sprint(from + mini.MaxSurge(deployment(from, fenceposts(surge, "1")))),
			}
			rs, err := sets.Create(w.ctx, rs, metav1.CreateOptions{})
			require.NoError(w, err)
			rs.Status.ObservedGeneration = rs.Generation
			_, err = sets.UpdateStatus(w.ctx, rs, metav1.UpdateOptions{})
			require.NoError(w, err)
			time.Sleep(time.Second) // so that they have an order of age
		}
		_, err := w.Other.AppsV1().Deployments("default").Create(w.ctx,
			deployment(to, image(name(len(sizes)-1)), fenceposts(surge, "1")), metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(time.Second)
		d := &mini.Deployments{Client: m.Client}
		_, err = d.ScaleOrRoll(w.ctx, web)
		require.NoError(w, err)
		for i := range sizes {
			rs, err := sets.Get(w.ctx, name(i), metav1.GetOptions{})
			require.NoError(w, err)
			got = append(got, *rs.Spec.Replicas)
			if *rs.Spec.Replicas > 0 {
				require.Equal(w, fmt.Sprint(to), rs.Annotations[mini.DesiredReplicasAnnotation],
					"the scaling event would never be over")
			}
		}
	})
	return got
}

// The sum has to be exact as well: each Pod that rounding leaves over has to go
// somewhere.
func TestReplicaSetsKeepTheirProportions(t *testing.T) {
	for _, c := range []struct {
		from, to    int32
		surge       string
		sizes, want []int32
	}{
		{10, 15, "3", []int32{8, 5}, []int32{11, 7}},
		{10, 5, "3", []int32{8, 5}, []int32{5, 3}},
		{10, 20, "0", []int32{5, 5}, []int32{10, 10}},
		{10, 11, "0", []int32{5, 5}, []int32{5, 6}},            // of equals, the newest grows
		{10, 9, "0", []int32{5, 5}, []int32{4, 5}},             // and the oldest shrinks
		{10, 12, "0", []int32{3, 4, 3}, []int32{3, 5, 4}},      // the rest is for the newest
		{6, 12, "0", []int32{1, 4, 0, 1}, []int32{2, 8, 0, 2}}, // nothing grows from nothing
		{4, 2, "0", []int32{1, 1, 1, 1}, []int32{0, 0, 1, 1}},  // the sum is what counts
		{20, 10, "0", []int32{1, 1, 1, 17}, []int32{1, 1, 1, 7}},
		{10, 10, "3", []int32{8, 5}, []int32{8, 5}},
		{10, 0, "3", []int32{8, 5}, []int32{0, 0}},
		{10, 1, "3", []int32{8, 5}, []int32{2, 2}},
		{3, 5, "1", []int32{0, 3}, []int32{0, 5}}, // no rollout: one has all
		{3, 5, "1", []int32{3}, []int32{5}},
		{3, 2, "1", []int32{3}, []int32{2}},
	} {
		require.Equal(t, c.want, scaled(t, c.from, c.to, c.surge, c.sizes...),
			"sizes after scaling from %d to %d with a surge of %s; before, they were %d", c.from, c.to, c.surge, c.sizes)
	}
}

// A user who scales during an incident would get more of the Pods that caused it.
func TestABadRolloutGetsNoFurtherByScaling(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		w.change(image("bad"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 8, "bad": 5}, w.sizes(), "the rollout has to hang here")
		w.change(replicas(15))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 11, "bad": 7}, w.sizes(),
			"the user wanted more Pods, but not more bad ones")
		w.change(replicas(10))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 8, "bad": 5}, w.sizes(), "scaled back, each has what it had")
		w.change(replicas(0))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 0, "bad": 0}, w.sizes(), "0 is 0 for all of them, without a surge")
		w.change(replicas(4), image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int{"v2": 4}, w.ready(), "it comes back with the next template")
	})
}

// A user who rolls back wants the Pods that still serve to be kept.
func TestTheWayBackFromABadImageFindsTheOldReplicaSet(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		before := w.sets()["v1"]
		w.change(image("bad"))
		time.Sleep(time.Minute)
		w.change(replicas(20))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 14, "bad": 9}, w.sizes(), "the ReplicaSets keep their proportions")
		w.watch()
		w.change(image("v1"), replicas(15)) // kubectl rollout undo, and a second scaling
		most, fewest := w.counted(time.Minute)
		require.Equal(w, map[string]int{"v1": 15}, w.ready(), "after the scaling, the Deployment rolls back")
		require.Equal(w, before.UID, w.sets()["v1"].UID, "the old ReplicaSet has the template: no other one is needed")
		require.EqualValues(w, 3, mini.Revision(w.sets()["v1"]), "the template that it rolled back to is the newest revision")
		require.LessOrEqual(w, most, 23, "the surge also holds on the way back")
		require.GreaterOrEqual(w, fewest, 10, "the Pods that serve keep serving")
	})
}

// A rollout that scaling has interrupted would stay half done.
func TestAfterScalingTheRolloutGoesOn(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(6, fenceposts("2", "1")))
		w.watch()
		w.change(image("v2"))
		time.Sleep(1500 * time.Millisecond)
		require.Len(w, w.ready(), 2, "the rollout isn't complete yet")
		w.change(replicas(9))
		most, fewest := w.counted(time.Minute)
		require.Equal(w, map[string]int{"v2": 9}, w.ready(), "after the scaling, the rollout has to go on")
		require.LessOrEqual(w, most, 11, "more Pods than the surge allows")
		require.GreaterOrEqual(w, fewest, 5, "fewer ready Pods than before the scaling")
	})
}

// A scaling event that is never over would stop all rollouts.
//
// Function: scale
func TestAReplicaSetThatHasTheNewSizeAlreadyDoesNotStopRollouts(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(3))
		rs := w.sets()["v1"]
		w.change(pause(true)) // no rollout while the user works
		rs.Spec.Replicas = new(int32(5))
		_, err := w.Other.AppsV1().ReplicaSets("default").Update(w.ctx, rs, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.change(pause(false), replicas(5), image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int{"v2": 5}, w.ready(),
			"the scaling had no size to change, so it wasn't noted, and would never be over")
	})
}

// A user pauses to make several changes one rollout.
//
// Function: Deployments.scaleOrRoll
func TestAPausedDeploymentDoesNotRoll(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		w.change(pause(true), image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 10}, w.sizes(), "a paused Deployment does not roll")
		w.change(replicas(6))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 6}, w.sizes(), "a paused Deployment can be scaled")
		w.change(replicas(8))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int{"v1": 8}, w.ready(), "up as well as down")
		w.change(pause(false))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int{"v2": 8}, w.ready(), "the changes made during the pause are rolled out")
	})
}

// A user who pauses a bad rollout wants it to get no further, and to be able to scale.
func TestAPauseStopsARolloutInTheMiddle(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		w.change(image("bad"))
		time.Sleep(time.Minute)
		w.change(pause(true), image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 8, "bad": 5}, w.sizes(), "the rollout stops where it is")
		w.change(replicas(15))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 11, "bad": 7}, w.sizes(), "even during a pause, they keep their proportions")
		w.change(replicas(0))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 0, "bad": 0}, w.sizes(), "scaled to 0")
		w.change(replicas(2))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 0, "bad": 2}, w.sizes(), "the latest one is the one to grow from nothing")
		w.change(image("v1"), replicas(0))
		time.Sleep(time.Minute)
		w.change(replicas(3))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 3, "bad": 0}, w.sizes(), "unless there is one with the template")
	})
}

// There is no ReplicaSet yet, and a pause must not create one.
func TestAPausedDeploymentThatNeverRanHasNothingToScale(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(3, pause(true)))
		require.Empty(w, w.sizes(), "a paused Deployment creates no ReplicaSet")
		d := &mini.Deployments{Client: w.Manager.Client}
		_, err := d.ScaleOrRoll(w.ctx, web)
		require.NoError(w, err, "having nothing to scale isn't an error")
	})
}

// Otherwise there would be more Pods than the surge allows, and perhaps than the nodes hold.
//
// Function: scale
func TestScalingWaitsForPodsThatHaveToGo(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("4", "0")))
		lift := w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		w.change(image("v2"))
		time.Sleep(10 * time.Second)
		require.Equal(w, map[string]int32{"v1": 0, "v2": 4}, w.sizes(), "all old Pods have to go")
		w.watch()
		w.change(replicas(8), fenceposts("0", "1"))
		most, _ := w.counted(time.Minute)
		require.LessOrEqual(w, most, 8, "a ReplicaSet was scaled to 0, but still has its Pods")
		lift()
		time.Sleep(time.Hour) // the back-off has become long
		require.Equal(w, map[string]int{"v2": 8}, w.ready(), "they've been deleted, so the Deployment may grow")
	})
}

// v1 would grow, but has a Pod that has to go first. Until then, v2 mustn't remember the new number either: it has got its size when
// the Deployment wanted 10.
//
// Function: scale
func TestAScalingThatHasToWaitWritesNothing(t *testing.T) {
	sizes, wanted := inOneStep(t, deployment(11, image("v2"), fenceposts("0", "1")), (*mini.Deployments).ScaleOrRoll,
		reportedSet{image: "v1", size: 8, replicas: 9, available: 8, wanted: "10"},
		reportedSet{image: "v2", size: 1, replicas: 1, wanted: "10"})
	require.Equal(t, map[string]int32{"v1": 8, "v2": 1}, sizes)
	require.Equal(t, map[string]string{"v1": "10", "v2": "10"}, wanted)
}

// Shrinking makes room, so there is nothing to wait for.
//
// Function: scale
func TestShrinkingDoesNotWait(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "0")))
		w.change(image("bad"))
		time.Sleep(time.Minute)
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		w.change(replicas(5))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 5, "bad": 2}, w.sizes(), "scaled down, and then rolled on")
		w.change(replicas(2))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 2, "bad": 2}, w.sizes(),
			"the first Pods still exist, but the user wants even fewer")
	})
}

// A ReplicaSet that was there before the Deployment has no annotation.
//
// Function: isScalingEvent
func TestAnAdoptedReplicaSetIsNotAScalingEvent(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("1", "1")))
		w.watch()
		w.orphan("v0", 2)
		_, fewest := w.counted(time.Minute)
		require.Equal(w, map[string]int32{"v0": 0, "v1": 4}, w.sizes(), "adopted Pods have an old template, so they're deleted")
		require.Equal(w, 4, fewest, "Pods that serve had to make room for a scaling that no user wanted")
	})
}

// Two changes in one moment are what a deployment script makes.
func TestAChangeAndAScaleUpAtOnceKeepToTheSurge(t *testing.T) {
	for _, apart := range []time.Duration{20 * time.Millisecond, 1200 * time.Millisecond} {
		inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
			w.slowPods(100*time.Millisecond, 100*time.Millisecond)
			w.create(deployment(6, fenceposts("2", "1")))
			w.watch()
			w.change(image("v2"))
			time.Sleep(apart)
			w.change(image("v3"))
			time.Sleep(apart)
			w.change(replicas(8))
			most, _ := w.counted(time.Minute)
			require.Equal(w, map[string]int{"v3": 8}, w.ready(), "the last change counts")
			require.LessOrEqual(w, most, 10, "changes %s apart: more Pods than the surge allows", apart)
		})
	}
}

// A refused write in the middle of a scaling must not leave half of it.
func TestAFailureOfAScalingIsTriedAgain(t *testing.T) {
	for skip := range 2 {
		inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
			w.create(deployment(10, fenceposts("3", "2")))
			w.change(image("bad"))
			time.Sleep(time.Minute)
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "update", Resource: "replicasets"},
				Skip:  skip, Times: 2, Status: fakeapi.Forbidden(),
			})
			w.change(replicas(15))
			time.Sleep(time.Minute)
			require.Equal(w, map[string]int32{"v1": 11, "bad": 7}, w.sizes(),
				"the API server has refused two writes, after %d that it accepted", skip)
		})
	}
}

// Without one of its ReplicaSets, a Deployment looks smaller than it is. Without the Deployment, there is nothing to do.
//
// Function: Deployments.scaleOrRoll
func TestScaleOrRollNeedsTheDeploymentAndAllReplicaSets(t *testing.T) {
	inRollout(t, scaleOrRoll, func(w *rolloutWorld) {
		d := &mini.Deployments{Client: w.Manager.Client}
		_, err := d.ScaleOrRoll(w.ctx, web)
		require.NoError(w, err, "a deleted Deployment isn't an error")
		w.create(deployment(3))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "patch", Resource: "replicasets"}, Status: fakeapi.Forbidden(),
		})
		w.orphan("v0", 1)
		time.Sleep(time.Minute)
		_, err = d.ScaleOrRoll(w.ctx, web)
		require.Error(w, err, "a ReplicaSet could not be adopted")
	})
}

// A failure that nothing reports is tried again only if something else happens.
//
// Function: Deployments.scaleOrRoll
func TestAFailureOfAScalingIsReported(t *testing.T) {
	inRollout(t, idle, func(w *rolloutWorld) {
		c := &mini.Deployments{Client: w.Manager.Client}
		step := func() error {
			synctest.Wait()
			_, err := c.ScaleOrRoll(w.ctx, web)
			time.Sleep(time.Minute)
			return err
		}
		refused := func(verb, why string) {
			w.Helper()
			lift := w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: verb, Resource: "replicasets"}, Status: fakeapi.Forbidden(),
			})
			require.Error(w, step(), why)
			lift()
			for range 3 {
				require.NoError(w, step())
			}
		}
		w.create(deployment(4, fenceposts("2", "1")))
		refused("create", "the rollout's write was refused")
		w.change(image("bad"))
		for range 3 {
			require.NoError(w, step())
		}
		require.Equal(w, map[string]int32{"v1": 3, "bad": 3}, w.sizes(), "two ReplicaSets share the Pods")
		w.change(replicas(8))
		refused("update", "the scaling's write was refused")
		require.Equal(w, map[string]int32{"v1": 5, "bad": 5}, w.sizes())
	})
}
