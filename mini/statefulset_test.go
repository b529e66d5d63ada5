package mini_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// inStateful runs a test in a world with the StatefulSet controller and a kubelet. A Pod is ready
// after a second unless its image begins with "bad", and ends 5 seconds after its deletion.
func inStateful(t *testing.T, test func(w *rolloutWorld)) {
	t.Helper()
	inRollout(t, mini.NewStatefulSetController, test)
}

// statefulSet returns one with an image, and a claim for each Pod.
func statefulSet(replicas int32, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	template := deployment(0).Spec.Template
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: "peers",
			Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(template.Labels)}, Template: template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"tier": "db"}},
			}},
		},
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

func statefulImage(image string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = image }
}

func statefulSize(n int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Spec.Replicas = &n }
}

func partition(n int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n},
		}
	}
}

func parallel(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

func onDelete(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

func retention(whenScaled, whenDeleted string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenScaled:  appsv1.PersistentVolumeClaimRetentionPolicyType(whenScaled),
			WhenDeleted: appsv1.PersistentVolumeClaimRetentionPolicyType(whenDeleted),
		}
	}
}

// addStateful creates the StatefulSet, and waits until its Pods are ready.
func (w *world) addStateful(set *appsv1.StatefulSet) {
	w.Helper()
	addSet(w, w.Other.AppsV1().StatefulSets("default"), set)
}

func (w *world) stateful() *appsv1.StatefulSet {
	w.Helper()
	return getSet(w, w.Other.AppsV1().StatefulSets("default"))
}

func (w *world) changeStateful(changes ...func(*appsv1.StatefulSet)) {
	w.Helper()
	changeSet(w, w.Other.AppsV1().StatefulSets("default"), changes...)
}

// members returns the Pods, as "web-0 v1", and says which are ending.
func (w *world) members() (all []string) {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, pod := range list.Items {
		text := pod.Name + " " + pod.Spec.Containers[0].Image
		if pod.DeletionTimestamp != nil {
			text += " ending"
		}
		all = append(all, text)
	}
	return all
}

func (w *world) member(name string) *corev1.Pod {
	w.Helper()
	synctest.Wait()
	pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	return pod
}

// unready is what the kubelet does when a probe fails.
func (w *world) unready(name string) {
	w.Helper()
	w.changePodStatus(w.member(name), func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
}

// claims returns the claims, as "data-web-0 of Pod web-0".
func (w *world) claims() (all []string) {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.CoreV1().PersistentVolumeClaims("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, claim := range list.Items {
		text := claim.Name
		for _, ref := range claim.OwnerReferences {
			text += " of " + ref.Kind + " " + ref.Name
		}
		all = append(all, text)
	}
	return all
}

// collectClaims is what the garbage collector does: it deletes claims whose owners are gone.
func (w *world) collectClaims() {
	w.Helper()
	synctest.Wait()
	pods, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	claims, err := w.Other.CoreV1().PersistentVolumeClaims("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, claim := range claims.Items {
		gone := func(ref metav1.OwnerReference) bool {
			return ref.Kind == "Pod" && !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.UID == ref.UID })
		}
		if len(claim.OwnerReferences) == 1 && gone(claim.OwnerReferences[0]) {
			require.NoError(w, w.Other.CoreV1().PersistentVolumeClaims("default").Delete(w.ctx, claim.Name, metav1.DeleteOptions{}))
		}
	}
}

