package mini_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
)

var roll = controllerOf((*mini.Deployments).Roll)

// Function: ResolveFenceposts
func TestFencepostsAreRoundedToTheCarefulSide(t *testing.T) {
	for _, c := range []struct {
		surge, unavailable string
		desired            int32
		up, down           int32
	}{
		{"25%", "25%", 10, 3, 2},
		{"25%", "25%", 4, 1, 1},
		{"25%", "25%", 1, 1, 0},
		{"1%", "1%", 2, 1, 0},
		{"0", "1%", 2, 0, 1}, // nothing could move
		{"0%", "0%", 10, 0, 1},
		{"0", "25%", 8, 0, 2},
		{"3", "2", 10, 3, 2},
		{"5", "5", 2, 5, 5},
		{"100%", "100%", 7, 7, 7},
		{"25%", "25%", 0, 0, 1},
	} {
		surge, unavailable := intstr.Parse(c.surge), intstr.Parse(c.unavailable)
		up, down, err := mini.ResolveFenceposts(&surge, &unavailable, c.desired)
		require.NoError(t, err)
		require.Equal(t, []int32{c.up, c.down}, []int32{up, down},
			"maxSurge %s, maxUnavailable %s, of %d", c.surge, c.unavailable, c.desired)
	}
	good, bad := intstr.FromInt32(1), intstr.FromString("many")
	_, _, err := mini.ResolveFenceposts(&bad, &good, 5)
	require.Error(t, err, "maxSurge is not a number")
	_, _, err = mini.ResolveFenceposts(&good, &bad, 5)
	require.Error(t, err, "maxUnavailable is not a number")
}

func TestNoMoreMayBeMissingThanThereAre(t *testing.T) {
	require.EqualValues(t, 2, mini.MaxUnavailable(deployment(2, fenceposts("0", "5"))))
	require.EqualValues(t, 0, mini.MaxUnavailable(deployment(0, fenceposts("0", "5"))))
	require.EqualValues(t, 3, mini.MaxSurge(deployment(10, fenceposts("25%", "0"))))
	recreate := deployment(10, func(d *appsv1.Deployment) {
		d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	})
	require.Zero(t, mini.MaxSurge(recreate))
	require.Zero(t, mini.MaxUnavailable(recreate))
}

// Function: NewRSNewReplicas
func TestTheNewReplicaSetGrowsIntoTheRoom(t *testing.T) {
	for _, c := range []struct {
		desired     int32
		surge       string
		old, before int32
		want        int32
	}{
		{10, "3", 10, 0, 3},
		{10, "3", 8, 3, 5},
		{10, "3", 8, 5, 5},  // no room
		{10, "3", 20, 2, 2}, // less than no room takes no Pod away
		{10, "3", 0, 5, 10}, // no more than are desired
		{10, "0", 10, 0, 0},
		{10, "25%", 10, 0, 3},
		{4, "3", 0, 10, 4}, // fewer are desired
		{4, "3", 9, 10, 4},
		{0, "3", 0, 5, 0},
	} {
		d := deployment(c.desired, fenceposts(c.surge, "1"))
		oldRS, newRS := replicaSet("old", c.old), replicaSet("new", c.before)
		got := mini.NewRSNewReplicas(d, []*appsv1.ReplicaSet{oldRS, newRS}, newRS)
		require.Equal(t, c.want, got,
			"%d desired, surge %s, %d old, %d new", c.desired, c.surge, c.old, c.before)
		require.Equal(t, c.before, *newRS.Spec.Replicas, "deciding must not change the ReplicaSet")
	}
}

func TestARolloutKeepsToItsFenceposts(t *testing.T) {
	for _, c := range []struct {
		surge, unavailable string
		desired            int32
		up, down           int // Pods more and fewer than desired
	}{
		{"25%", "25%", 6, 2, 1}, {"1", "0", 2, 1, 0}, {"0", "1", 2, 0, 1},
		{"25%", "25%", 1, 1, 0}, {"0", "1%", 2, 0, 1}, {"0", "100%", 3, 0, 3},
	} {
		name := fmt.Sprintf("%d desired, surge %s, unavailable %s", c.desired, c.surge, c.unavailable)
		inRollout(t, roll, func(w *rolloutWorld) {
			w.create(deployment(c.desired, fenceposts(c.surge, c.unavailable)))
			require.Equal(w, map[string]int{"v1": int(c.desired)}, w.ready(), name)
			w.Server.Inject(fakeapi.Fault{ // Pods are there for a while after their ReplicaSet has shrunk
				Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Delay: 100 * time.Millisecond,
			})
			w.watch()
			w.change(image("v2"))
			most, fewest := w.counted(time.Minute)
			require.Equal(w, map[string]int{"v2": int(c.desired)}, w.ready(), "the rollout is not at its end: "+name)
			require.Equal(w, map[string]int32{"v1": 0, "v2": c.desired}, w.sizes(), name)
			require.LessOrEqual(w, most, int(c.desired)+c.up, "too many Pods: "+name)
			require.GreaterOrEqual(w, fewest, int(c.desired)-c.down, "too few ready Pods: "+name)
			require.Equal(w, int(c.desired)+c.up, most, "the surge is there to be used: "+name)
			require.Equal(w, int(c.desired)-c.down, fewest, "old Pods have to make room: "+name)
		})
	}
}

