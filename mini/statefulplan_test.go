package mini

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statefulNow is when these tests take place.
var statefulNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// memberPod is a Pod with this name. The words say what it is like: "new" or "old" is its
// template, and it may be "ready", "young" (for 10 s and not for an hour), "ending" or
// "failed".
func memberPod(name, words string) *corev1.Pod {
	has := func(word string) bool { return slices.Contains(strings.Fields(words), word) }
	template := "db-v2"
	if has("old") {
		template = "db-v1"
	}
	age := time.Hour
	if has("young") {
		age = 10 * time.Second
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: template},
	}}
	pod.Status.Phase = corev1.PodRunning
	if has("ready") {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(statefulNow.Add(-age)),
		}}
	}
	if has("ending") {
		pod.DeletionTimestamp = &metav1.Time{Time: statefulNow}
	}
	if has("failed") {
		pod.Status.Phase = corev1.PodFailed
	}
	return pod
}

func plannedSet(replicas int32, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}}
	set.Spec.Replicas = &replicas
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	for _, change := range changes {
		change(set)
	}
	return set
}

func inParallelOrder(set *appsv1.StatefulSet) {
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
}

func whenDeleted(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
}

func partitioned(n int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate =
			&appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
	}
}

func startingAt(ordinal int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: ordinal}
	}
}