// A database's second member asks the first one for its data, which has to be there.
func TestMembersStartOneAfterTheOther(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		_, err := w.Other.AppsV1().StatefulSets("default").Create(w.ctx, statefulSet(3), metav1.CreateOptions{})
		require.NoError(w, err)
		for _, want := range [][]string{
			{"web-0 v1"}, {"web-0 v1", "web-1 v1"}, {"web-0 v1", "web-1 v1", "web-2 v1"},
		} {
			time.Sleep(900 * time.Millisecond)
			require.Equal(w, want, w.members(), "the previous one takes a second to become ready")
			time.Sleep(100 * time.Millisecond)
		}
		w.unready("web-0")
		w.changeStateful(statefulSize(4))
		time.Sleep(time.Minute)
		require.Len(w, w.members(), 3, "all before it have to be ready, not only the last one")
		w.world.ready(w.member("web-0"))
		time.Sleep(time.Minute)
		require.Len(w, w.members(), 4)
	})
}

// Its peers, its disk and its clients know a member by its name.
func TestAMemberKeepsItsNameAndItsClaimWhenItIsReplaced(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2, func(set *appsv1.StatefulSet) {
			set.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "tmp"}, {Name: "data"}}
		}))
		first := w.member("web-1")
		require.Equal(w, "web-1", first.Spec.Hostname)
		require.Equal(w, "peers", first.Spec.Subdomain)
		require.Equal(w, "web-1", first.Labels[appsv1.StatefulSetPodNameLabel])
		require.Equal(w, "1", first.Labels[appsv1.PodIndexLabel])
		require.True(w, metav1.IsControlledBy(first, w.stateful()))
		volumes := map[string]string{}
		for _, volume := range first.Spec.Volumes {
			volumes[volume.Name] = ""
			if volume.PersistentVolumeClaim != nil {
				volumes[volume.Name] = volume.PersistentVolumeClaim.ClaimName
			}
		}
		require.Equal(w, map[string]string{"tmp": "", "data": "data-web-1"}, volumes, "the claim takes the place of the template's volume")
		require.Equal(w, []string{"data-web-0", "data-web-1"}, w.claims())
		claim, err := w.Other.CoreV1().PersistentVolumeClaims("default").Get(w.ctx, "data-web-1", metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, map[string]string{"tier": "db", "app": "web"}, claim.Labels)

		w.deletePod(first)
		time.Sleep(4 * time.Second)
		require.Equal(w, []string{"web-0 v1", "web-1 v1 ending"}, w.members(), "two with one disk would destroy it")
		time.Sleep(3 * time.Second)
		second := w.member("web-1")
		require.NotEqual(w, first.UID, second.UID)
		require.Equal(w, first.Spec.Volumes, second.Spec.Volumes)
		again, err := w.Other.CoreV1().PersistentVolumeClaims("default").Get(w.ctx, "data-web-1", metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, claim.UID, again.UID)
	})
}

// The member with the highest number has the least data, and goes first.
func TestAStatefulSetShrinksFromTheEndOneAtATime(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(11))
		w.changeStateful(statefulSize(8))
		for _, want := range []string{"web-10 v1 ending", "web-9 v1 ending", "web-8 v1 ending"} {
			time.Sleep(time.Second)
			ending := slices.DeleteFunc(w.members(), func(text string) bool { return !strings.HasSuffix(text, "ending") })
			require.Equal(w, []string{want}, ending, "10 is more than 9, and each takes 5 seconds to end")
			time.Sleep(4 * time.Second)
		}
		time.Sleep(time.Minute)
		require.Len(w, w.members(), 8)
		require.Len(w, w.claims(), 11, "the data stays")

		w.unready("web-0")
		w.changeStateful(statefulSize(7))
		time.Sleep(time.Minute)
		require.Len(w, w.members(), 8, "a member is down, and another one would go")
		w.world.ready(w.member("web-0"))
		w.unready("web-7")
		time.Sleep(time.Minute)
		require.Len(w, w.members(), 7, "a surplus member may be down")
	})
}