func TestTheReplicaSetsRememberTheirDeploymentsSize(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		rs := w.sets()["v1"]
		require.Equal(w, "10", rs.Annotations[mini.DesiredReplicasAnnotation])
		require.Equal(w, "13", rs.Annotations[mini.MaxReplicasAnnotation])
		w.change(replicas(4))
		rs = w.sets()["v1"]
		require.EqualValues(w, 4, *rs.Spec.Replicas)
		require.Equal(w, "4", rs.Annotations[mini.DesiredReplicasAnnotation])
		require.Equal(w, "7", rs.Annotations[mini.MaxReplicasAnnotation])
		w.change(image("v2"))
		time.Sleep(time.Minute)
		w.change(replicas(5))
		require.Equal(w, "5", w.sets()["v2"].Annotations[mini.DesiredReplicasAnnotation])
		require.Equal(w, "4", w.sets()["v1"].Annotations[mini.DesiredReplicasAnnotation],
			"a ReplicaSet that keeps its size isn't written")
	})
}

func TestABadImageStalls(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		w.watch()
		w.change(image("bad"))
		most, fewest := w.counted(time.Hour)
		require.Equal(w, map[string]int32{"v1": 8, "bad": 5}, w.sizes())
		require.Equal(w, 8, fewest, "8 Pods have to go on serving")
		require.LessOrEqual(w, most, 13)

		w.change(image("v1")) // kubectl rollout undo
		most, fewest = w.counted(time.Minute)
		require.Equal(w, map[string]int32{"v1": 10, "bad": 0}, w.sizes(), "the bad Pods block the good ones")
		require.Equal(w, 8, fewest)
		require.LessOrEqual(w, most, 13)
		require.EqualValues(w, 3, mini.Revision(w.sets()["v1"]))
	})
}

// Function: cleanupUnhealthyReplicas
func TestBadPodsOfAnOldTemplateAreDeletedFirst(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		w.change(image("bad"))
		time.Sleep(time.Minute)
		w.watch()
		w.change(image("worse-but-also-bad"), image("bad2"))
		_, fewest := w.counted(time.Minute)
		require.Equal(w, map[string]int32{"v1": 8, "bad": 0, "bad2": 5}, w.sizes(),
			"Pods that never serve block those that might")
		require.Equal(w, 8, fewest)
		w.change(image("v2"))
		most, fewest := w.counted(time.Minute)
		require.Equal(w, map[string]int{"v2": 10}, w.ready())
		require.Equal(w, 8, fewest)
		require.LessOrEqual(w, most, 13)
	})
}

// Function: cleanupUnhealthyReplicas
func TestARolloutDoesNotWaitForOldPodsThatNeverBecomeReady(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(4, image("bad"), fenceposts("1", "0")))
		require.Empty(w, w.ready())
		w.watch()
		w.change(image("v1"))
		most, _ := w.counted(time.Minute)
		require.Equal(w, map[string]int{"v1": 4}, w.ready())
		require.Equal(w, map[string]int32{"v1": 4, "bad": 0}, w.sizes())
		require.Equal(w, 5, most)
	})
}

// More Pods are desired than there are, so none may go. That is no reason to create old ones.
func TestAnOldReplicaSetNeverGrows(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("1", "1")))
		w.change(image("bad"))
		time.Sleep(time.Minute)
		w.change(replicas(10))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 3, "bad": 8}, w.sizes(), "users would get Pods of the old template")
	})
}

// Function: scaleDownOldReplicaSetsForRollingUpdate
func TestTheOldestPodsAreDeletedFirst(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("2", "0")))
		w.change(image("v2"))
		time.Sleep(1500 * time.Millisecond) // 2 of v2 are ready, and replace 2 of v1
		require.Equal(w, map[string]int32{"v1": 2, "v2": 4}, w.sizes())
		w.change(image("bad"), fenceposts("2", "2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"v1": 0, "v2": 2, "bad": 4}, w.sizes(),
			"the newer of the old versions is more likely to be wanted")
	})
}

