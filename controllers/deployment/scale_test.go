package deployment

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sized is a ReplicaSet of this size, all of whose Pods are available. desired and whole are the
// values of its annotations.
func sized(
	name string, size int32, desired, whole string, changes ...func(*appsv1.ReplicaSet),
) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	rs.Name, rs.UID, rs.Spec.Replicas, rs.Annotations = name, types.UID(name), &size,
		map[string]string{desiredAnnotation: desired, maxAnnotation: whole}
	rs.Status = appsv1.ReplicaSetStatus{
		Replicas: size, ReadyReplicas: size, AvailableReplicas: size,
	}
	for _, change := range changes {
		change(rs)
	}
	return rs
}

// available sets how many Pods of a ReplicaSet are available.
func available(n int32) func(*appsv1.ReplicaSet) {
	return func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = n }
}

// resizes returns the new sizes as text, in their order.
func resizes(r *rollout) (lines []string) {
	for _, one := range r.scaledSizes() {
		lines = append(lines, fmt.Sprintf("%s from %d to %d", one.rs.Name, *one.rs.Spec.Replicas,
			one.to))
	}
	return lines
}

// A user scales or pauses a Deployment. A rollout that has begun must neither go on nor be undone
// by that.
func TestTheReplicaSetsOfAScaledDeployment(t *testing.T) {
	old, older := sized("old", 0, "9", "9"), sized("older", 0, "9", "9")
	for _, c := range []struct {
		name  string
		d     *appsv1.Deployment
		newRS *appsv1.ReplicaSet
		old   []*appsv1.ReplicaSet
		want  []string
	}{
		{
			"the only one that has Pods", newWeb(7, limit("1", "0")), sized("new", 0, "5", "6"),
			[]*appsv1.ReplicaSet{older, sized("a", 5, "5", "6")}, []string{"a from 5 to 7"},
		},
		{
			"none has Pods", newWeb(7, limit("1", "0")), sized("new", 0, "0", "0"),
			[]*appsv1.ReplicaSet{older, old}, []string{"new from 0 to 7"},
		},
		{
			"none has Pods, and there is no new one", newWeb(7, limit("1", "0")), nil,
			[]*appsv1.ReplicaSet{older, old}, []string{"old from 0 to 7"},
		},
		{"there is none at all", newWeb(7, limit("1", "0")), nil, nil, nil},
		{"the new one has what is desired, and all serve: the others are left over",
			newWeb(5, limit("1", "0")),
			sized("new", 5, "5", "6"), []*appsv1.ReplicaSet{sized("a", 2, "", ""), old},
			[]string{"a from 2 to 0"}},
		{"the new one has what is desired, and one does not serve", newWeb(5, limit("1", "0")),
			sized("new", 5, "5", "6", available(4)), []*appsv1.ReplicaSet{sized("a", 1, "5", "6")},
			[]string{"a from 1 to 1", "new from 5 to 5"}},
		{"the new one has as many by chance, for it got them when another number was desired",
			newWeb(5, limit("1", "0")),
			sized("new", 5, "9", "10"), []*appsv1.ReplicaSet{sized("a", 5, "9", "10")},
			[]string{"a from 5 to 3", "new from 5 to 3"}},
		{"the new one has as many, and nobody knows why",
			newWeb(5, limit("1", "0"), func(d *appsv1.Deployment) {
				d.Status.Replicas = 10
			}),
			sized("new", 5, "", ""), []*appsv1.ReplicaSet{sized("a", 5, "", "")},
			[]string{"a from 5 to 3", "new from 5 to 3"}},
		{"there is no new one: the old ones share", newWeb(4, limit("0", "1")), nil,
			[]*appsv1.ReplicaSet{sized("a", 4, "8", "8"), sized("b", 4, "8", "8")},
			[]string{"a from 4 to 2", "b from 4 to 2"}},
		{"nothing is desired, and so there is no surge", newWeb(0, limit("3", "1")),
			sized("new", 2, "4", "7"), []*appsv1.ReplicaSet{sized("a", 4, "4", "7")},
			[]string{"a from 4 to 0", "new from 2 to 0"}},
		{
			"Recreate knows no shares", newWeb(4, recreate), sized("new", 1, "2", "2"),
			[]*appsv1.ReplicaSet{sized("a", 1, "2", "2")}, nil,
		},
	} {
		require.Equal(t, c.want, resizes(&rollout{d: c.d, newRS: c.newRS, oldRSs: c.old}), c.name)
	}
}

// A controller that mistook a rollout for scaling would never roll out; one that mistook scaling
// for a rollout would lose the proportions.
func TestADeploymentIsScaledIfItAskedForAnotherNumberBefore(t *testing.T) {
	for _, c := range []struct {
		name string
		old  *appsv1.ReplicaSet
		want bool
	}{
		{"it asked for the same", sized("a", 3, "5", "6"), false},
		{"it asked for less", sized("a", 3, "4", "6"), true},
		{"it asked for none", sized("a", 3, "0", "0"), true},
		{"nobody knows", sized("a", 3, "", "6"), false},
		{"it has no Pods any more", sized("a", 0, "4", "6"), false},
	} {
		f := &rollout{
			d: newWeb(5), newRS: sized("new", 5, "5", "6"), oldRSs: []*appsv1.ReplicaSet{c.old},
		}
		require.Equal(t, c.want, f.isScaled(), c.name)
	}
	require.True(t, (&rollout{d: newWeb(5), newRS: sized("new", 4, "4", "6")}).isScaled())
	require.False(t, (&rollout{d: newWeb(5)}).isScaled())
}