// Members that don't need each other don't have to wait for each other.
func TestParallelMembersStartAndEndTogether(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, DelayEvents: 20 * time.Millisecond})
		_, err := w.Other.AppsV1().StatefulSets("default").Create(w.ctx, statefulSet(5, parallel, statefulImage("bad")), metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(500 * time.Millisecond)
		require.Len(w, w.members(), 5, "no member waits until the previous one is ready")
		require.Len(w, w.claims(), 5)
		w.changeStateful(statefulSize(2))
		time.Sleep(time.Second)
		require.Equal(w, []string{"web-0 bad", "web-1 bad", "web-2 bad ending", "web-3 bad ending", "web-4 bad ending"}, w.members())
		w.changeStateful(statefulSize(4))
		time.Sleep(time.Second)
		require.Len(w, w.members(), 5, "a name is free when its Pod has ended")
		time.Sleep(10 * time.Second)
		require.Equal(w, []string{"web-0 bad", "web-1 bad", "web-2 bad", "web-3 bad"}, w.members())
	})
}

// If the new release is bad, one member has it, and it is the one that matters least.
func TestAStatefulRolloutReplacesTheLastMemberFirstAndWaitsForIt(t *testing.T) {
	for _, policy := range []func(*appsv1.StatefulSet){func(*appsv1.StatefulSet) {}, parallel} {
		inStateful(t, func(w *rolloutWorld) {
			w.addStateful(statefulSet(3, policy))
			w.watch()
			w.changeStateful(statefulImage("v2"))
			for _, want := range [][]string{
				{"web-0 v1", "web-1 v1", "web-2 v1 ending"}, {"web-0 v1", "web-1 v1", "web-2 v2"},
				{"web-0 v1", "web-1 v1 ending", "web-2 v2"}, {"web-0 v1", "web-1 v2", "web-2 v2"},
				{"web-0 v1 ending", "web-1 v2", "web-2 v2"}, {"web-0 v2", "web-1 v2", "web-2 v2"},
			} {
				time.Sleep(500 * time.Millisecond)
				require.Equal(w, want, w.members())
				if strings.Contains(fmt.Sprint(want), "ending") {
					time.Sleep(4600 * time.Millisecond) // 5 s to end, and then 1 s to be ready
				} else {
					time.Sleep(400 * time.Millisecond)
				}
			}
			_, fewest := w.counted(time.Minute)
			require.Equal(w, 2, fewest)
		})
	}
}

// A release that crashes after a minute must not reach the next member within that
// minute.
func TestAMemberThatIsReadyIsNotAvailableYet(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		slow := func(set *appsv1.StatefulSet) { set.Spec.MinReadySeconds = 60 }
		w.addStateful(statefulSet(2, slow))
		require.Len(w, w.members(), 1, "web-0 is ready, but not for long enough")
		w.changeStateful(statefulImage("v2"))
		time.Sleep(10 * time.Second)
		require.Equal(w, []string{"web-0 v1"}, w.members(), "it serves, so it isn't a broken Pod to replace at once")
		time.Sleep(31 * time.Second)
		require.Equal(w, []string{"web-0 v1", "web-1 v2"}, w.members(), "nothing has changed that a watch could show")
		time.Sleep(40 * time.Second)
		require.Equal(w, []string{"web-0 v1", "web-1 v2"}, w.members())
		require.EqualValues(w, 2, w.stateful().Status.ReadyReplicas)
		require.EqualValues(w, 1, w.stateful().Status.AvailableReplicas)
		time.Sleep(2 * time.Minute)
		require.Equal(w, []string{"web-0 v2", "web-1 v2"}, w.members())
		require.EqualValues(w, 2, w.stateful().Status.AvailableReplicas)
	})
}