// slowPods makes the API server take its time for them, so that a ReplicaSet has more Pods
// than it asks for when the next change comes.
func (w *rolloutWorld) slowPods(create, remove time.Duration) {
	for verb, delay := range inorder.Map(map[string]time.Duration{"create": create, "delete": remove}) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb, Resource: "pods"}, Delay: delay})
	}
}

func TestTwoChangesAtOnceKeepToTheSurge(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ create, remove, apart time.Duration }{
		{100 * ms, 100 * ms, 20 * ms}, {100 * ms, 100 * ms, 1150 * ms}, {300 * ms, 1000 * ms, 20 * ms},
	} {
		inRollout(t, roll, func(w *rolloutWorld) {
			w.slowPods(c.create, c.remove)
			w.create(deployment(6, fenceposts("2", "0")))
			w.watch()
			w.change(image("v2"))
			time.Sleep(c.apart)
			w.change(image("v3"))
			most, _ := w.counted(5 * time.Second)
			require.LessOrEqual(w, most, 8, "more Pods than the surge allows: %+v", c)
			w.change(image("v4"), fenceposts("4", "4"))
			time.Sleep(c.apart)
			w.change(image("v5"), replicas(8))
			most, fewest := w.counted(time.Minute)
			require.Equal(w, map[string]int{"v5": 8}, w.ready())
			require.LessOrEqual(w, most, 12, "more Pods than the surge allows: %+v", c)
			require.GreaterOrEqual(w, fewest, 2, "%+v", c)
		})
	}
}

func TestPodsThatCannotBeDeletedTakeUpRoom(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("1", "1")))
		lift := w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		w.watch()
		w.change(image("v2"))
		most, _ := w.counted(time.Minute)
		require.LessOrEqual(w, most, 5, "a ReplicaSet was scaled down, but still has its Pods")
		lift()
		time.Sleep(time.Hour) // the back-off has become long
		require.Equal(w, map[string]int{"v2": 4}, w.ready())
	})
}

// Function: reconcileNewReplicaSet
func TestTheNewReplicaSetShrinksEvenWhilePodsHaveToGo(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("1", "1")))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Status: fakeapi.Forbidden(),
		})
		w.change(replicas(3))
		time.Sleep(time.Minute)
		w.change(replicas(2))
		require.Equal(w, map[string]int32{"v1": 2}, w.sizes(), "only growing has to wait for the old Pods")
	})
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// Function: Deployments.oldPodsRunning
func TestRecreateWaitsUntilTheLastOldPodHasEnded(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(3, recreate))
		require.Equal(w, map[string]int{"v1": 3}, w.ready())
		w.watch()
		w.change(image("v2"))
		time.Sleep(4 * time.Second) // the old Pods take 5 s to end
		require.Empty(w, w.ready(), "a new Pod is ready while the old ones are still ending")
		require.Equal(w, map[string]int32{"v1": 0}, w.sizes(), "a Pod that is being deleted still runs")
		w.counted(time.Minute)
		require.Equal(w, map[string]int{"v2": 3}, w.ready())
		w.change(image("v3"))
		time.Sleep(100 * time.Millisecond)
		w.change(image("v2")) // and back, while its Pods are ending
		w.counted(time.Minute)
		require.Equal(w, map[string]int{"v2": 3}, w.ready())
		require.False(w, w.mixed, "Pods of two templates existed at the same time")
	})
}

// The old ReplicaSet has no Pods, and its controller is about to create some.
//
// Function: Deployments.oldPodsRunning
func TestRecreateWaitsForAReplicaSetThatHasNotAnswered(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 100 * time.Millisecond,
		})
		w.create(deployment(0, recreate))
		w.watch()
		w.change(replicas(8))
		time.Sleep(50 * time.Millisecond) // the first Pods are being created
		w.change(image("v2"))
		w.counted(time.Minute)
		require.Equal(w, map[string]int{"v2": 8}, w.ready())
		require.False(w, w.mixed, "Pods of two templates existed at the same time")
	})
}