// In another order, there would be more Pods than are allowed in between.
func TestThoseThatShrinkComeFirst(t *testing.T) {
	f := &rollout{
		d:      newWeb(20, limit("0", "1"), pause(true)),
		oldRSs: []*appsv1.ReplicaSet{sized("a", 4, "1", "5"), sized("b", 12, "1", "40")},
		newRS:  sized("c", 2, "1", "5"),
	}
	require.Equal(t, []string{"b from 12 to 6", "c from 2 to 2", "a from 4 to 12"}, resizes(f))
}

// Three Pods serve, and the new ReplicaSet's don't get ready. With room for eight, the old ReplicaSet's
// share is six; but roll would take one of the three new Pods away at once, as none of them serves yet.
// By then its ReplicaSet may have made it, and by the time that it's deleted it may serve.
func TestAReplicaSetDoesNotGrowByPodsThatTheRolloutTakesAwayAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		d    *appsv1.Deployment
		new  *appsv1.ReplicaSet
		want []string
	}{
		{"in the middle of a rollout", newWeb(6, limit("2", "1")),
			sized("new", 1, "3", "4", available(0)), []string{"new from 1 to 2", "old from 3 to 5"}},
		{"scaled with a new template, whose ReplicaSet may be refused", newWeb(6, limit("2", "1")), nil,
			[]string{"old from 3 to 6"}},
		{"some shrink", newWeb(9, limit("50%", "25%")), sized("new", 4, "12", "18"),
			[]string{"new from 4 to 3", "old from 3 to 11"}},
		{"scaled while paused, when nothing rolls", newWeb(6, limit("2", "1"), pause(true)),
			sized("new", 1, "3", "4", available(0)), []string{"new from 1 to 2", "old from 3 to 6"}},
		{"before a rollback, which rolls to another template",
			newWeb(6, limit("2", "1"), func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{appsv1.DeprecatedRollbackTo: "1"}
			}),
			sized("new", 1, "3", "4", available(0)), []string{"new from 1 to 2", "old from 3 to 6"}},
		{"all may be missing: roll takes away what was there before, and not scaling",
			newWeb(6, limit("2", "6")), sized("new", 1, "3", "4", available(0)),
			[]string{"old from 3 to 3", "new from 1 to 2"}},
		{"none may be missing", newWeb(6, limit("2", "0")),
			sized("new", 1, "3", "4", available(0)), []string{"new from 1 to 2", "old from 3 to 6"}},
		{"Recreate takes all old ones away", newWeb(6, recreate), nil, nil},
		{"Recreate, paused", newWeb(6, recreate, pause(true)), nil, []string{"old from 3 to 6"}},
	} {
		r := &rollout{d: c.d, newRS: c.new, oldRSs: []*appsv1.ReplicaSet{sized("old", 3, "3", "4")}}
		require.Equal(t, c.want, resizes(r), c.name)
	}
}

// made is a ReplicaSet with this image, created this many hours after noon.
func made(name string, hour int, image string) *appsv1.ReplicaSet {
	rs := sized(name, 1, "1", "1")
	rs.Spec.Template, rs.CreationTimestamp = template(image),
		metav1.NewTime(noon.Add(time.Duration(hour)*time.Hour))
	return rs
}

// After an update of Kubernetes, a second ReplicaSet may have the same template. If the choice
// between the two changed, each would take the other's Pods away.
func TestTheOldestReplicaSetWithTheTemplateIsTheNewOne(t *testing.T) {
	sets := []*appsv1.ReplicaSet{
		made("d", 3, "web:1"), made("c", 2, "web:1"), made("b", 2, "web:1"), made("x", 4, "web:0"),
		made("a", 1, "web:0"),
	}
	f := newRollout(newWeb(1), sets)
	names := func(sets []*appsv1.ReplicaSet) (names []string) {
		for _, rs := range sets {
			names = append(names, rs.Name)
		}
		return names
	}
	require.Equal(t, []string{"d", "c", "b", "x", "a"}, names(sets),
		"the caller's list must stay as it is")
	require.Equal(t, "b", f.newRS.Name, "of the same second, the first by name")
	require.Equal(t, []string{"a", "c", "d", "x"}, names(f.oldRSs))
	require.Equal(t, []string{"a", "c", "d", "x", "b"}, names(f.all()))
	f.oldRSs[1].Spec.Replicas = new(int32(0))
	require.Equal(t, []string{"a", "b", "d", "x"}, names(f.active()),
		"by age, and not the new one last")
	require.Equal(t, []string{"a", "c", "d", "x"}, names(f.oldRSs))

	for _, rs := range []*appsv1.ReplicaSet{sized("b", 5, "", ""), sized("d", 7, "", ""),
		sized("stranger", 9, "", "")} {
		f.replace(rs)
	}
	newRS, oldRSs := f.sizes()
	require.Equal(t, size{wanted: 5, available: 5}, newRS)
	require.Equal(t, []size{{1, 1}, {0, 1}, {7, 7}, {1, 1}}, oldRSs)

	f = &rollout{d: newWeb(1), oldRSs: []*appsv1.ReplicaSet{made("a", 1, "web:0")}}
	f.replace(sized("a", 4, "", ""))
	newRS, oldRSs = f.sizes()
	require.Zero(t, newRS, "one that is not there has no Pods")
	require.Equal(t, []size{{4, 4}}, oldRSs)
}