// The user undoes the bad release, but the set would wait forever for a Pod that can't
// start.
func TestABrokenMemberDoesNotOutliveTheReleaseThatBrokeIt(t *testing.T) {
	for _, policy := range []func(*appsv1.StatefulSet){func(*appsv1.StatefulSet) {}, parallel} {
		inStateful(t, func(w *rolloutWorld) {
			w.addStateful(statefulSet(3, policy))
			w.changeStateful(statefulImage("bad"))
			time.Sleep(time.Hour)
			require.Equal(w, []string{"web-0 v1", "web-1 v1", "web-2 bad"}, w.members(), "the others go on serving")
			w.watch()
			w.changeStateful(statefulImage("v1"))
			_, fewest := w.counted(time.Minute)
			require.Equal(w, []string{"web-0 v1", "web-1 v1", "web-2 v1"}, w.members())
			require.Equal(w, 2, fewest)
			w.changeStateful(statefulImage("bad"))
			time.Sleep(time.Minute)
			w.changeStateful(statefulImage("v2"))
			time.Sleep(time.Minute)
			require.Equal(w, []string{"web-0 v2", "web-1 v2", "web-2 v2"}, w.members(), "going forward, it's the same")
		})
	}
}

// A broken member of the old release would block the very release that repairs it.
func TestARolloutBeginsWithAMemberThatIsBroken(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(3))
		w.unready("web-1")
		w.changeStateful(statefulImage("v2"))
		time.Sleep(2 * time.Second)
		require.Equal(w, []string{"web-0 v1", "web-1 v1 ending", "web-2 v1"}, w.members(), "one that serves has to wait")
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v2", "web-1 v2", "web-2 v2"}, w.members())
		w.unready("web-2")
		time.Sleep(time.Hour)
		require.Equal(w, []string{"web-0 v2", "web-1 v2", "web-2 v2"}, w.members(), "it has the template that it should have, so replacing it wouldn't repair anything")
	})
}

// The user tries the release on the last member, and all others stay as they are, come what may.
func TestBelowThePartitionMembersKeepTheirTemplate(t *testing.T) {
	for _, start := range []int32{0, 5} {
		inStateful(t, func(w *rolloutWorld) {
			w.addStateful(statefulSet(3, func(set *appsv1.StatefulSet) {
				set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: start}
			}))
			name := func(i int32) string { return fmt.Sprint("web-", start+i) }
			w.changeStateful(statefulImage("v2"), partition(2))
			time.Sleep(time.Minute)
			require.Equal(w, []string{name(0) + " v1", name(1) + " v1", name(2) + " v2"}, w.members())
			status := w.stateful().Status
			require.NotEqual(w, status.CurrentRevision, status.UpdateRevision, "the rollout is not over")
			require.EqualValues(w, 2, status.CurrentReplicas)
			require.EqualValues(w, 1, status.UpdatedReplicas)
			w.unready(name(1))
			w.deletePod(w.member(name(0)))
			time.Sleep(time.Minute)
			require.Equal(w, []string{name(0) + " v1", name(1) + " v1", name(2) + " v2"}, w.members(),
				"a member that's created again gets the others' template, and a broken one stays")
			w.world.ready(w.member(name(1)))
			w.changeStateful(partition(0))
			time.Sleep(time.Minute)
			require.Equal(w, []string{name(0) + " v2", name(1) + " v2", name(2) + " v2"}, w.members())
		})
	}
}

// The user wants to say when each member is updated.
func TestOnDeleteLeavesOldMembersUntilTheUserDeletesThem(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2, onDelete))
		w.changeStateful(statefulImage("v2"))
		w.unready("web-1")
		time.Sleep(time.Hour)
		require.Equal(w, []string{"web-0 v1", "web-1 v1"}, w.members())
		w.deletePod(w.member("web-0"))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v2", "web-1 v1"}, w.members())
	})
}

// An evicted member is missing, and its old Pod still has the name.
func TestAMemberThatHasFailedOrEndedIsReplaced(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		for _, policy := range []func(*appsv1.StatefulSet){onDelete, parallel} {
			inStateful(t, func(w *rolloutWorld) {
				w.addStateful(statefulSet(2, policy))
				w.changePodStatus(w.member("web-0"), func(pod *corev1.Pod) { pod.Status.Phase = phase })
				require.EqualValues(w, 1, w.stateful().Status.ReadyReplicas)
				time.Sleep(time.Minute)
				require.Equal(w, map[string]int{"v1": 2}, w.ready())
			})
		}
	}
}