// Function: Deployments.oldPodsRunning
func TestRecreateDoesNotWaitForPodsThatHaveEndedByThemselves(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		inRollout(t, roll, func(w *rolloutWorld) {
			w.create(deployment(1, recreate))
			pods := w.Other.CoreV1().Pods("default")
			list, err := pods.List(w.ctx, metav1.ListOptions{})
			require.NoError(w, err)
			pod := &list.Items[0]
			pod.Status.Phase = phase
			_, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
			require.NoError(w, err)
			w.change(image("v2"))
			time.Sleep(time.Minute)
			require.Equal(w, 1, w.ready()["v2"], "a Pod that is %s holds nothing any more", phase)
		})
	}
}

// Function: cleanupUnhealthyReplicas
func TestNoMoreBadPodsAreDeletedThanTheLimitAllows(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(4, image("bad"), fenceposts("1", "2")))
		w.change(image("bad2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int32{"bad": 2, "bad2": 3}, w.sizes(), "2 of 4 Pods may be missing, and there may be 1 too many")
		w.change(image("v1"))
		time.Sleep(500 * time.Millisecond) // the new Pods are not ready yet
		require.Equal(w, map[string]int32{"bad": 0, "bad2": 2, "v1": 3}, w.sizes(),
			"all old ReplicaSets share the number that may be deleted")
	})
}

func TestAFailureOfARolloutIsReported(t *testing.T) {
	for _, strategy := range []func(*appsv1.Deployment){recreate, fenceposts("1", "1")} {
		for skip := range 2 {
			for _, verb := range []string{"create", "update"} {
				inRollout(t, idle, func(w *rolloutWorld) {
					c := &mini.Deployments{Client: w.Manager.Client}
					rolls := func(n int) (failed int) {
						for range n {
							if _, err := c.Roll(w.ctx, web); err != nil {
								failed++
							}
							time.Sleep(time.Minute)
						}
						return failed
					}
					require.Zero(w, rolls(1), "a missing Deployment isn't a failure")
					w.create(deployment(2, strategy))
					rolls(4)
					w.change(image("v2"))
					rolls(skip)
					w.Server.Inject(fakeapi.Fault{
						Match: fakeapi.Match{Verb: verb, Resource: "replicasets"}, Status: fakeapi.Forbidden(),
					})
					if verb == "update" || skip == 0 { // there is one create only
						require.NotZero(w, rolls(4), "a write of the ReplicaSets was refused, but it returned no error: %s %d", verb, skip)
					}
				})
			}
		}
	}
}

// If the next write failed as well, you wouldn't notice that the first failure was lost.
func TestEachRefusedWriteOfARolloutIsReported(t *testing.T) {
	slower := func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 3 }
	for _, strategy := range []func(*appsv1.Deployment){recreate, fenceposts("1", "1")} {
		for i, change := range []func(*appsv1.Deployment){slower, replicas(3), replicas(1)} {
			inRollout(t, idle, func(w *rolloutWorld) {
				c := &mini.Deployments{Client: w.Manager.Client}
				w.create(deployment(2, strategy))
				var err error
				for range 6 {
					_, err = c.Roll(w.ctx, web)
					time.Sleep(time.Minute)
				}
				require.NoError(w, err, "the rollout is complete")
				w.change(change)
				time.Sleep(time.Second)
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: "update", Resource: "replicasets"}, Status: fakeapi.Forbidden(),
				})
				_, err = c.Roll(w.ctx, web)
				require.Error(w, err, "change %d: its only write was refused", i)
			})
		}
	}
}

// orphan creates a ReplicaSet of another image, which the Deployment adopts.
func (w *rolloutWorld) orphan(name string, size int32) {
	w.Helper()
	other, rs := deployment(1, image(name)), replicaSet(name, size)
	rs.Labels, rs.Spec.Selector, rs.Spec.Template = other.Spec.Template.Labels, other.Spec.Selector, other.Spec.Template
	rs.Spec.Template.Labels["hash"], rs.Spec.Selector.MatchLabels["hash"] = name, name
	_, err := w.Other.AppsV1().ReplicaSets("default").Create(w.ctx, rs, metav1.CreateOptions{})
	require.NoError(w, err)
}

// Without one of its ReplicaSets, a rollout would count too few Pods, and exceed the surge.
func TestARolloutNeedsAllReplicaSets(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(3, fenceposts("1", "1")))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "patch", Resource: "replicasets"}, Status: fakeapi.Forbidden(),
		})
		w.orphan("v0", 1)
		time.Sleep(time.Minute)
		c := &mini.Deployments{Client: w.Manager.Client}
		_, err := c.Roll(w.ctx, web)
		require.Error(w, err, "a ReplicaSet could not be adopted")
	})
}

