package deployment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestTheAnnotationsOfTheNewReplicaSet(t *testing.T) {
	d := newWeb(3, func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"note": "new", corev1.LastAppliedConfigAnnotation: "{}", revisionAnnotation: "9", appsv1.DeprecatedRollbackTo: "1"}
	})
	for _, c := range []struct {
		name      string
		has, want map[string]string
	}{
		{"a new one", nil, map[string]string{"note": "new", revisionAnnotation: "4"}},
		{"one that was adopted", map[string]string{"own": "x"}, map[string]string{"own": "x", "note": "new", revisionAnnotation: "4"}},
		{"an old one", map[string]string{"note": "old", revisionAnnotation: "2"}, map[string]string{"note": "new", revisionAnnotation: "4", historyAnnotation: "2"}},
		{"one that comes back again", map[string]string{revisionAnnotation: "3", historyAnnotation: "1"}, map[string]string{"note": "new", revisionAnnotation: "4", historyAnnotation: "1,3"}},
		{"the newest, after a higher one was cleaned up", map[string]string{revisionAnnotation: "7"}, map[string]string{"note": "new", revisionAnnotation: "7"}},
		{"somebody has written nonsense", map[string]string{revisionAnnotation: "x"}, map[string]string{"note": "new", revisionAnnotation: "x"}},
	} {
		before := fmt.Sprint(c.has)
		require.Equal(t, c.want, annotationsFor(d, c.has, 4), c.name)
		require.Equal(t, before, fmt.Sprint(c.has), "the ReplicaSet may be a cache's")
	}
}

// An annotation that grows without end makes an object that the server refuses.
func TestTheListOfRevisionsIsLimited(t *testing.T) {
	list := ""
	for i := range 3000 {
		list = withRevision(list, fmt.Sprint(i))
		require.LessOrEqual(t, len(list), historyLimit)
	}
	require.True(t, strings.HasSuffix(list, ",2998,2999"))
	require.Greater(t, len(list), historyLimit-10)
}

func TestAWriteNamesWhatItChanges(t *testing.T) {
	before := &appsv1.ReplicaSet{}
	before.UID, before.Generation, before.ResourceVersion = "u", 3, "77"
	before.Spec.Replicas = new(int32(2))
	after := before.DeepCopy()
	require.Empty(t, difference(before, after))
	after.Annotations = map[string]string{"a/b~c": "1"}
	require.Equal(t, []operation{{"add", "/metadata/annotations", after.Annotations}}, difference(before, after))
	require.Contains(t, stillIs(before), operation{"test", "/metadata/resourceVersion", "77"}, "nothing that others have written meanwhile may get lost")
	before.Annotations = map[string]string{"x": "y"}
	require.Equal(t, []operation{{"add", "/metadata/annotations/a~1b~0c", "1"}}, difference(before, after))
	require.NotContains(t, fmt.Sprint(stillIs(before)), "resourceVersion", "the status is written all the time")
	after.Spec.Replicas, after.Spec.MinReadySeconds = new(int32(5)), 9
	require.Equal(t, []operation{{"add", "/spec/replicas", int32(5)}, {"add", "/spec/minReadySeconds", int32(9)}}, difference(before, after)[:2])
}

func TestTheLastRevision(t *testing.T) {
	of := func(revisions ...string) (sets []*appsv1.ReplicaSet) {
		for _, r := range revisions {
			rs := &appsv1.ReplicaSet{}
			rs.Annotations = map[string]string{revisionAnnotation: r}
			sets = append(sets, rs)
		}
		return sets
	}
	require.Equal(t, int64(4), lastRevision(of("1", "7", "4")))
	require.Zero(t, lastRevision(of("7")))
	require.Zero(t, lastRevision(nil))
}

// Written in another order, there would be more Pods than are allowed in between.
func TestThoseThatShrinkComeFirst(t *testing.T) {
	of := func(name string, size int32, whole string) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{}
		rs.Name, rs.Spec.Replicas, rs.Annotations = name, &size, map[string]string{desiredAnnotation: "1", maxAnnotation: whole}
		return rs
	}
	f := &family{d: newWeb(20, limit("0", "1")), oldSets: []*appsv1.ReplicaSet{of("a", 4, "5"), of("b", 12, "40")}, newSet: of("c", 2, "5")}
	var order []string
	for _, one := range f.scaledSizes() {
		order = append(order, fmt.Sprintf("%s from %d to %d", one.rs.Name, *one.rs.Spec.Replicas, one.to))
	}
	require.Equal(t, []string{"b from 12 to 6", "c from 2 to 2", "a from 4 to 12"}, order)
}