// kubectl rollout status, undo and history read them.
func TestTheStatefulSetsStatusTellsCurrentFromUpdated(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(3))
		first := w.stateful().Status
		require.Equal(w, appsv1.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, CurrentReplicas: 3, UpdatedReplicas: 3,
			CurrentRevision: first.CurrentRevision, UpdateRevision: first.CurrentRevision, CollisionCount: new(int32(0)),
		}, first)
		require.Equal(w, first.CurrentRevision, w.member("web-0").Labels[appsv1.StatefulSetRevisionLabel])
		require.Equal(w, map[string]int64{"v1": 1}, w.revisions())
		w.changeStateful(statefulImage("v2"))
		time.Sleep(2 * time.Second)
		status := w.stateful().Status
		require.Equal(w, first.CurrentRevision, status.CurrentRevision)
		require.NotEqual(w, first.CurrentRevision, status.UpdateRevision)
		require.EqualValues(w, 2, status.CurrentReplicas, "the one that's ending is neither")
		require.EqualValues(w, 3, status.Replicas)
		require.Zero(w, status.UpdatedReplicas)
		time.Sleep(time.Minute)
		status = w.stateful().Status
		require.Equal(w, status.UpdateRevision, status.CurrentRevision, "the rollout is over")
		require.EqualValues(w, 3, status.CurrentReplicas)
		w.Server.ForgetRequests()
		time.Sleep(time.Hour)
		require.Zero(w, w.requestsTo("update", "statefulsets"), "each write wakes the controller")
	})
}

// What members below the partition are created from must not be thrown away.
func TestTheRevisionsOfMembersAreKept(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2, partition(1), func(set *appsv1.StatefulSet) { set.Spec.RevisionHistoryLimit = new(int32(0)) }))
		w.changeStateful(statefulImage("v2"))
		time.Sleep(time.Minute)
		w.changeStateful(statefulImage("v3"))
		time.Sleep(time.Minute)
		w.deletePod(w.member("web-0"))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v1", "web-1 v3"}, w.members())
		require.Equal(w, map[string]int64{"v1": 1, "v3": 3}, w.revisions(), "for a moment, no member had v1")
		w.changeStateful(statefulSize(0))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int64{"v1": 1, "v3": 3}, w.revisions(), "the next member below the partition gets v1")
		w.changeStateful(partition(0))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int64{"v3": 3}, w.revisions(), "with no member and no partition, the new one is the current one")
	})
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2, onDelete, func(set *appsv1.StatefulSet) { set.Spec.RevisionHistoryLimit = new(int32(0)) }))
		w.changeStateful(statefulImage("v2"))
		w.deletePod(w.member("web-1"))
		time.Sleep(time.Minute)
		w.changeStateful(statefulImage("v3"))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v1", "web-1 v2"}, w.members())
		require.Equal(w, map[string]int64{"v1": 1, "v2": 2, "v3": 3}, w.revisions(), "kubectl rollout undo needs the one that a member has")
	})
}

// If a claim is deleted while its Pod waits for it, nobody else creates it again.
func TestAMissingClaimOfAPodThatIsStartingIsCreated(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(1, statefulImage("bad")))
		require.NoError(w, w.Other.CoreV1().PersistentVolumeClaims("default").Delete(w.ctx, "data-web-0", metav1.DeleteOptions{}))
		w.changeStateful(func(set *appsv1.StatefulSet) { set.Annotations = map[string]string{"a": "b"} })
		require.Equal(w, []string{"data-web-0"}, w.claims())
		w.world.ready(w.member("web-0"))
		require.NoError(w, w.Other.CoreV1().PersistentVolumeClaims("default").Delete(w.ctx, "data-web-0", metav1.DeleteOptions{}))
		w.changeStateful(func(set *appsv1.StatefulSet) { set.Annotations = nil })
		require.Empty(w, w.claims(), "a running Pod wouldn't get it")
	})
}