// reportedSet is a ReplicaSet with its size, and what its controller has reported last.
type reportedSet struct {
	image                     string
	size, replicas, available int32
	wanted                    string // the number of Pods that the Deployment wanted then
}

// inOneStep creates a Deployment and its ReplicaSets, whose controller doesn't run, so what it has reported stays. It returns the sizes
// after one reconcile, and the annotations in which the ReplicaSets remember what the Deployment wanted.
func inOneStep(
	t *testing.T, d *appsv1.Deployment,
	reconcile func(*mini.Deployments, context.Context, mini.Request) (mini.Result, error), sets ...reportedSet,
) (sizes map[string]int32, wanted map[string]string) {
	t.Helper()
	sizes, wanted = map[string]int32{}, map[string]string{}
	inMemory(t, func(w *world) {
		d, err := w.Other.AppsV1().Deployments("default").Create(w.ctx, d, metav1.CreateOptions{})
		require.NoError(w, err)
		api := w.Other.AppsV1().ReplicaSets("default")
		for _, set := range sets {
			kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
			rs := &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{
					Name: set.image, Labels: d.Spec.Template.Labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
				},
				Spec: appsv1.ReplicaSetSpec{
					Replicas: &set.size, Selector: d.Spec.Selector, Template: *d.Spec.Template.DeepCopy(),
				},
			}
			rs.Spec.Template.Spec.Containers[0].Image = set.image
			if set.wanted != "" {
				rs.Annotations = map[string]string{
					mini.DesiredReplicasAnnotation: set.wanted, mini.MaxReplicasAnnotation: set.wanted,
				}
			}
			rs, err := api.Create(w.ctx, rs, metav1.CreateOptions{})
			require.NoError(w, err)
			rs.Status.ObservedGeneration = rs.Generation
			rs.Status.Replicas, rs.Status.AvailableReplicas = set.replicas, set.available
			_, err = api.UpdateStatus(w.ctx, rs, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		_, err = reconcile(&mini.Deployments{Client: w.cached()}, w.ctx, web)
		require.NoError(w, err)
		list, err := api.List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		for _, rs := range list.Items {
			sizes[rs.Name], wanted[rs.Name] = *rs.Spec.Replicas, rs.Annotations[mini.DesiredReplicasAnnotation]
		}
	})
	return sizes, wanted
}

// v1 had 5 Pods, and its size is 3 by now. Its controller will delete two Pods, and three serve. If the clean-up took the two for
// Pods that don't serve, it would take them off a second time.
//
// Function: cleanupUnhealthyReplicas
func TestPodsThatHaveToGoAnywayAreNotTakenOffTwice(t *testing.T) {
	sizes, _ := inOneStep(t, deployment(4, image("v2"), fenceposts("1", "1")), (*mini.Deployments).Roll,
		reportedSet{image: "v1", size: 3, replicas: 5, available: 3}, reportedSet{image: "v2", size: 2, replicas: 2, available: 2})
	require.Equal(t, map[string]int32{"v1": 1, "v2": 2}, sizes, "5 Pods serve, and 3 have to: two may go")
}

// A user has undone an undo: v2 was shrunk to 1, and two of its Pods are still to be deleted. If v2 grew now, there would be more Pods
// than the surge allows.
//
// Function: reconcileNewReplicaSet
func TestTheNewReplicaSetWaitsForItsOwnPodsThatHaveToGo(t *testing.T) {
	sizes, _ := inOneStep(t, deployment(4, image("v2"), fenceposts("2", "0")), (*mini.Deployments).Roll,
		reportedSet{image: "v1", size: 3, replicas: 3, available: 3}, reportedSet{image: "v2", size: 1, replicas: 3, available: 1})
	require.Equal(t, map[string]int32{"v1": 3, "v2": 1}, sizes)
}

// Pods that cannot be read may be running.
//
// Function: Deployments.oldPodsRunning
func TestRecreateNeedsThePodsOfTheOldReplicaSets(t *testing.T) {
	inRollout(t, roll, func(w *rolloutWorld) {
		w.create(deployment(2, recreate))
		w.change(image("v2"))
		time.Sleep(time.Minute)
		types := runtime.NewScheme() // without Pods
		require.NoError(w, appsv1.AddToScheme(types))
		cluster, err := mini.NewCluster(w.Server.Config(), types)
		require.NoError(w, err)
		cache := mini.NewCache(cluster)
		w.run(cache.Run)
		c := &mini.Deployments{Client: mini.NewCachedClient(cache)}
		_, err = c.Roll(w.ctx, web)
		require.Error(w, err, "it couldn't read the Pods, so it can't know that they've ended")
	})
}