func templateNamed(name string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// sortedMembers is how newStateful sorts Pods with these names, in words.
func sortedMembers(set *appsv1.StatefulSet, names ...string) string {
	var pods []*corev1.Pod
	for _, name := range names {
		pods = append(pods, memberPod(name, "new ready"))
	}
	s := newStateful(set, history{update: templateNamed("db-v2")}, pods, statefulNow)
	show := func(pods []*corev1.Pod) string {
		words := []string{}
		for _, pod := range pods {
			if pod == nil {
				words = append(words, "none")
			} else {
				words = append(words, pod.Name)
			}
		}
		return fmt.Sprint(words)
	}
	return show(s.replicas) + ", condemned " + show(s.condemned)
}

// The cache lists Pods by their names, and some of them are missing. A member that is
// taken for another one gets the other one's disk.
//
// Function: newStateful
func TestEachPodHasThePlaceOfItsOrdinal(t *testing.T) {
	require.Equal(t, "[db-0 db-1 db-2], condemned []", sortedMembers(plannedSet(3), "db-0", "db-1", "db-2"))
	require.Equal(t, "[none db-1 none], condemned []", sortedMembers(plannedSet(3), "db-1"))
	require.Equal(t, "[db-0 none db-2], condemned []", sortedMembers(plannedSet(3), "db-2", "db-0"))
	require.Equal(t, "[db-5 none], condemned []", sortedMembers(plannedSet(2, startingAt(5)), "db-5"),
		"the ordinals begin at 5")
}

// The last one came last, so none of the others began with its data.
//
// Function: newStateful
func TestPodsBeyondTheSizeAreCondemnedTheLastOneFirst(t *testing.T) {
	require.Equal(t, "[db-0], condemned [db-2 db-1]", sortedMembers(plannedSet(1), "db-0", "db-1", "db-2"))
	require.Equal(t, "[], condemned [db-10 db-9 db-2]", sortedMembers(plannedSet(0), "db-10", "db-2", "db-9"),
		"10 comes after 9")
	require.Equal(t, "[none db-2], condemned [db-3 db-0]",
		sortedMembers(plannedSet(2, startingAt(1)), "db-0", "db-2", "db-3"), "the ordinals begin at 1")
}

// With the wrong one, a Pod below the partition would get the release that's being tried.
//
// Function: newStateful
func TestTheCurrentRevisionIsTheOneThatTheStatusNames(t *testing.T) {
	first, second := templateNamed("db-v0"), templateNamed("db-v1")
	revisions := history{
		update: templateNamed("db-v2"), old: []*appsv1.ControllerRevision{first, second},
	}
	set := plannedSet(1)
	set.Status.CurrentRevision = "db-v1"
	s := newStateful(set, revisions, nil, statefulNow)
	require.Equal(t, "db-v1", s.current.Name)
	require.Equal(t, "db-v2", s.update.Name)
	require.Equal(t, []*appsv1.ControllerRevision{first}, s.old, "neither of the two")
	set.Status.CurrentRevision = ""
	s = newStateful(set, revisions, nil, statefulNow)
	require.Equal(t, "db-v2", s.current.Name, "a new set has one revision for both")
	require.Len(t, s.old, 2)
}

// setCase is what decide is to do: with these members, and those that are condemned.
type setCase struct {
	members   []string // from db-0 on; "" is none
	condemned []string // from the last ordinal down
	want      []string
}

// expectDecide checks what decide says.
func expectDecide(t *testing.T, set *appsv1.StatefulSet, cases ...setCase) {
	t.Helper()
	for _, c := range cases {
		s := &stateful{
			set: set, now: statefulNow,
			current: templateNamed("db-v1"), update: templateNamed("db-v2"),
		}
		for i, words := range c.members {
			var pod *corev1.Pod
			if words != "" {
				pod = memberPod(nameWith("db", i), words)
			}
			s.replicas = append(s.replicas, pod)
		}
		for i, words := range c.condemned {
			s.condemned = append(s.condemned,
				memberPod(nameWith("db", len(c.members)+len(c.condemned)-1-i), words))
		}
		plan := s.decide()
		var got []string
		for _, i := range plan.create {
			got = append(got, fmt.Sprint("create db-", i))
		}
		for _, pod := range plan.remove {
			got = append(got, "remove "+pod.Name)
		}
		require.Equal(t, c.want, got, "members %q (\"\": none), condemned %q, %s, partition %d",
			c.members, c.condemned, set.Spec.PodManagementPolicy,
			(&stateful{set: set}).partition())
	}
}

// The second member asks the first one for its data. Without it, it begins with none.
//
// Function: stateful.decide
func TestAMemberIsCreatedWhenAllBeforeItAreAvailable(t *testing.T) {
	expectDecide(t, plannedSet(2),
		setCase{members: []string{"", ""}, want: []string{"create db-0"}},
		setCase{members: []string{"new ready", ""}, want: []string{"create db-1"}},
		setCase{members: []string{"new", ""}},
		setCase{members: []string{"", "new ready"}, want: []string{"create db-0"}},
		setCase{members: []string{"new ready", "new ready"}})
}

// Two Pods with one name would write to one disk. And one that has failed never serves.
//
// Function: stateful.decide
func TestAPodThatIsEndingKeepsItsNameAndOneThatHasFailedIsReplaced(t *testing.T) {
	expectDecide(t, plannedSet(2),
		setCase{members: []string{"new ready ending", ""}},
		setCase{members: []string{"old ending", "new ready"}},
		setCase{members: []string{"new failed", ""}, want: []string{"remove db-0"}},
		setCase{members: []string{"new ready", "new failed ready"}, want: []string{"remove db-1"}})
}

// A Pod that has failed and was deleted waits for a finalizer. Deleting it again costs a request, and changes nothing.
//
// Function: stateful.decide
func TestAPodThatHasFailedAndIsEndingIsNotDeletedAgain(t *testing.T) {
	expectDecide(t, plannedSet(2), setCase{members: []string{"new failed ending", "new ready"}})
	expectDecide(t, plannedSet(2, inParallelOrder), setCase{members: []string{"new failed ending", "new ready"}})
}

// Each member that leaves hands its data to the others, and these have to be there.
//
// Function: stateful.decide
func TestASetShrinksByOneMemberAtATimeAndOnlyIfAllOthersAreAvailable(t *testing.T) {
	expectDecide(t, plannedSet(1),
		setCase{[]string{"new ready"}, []string{"new ready", "new ready"}, []string{"remove db-2"}},
		setCase{[]string{"new ready"}, []string{"new ready ending", "new ready"}, nil},
		setCase{[]string{"new"}, []string{"new ready"}, nil},
		setCase{[]string{"old ready"}, []string{"old ready"}, []string{"remove db-1"}})
}

// If a release is broken, only one member should get it, while the others go on serving.
//
// Function: stateful.decide
func TestAnUpdateReplacesTheLastMemberFirstAndWaitsForEach(t *testing.T) {
	expectDecide(t, plannedSet(3),
		setCase{members: []string{"old ready", "old ready", "old ready"}, want: []string{"remove db-2"}},
		setCase{members: []string{"old ready", "old ready", ""}, want: []string{"create db-2"}},
		setCase{members: []string{"old ready", "old ready", "new"}},
		setCase{members: []string{"old ready", "old ready", "new ready"}, want: []string{"remove db-1"}},
		setCase{members: []string{"new ready", "old ready", "new ready"}, want: []string{"remove db-1"}})
}

// The user has undone a bad release. A controller that waited for its broken Pod would
// wait forever.
func TestABrokenMemberOfAnotherReleaseIsNotWaitedFor(t *testing.T) {
	expectDecide(t, plannedSet(3),
		setCase{members: []string{"new ready", "new ready", "old"}, want: []string{"remove db-2"}},
		setCase{members: []string{"old", "new ready", "new ready"}, want: []string{"remove db-0"}},
		// The next Pod would be no better, and this one may be copying a terabyte.
		setCase{members: []string{"old ready", "old ready", "new"}})
}

// It serves its users. It isn't broken.
//
// Function: stateful.decide
func TestAMemberThatHasJustBecomeReadyIsWaitedForAndNotReplaced(t *testing.T) {
	set := plannedSet(2)
	set.Spec.MinReadySeconds = 60
	expectDecide(t, set,
		setCase{members: []string{"new ready", "old ready young"}},
		setCase{members: []string{"new ready young", ""}},
		setCase{members: []string{"new ready", "old ready"}, want: []string{"remove db-1"}})
}

// Their members don't wait for each other, so the user wants them all at once. A rollout
// still replaces one at a time, so that a broken release reaches only one.
// Function: stateful.decide
func TestInParallelMembersComeAndGoTogether(t *testing.T) {
	expectDecide(t, plannedSet(3, inParallelOrder),
		setCase{members: []string{"", "", ""}, want: []string{"create db-0", "create db-1", "create db-2"}},
		setCase{members: []string{"new", "", "new ready ending"}, want: []string{"create db-1"}},
		setCase{[]string{"new"}, []string{"new ready", "new ready"}, []string{"remove db-2", "remove db-1"}},
		setCase{members: []string{"old ready", "old ready"}, want: []string{"remove db-1"}},
		setCase{members: []string{"old ready", "new"}},
		setCase{members: []string{"old", "old"}, want: []string{"remove db-0", "remove db-1"}})
}

// A user tries the release on the last members first.
//
// Function: stateful.outdated
func TestBelowThePartitionNoMemberIsOutdated(t *testing.T) {
	expectDecide(t, plannedSet(3, partitioned(2)),
		setCase{members: []string{"old ready", "old ready", "old ready"}, want: []string{"remove db-2"}},
		setCase{members: []string{"old ready", "old ready", "new ready"}},
		setCase{members: []string{"old ready", "old", "new ready"}}) // its template is the right one
}

// The user wants to say when each of them restarts.
//
// Function: stateful.outdated
func TestWithOnDeleteTheUserReplacesMembers(t *testing.T) {
	expectDecide(t, plannedSet(2, whenDeleted),
		setCase{members: []string{"old ready", "old ready"}},
		setCase{members: []string{"old", "old ready"}})
}

// When it's over, the new revision becomes the current one. If that's too early, members
// below the partition get a release that's only being tried.
// Function: stateful.isRolloutOver
func TestARolloutIsOverWhenAllMembersHaveTheNewTemplateAndAreReady(t *testing.T) {
	for _, c := range []struct {
		name                  string
		set                   *appsv1.StatefulSet
		there, updated, ready int32
		want                  bool
	}{
		{"all of three", plannedSet(3), 3, 3, 3, true},
		{"one has the old template", plannedSet(3), 3, 2, 3, false},
		{"one is not ready", plannedSet(3), 3, 3, 2, false},
		{"a fourth one is about to go", plannedSet(3), 4, 3, 3, false},
		{"one is missing", plannedSet(3), 2, 2, 2, false},
		{"with OnDelete", plannedSet(3, whenDeleted), 3, 3, 3, false},
		{"a partition, and all have the new template", plannedSet(3, partitioned(1)), 3, 3, 3, true},
		{"there's no member", plannedSet(0), 0, 0, 0, true},
		{"there's no member, and a partition", plannedSet(0, partitioned(2)), 0, 0, 0, false},
	} {
		s := &stateful{set: c.set}
		require.Equal(t, c.want, s.isRolloutOver(appsv1.StatefulSetStatus{
			Replicas: c.there, UpdatedReplicas: c.updated, ReadyReplicas: c.ready,
		}), "%s: is the rollout over?", c.name)
	}
}