// Otherwise the user loses data, or pays forever for data that they don't want.
func TestTheRetentionPolicySaysWhoTakesAClaimAlong(t *testing.T) {
	for _, c := range []struct{ whenScaled, whenDeleted, kept, condemned string }{
		{"Retain", "Retain", "", ""},
		{"Retain", "Delete", " of StatefulSet web", " of StatefulSet web"},
		{"Delete", "Retain", "", " of Pod web-1"},
		{"Delete", "Delete", " of StatefulSet web", " of Pod web-1"},
	} {
		inStateful(t, func(w *rolloutWorld) {
			w.addStateful(statefulSet(2))
			w.changeStateful(retention(c.whenScaled, c.whenDeleted))
			require.Equal(w, []string{"data-web-0" + c.kept, "data-web-1" + c.kept}, w.claims(), "the policy may change at any time")
			w.changeStateful(statefulSize(1))
			time.Sleep(time.Second)
			require.Equal(w, []string{"data-web-0" + c.kept, "data-web-1" + c.condemned}, w.claims(), "%+v", c)
			w.changeStateful(statefulSize(2))
			require.Equal(w, []string{"data-web-0" + c.kept, "data-web-1" + c.kept}, w.claims(), "the Pod is still ending, and its data is wanted again")
			w.changeStateful(retention("Retain", "Retain"))
			time.Sleep(time.Minute)
			require.Equal(w, []string{"data-web-0", "data-web-1"}, w.claims())
		})
	}
}

// The user scales down and up again, and the new member gets the disk that is about to be deleted.
func TestAMemberWaitsUntilTheClaimOfItsPredecessorIsDeleted(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2, retention("Delete", "Retain")))
		w.changeStateful(statefulSize(1))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"data-web-0", "data-web-1 of Pod web-1"}, w.claims())
		w.changeStateful(statefulSize(2))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v1"}, w.members())
		w.collectClaims()
		time.Sleep(10 * time.Minute)
		require.Equal(w, []string{"web-0 v1", "web-1 v1"}, w.members())
		require.Equal(w, []string{"data-web-0", "data-web-1"}, w.claims())
	})
	inStateful(t, func(w *rolloutWorld) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-0", Finalizers: []string{"example.com/wait"}}}
		_, err := w.Other.CoreV1().PersistentVolumeClaims("default").Create(w.ctx, claim, metav1.CreateOptions{})
		require.NoError(w, err)
		require.NoError(w, w.Other.CoreV1().PersistentVolumeClaims("default").Delete(w.ctx, "data-web-0", metav1.DeleteOptions{}))
		w.addStateful(statefulSet(1))
		require.Empty(w, w.members(), "its disk is being deleted")
	})
}

// A backup that holds a claim keeps it, and a set that had the name before does not.
func TestOtherOwnersOfAClaimAreLeftAlone(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		own := func(kind, name, uid string) *corev1.PersistentVolumeClaim {
			return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true),
			}}}}
		}
		backup, before := own("Backup", "nightly", "backup"), own("StatefulSet", "web", "before")
		backup.Name, before.Name = "data-web-0", "data-web-1"
		for _, claim := range []*corev1.PersistentVolumeClaim{backup, before} {
			_, err := w.Other.CoreV1().PersistentVolumeClaims("default").Create(w.ctx, claim, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		w.addStateful(statefulSet(2, retention("Delete", "Delete")))
		require.Equal(w, []string{"data-web-0 of Backup nightly of StatefulSet web", "data-web-1 of StatefulSet web"}, w.claims())
		require.Equal(w, []string{"web-0 v1"}, w.members(), "web-1's claim will go with the set that had the name before")
	})
}

// An orphan with a member's name is a member. One with another name can't be.
func TestOnlyPodsWithTheNameOfAMemberAreAdopted(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		for _, name := range []string{"web-1", "web-x", "web-01", "web--1", "other-0", "web"} {
			w.stray(name, appWeb, statefulSet(1).Spec.Template.Spec)
		}
		w.addStateful(statefulSet(2, onDelete))
		owned := slices.DeleteFunc(w.live(), func(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil })
		require.Equal(w, []string{"web-0", "web-1"}, names(owned))
		require.Equal(w, "1", w.member("web-1").Labels[appsv1.PodIndexLabel], "a Service selects it by its labels")
		require.Equal(w, "web-1", w.member("web-1").Labels[appsv1.StatefulSetPodNameLabel])
		w.changePod(w.member("web-0"), func(pod *corev1.Pod) { pod.OwnerReferences = nil })
		require.True(w, metav1.IsControlledBy(w.member("web-0"), w.stateful()), "an orphan wakes the set that may adopt it")
	})
}

// There can't be two members with one name, but with a late watch, two could end at the
// same time.
func TestALateWatchDoesNotEndangerTheOrder(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(4))
		w.slowWatch("pods", 700*time.Millisecond)
		w.Server.ForgetRequests()
		w.watch()
		w.changeStateful(statefulImage("v2"))
		for i := range 60 {
			time.Sleep(time.Second)
			w.changeStateful(func(set *appsv1.StatefulSet) { set.Annotations = map[string]string{"change": fmt.Sprint(i)} })
		}
		most, fewest := w.counted(time.Minute)
		require.Equal(w, []int{4, 3}, []int{most, fewest})
		require.Equal(w, map[string]int{"v2": 4}, w.ready())
	})
}

// An error that isn't returned isn't retried.
func TestEachFailureOfAStatefulSetIsReported(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"},
		{Verb: "update", Resource: "pods", Name: "web-0"}, {Verb: "patch", Resource: "pods"},
		{Verb: "create", Resource: "persistentvolumeclaims"}, {Verb: "update", Resource: "persistentvolumeclaims"},
		{Verb: "create", Resource: "controllerrevisions"}, {Verb: "delete", Resource: "controllerrevisions"},
		{Verb: "update", Resource: "statefulsets", Subresource: "status"},
	} {
		inStateful(t, func(w *rolloutWorld) {
			w.stray("web-0", appWeb, statefulSet(1).Spec.Template.Spec)
			time.Sleep(2 * time.Second) // it is ready
			lift := w.Server.Inject(fakeapi.Fault{Match: match, Status: fakeapi.Forbidden()})
			w.addStateful(statefulSet(2, retention("Retain", "Delete"), func(set *appsv1.StatefulSet) {
				set.Spec.RevisionHistoryLimit = new(int32(0))
			}))
			for _, image := range []string{"v2", "v3"} {
				w.changeStateful(statefulImage(image), retention("Delete", "Retain"))
				time.Sleep(time.Hour)
			}
			sets := &mini.StatefulSets{Client: w.Manager.Client}
			synctest.Wait()
			_, err := sets.Reconcile(w.ctx, web)
			require.Error(w, err, "%s of %s was refused", match.Verb, match.Resource)
			lift()
			time.Sleep(2 * time.Hour)
			require.Equal(w, []string{"web-0 v3", "web-1 v3"}, w.members())
			require.Equal(w, w.stateful().Generation, w.stateful().Status.ObservedGeneration)
		})
	}
}

// The garbage collector deletes Pods: new ones would never end.
func TestAStatefulSetThatIsBeingDeletedIsLeftToTheGarbageCollector(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2, func(set *appsv1.StatefulSet) { set.Finalizers = []string{"example.com/wait"} }))
		require.NoError(w, w.Other.AppsV1().StatefulSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		w.deletePod(w.member("web-0"))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-1 v1"}, w.members())
		w.changeStateful(func(set *appsv1.StatefulSet) { set.Finalizers = nil })
		sets := &mini.StatefulSets{Client: w.Manager.Client}
		synctest.Wait()
		_, err := sets.Reconcile(w.ctx, web)
		require.NoError(w, err, "a deleted StatefulSet is the normal end, not a failure")
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error would say so.
func TestTheStatefulSetControllerNeedsAllItsKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		w.needsAll(mini.NewStatefulSetController,
			&appsv1.StatefulSet{}, &appsv1.ControllerRevision{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{})
	})
}

// One set whose Pods are created slowly must not keep the others waiting.
func TestFiveStatefulSetsAreReconciledAtTheSameTime(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Delay: time.Second})
		for i := range 7 {
			set := statefulSet(1)
			set.Name = fmt.Sprint("db-", i)
			_, err := w.Other.AppsV1().StatefulSets("default").Create(w.ctx, set, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		time.Sleep(1500 * time.Millisecond)
		require.Len(w, w.members(), 5, "each of five workers creates one in a second")
	})
}

// The user tries a release on the last members, and then stops all of them for a night.
func TestAStatefulSetWithoutMembersRemembersItsPartition(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(4))
		w.changeStateful(statefulImage("v2"), partition(2))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v1", "web-1 v1", "web-2 v2", "web-3 v2"}, w.members())
		w.changeStateful(statefulSize(0))
		time.Sleep(time.Hour)
		require.Empty(w, w.members())
		w.changeStateful(statefulSize(2))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v1", "web-1 v1"}, w.members(), "the release that should be tried on two members is on all")
		w.changeStateful(statefulSize(3))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v1", "web-1 v1", "web-2 v2"}, w.members())
		w.changeStateful(partition(0))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"web-0 v2", "web-1 v2", "web-2 v2"}, w.members())
	})
}

// kubectl rollout status waits until both revisions are the same.
func TestARolloutOfAStatefulSetWithoutMembersAndPartitionIsOver(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(0))
		w.changeStateful(statefulImage("v2"))
		time.Sleep(time.Minute)
		status := w.stateful().Status
		require.Equal(w, status.UpdateRevision, status.CurrentRevision)
	})
}

// A restart of a database is an outage, and the twin changes nothing about its template.
func TestMembersOfATwinRevisionAreRelabelledAndNotRestarted(t *testing.T) {
	inStateful(t, func(w *rolloutWorld) {
		w.addStateful(statefulSet(2))
		uids := []types.UID{w.member("web-0").UID, w.member("web-1").UID}
		w.twin("v1", 7)
		time.Sleep(time.Minute)
		require.Equal(w, uids, []types.UID{w.member("web-0").UID, w.member("web-1").UID})
		require.Equal(w, "twin", w.member("web-0").Labels[revisionLabel])
		require.Equal(w, map[string]int64{"v1": 7}, w.revisions(), "kubectl rollout history shows each template once")
		status := w.stateful().Status
		require.Equal(w, []string{"twin", "twin"}, []string{status.CurrentRevision, status.UpdateRevision})
		require.EqualValues(w, 2, status.UpdatedReplicas)
	})
}

// Two members with one name would write to one disk.
func TestAMemberWhoseAnswerWasLostExistsOnce(t *testing.T) {
	for _, policy := range []func(*appsv1.StatefulSet){func(*appsv1.StatefulSet) {}, parallel} {
		inStateful(t, func(w *rolloutWorld) {
			w.slowWatch("pods", time.Second)
			w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Times: 3, LoseResponse: true})
			w.watch()
			w.addStateful(statefulSet(3, policy))
			most, _ := w.counted(10 * time.Minute)
			require.Equal(w, []string{"web-0 v1", "web-1 v1", "web-2 v1"}, w.members())
			require.Equal(w, 3, most, "no Pod was created twice")
		})
	}
}
