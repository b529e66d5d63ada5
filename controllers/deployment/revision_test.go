package deployment

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheAnnotationsOfTheNewReplicaSet(t *testing.T) {
	d := newWeb(3, func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{
			"note": "new", corev1.LastAppliedConfigAnnotation: "{}", revisionAnnotation: "9",
			appsv1.DeprecatedRollbackTo: "1",
		}
	})
	for _, c := range []struct {
		name      string
		has, want map[string]string
	}{
		{"a new one", nil, map[string]string{"note": "new", revisionAnnotation: "4"}},
		{
			"one that was adopted", map[string]string{"own": "x"},
			map[string]string{"own": "x", "note": "new", revisionAnnotation: "4"},
		},
		{
			"an old one", map[string]string{"note": "old", revisionAnnotation: "2"},
			map[string]string{"note": "new", revisionAnnotation: "4", historyAnnotation: "2"},
		},
		{
			"one that comes back again",
			map[string]string{revisionAnnotation: "3", historyAnnotation: "1"},
			map[string]string{"note": "new", revisionAnnotation: "4", historyAnnotation: "1,3"},
		},
		{
			"the one that has the revision",
			map[string]string{revisionAnnotation: "4", historyAnnotation: "1"},
			map[string]string{"note": "new", revisionAnnotation: "4", historyAnnotation: "1"},
		},
		{
			"the newest, after a higher one was cleaned up",
			map[string]string{revisionAnnotation: "7"},
			map[string]string{"note": "new", revisionAnnotation: "7"},
		},
		{
			"somebody has written nonsense", map[string]string{revisionAnnotation: "x"},
			map[string]string{"note": "new", revisionAnnotation: "x"},
		},
	} {
		before := fmt.Sprint(c.has)
		require.Equal(t, c.want, annotationsFor(d, c.has, 4), c.name)
		require.Equal(t, before, fmt.Sprint(c.has), "the ReplicaSet may be a cache's")
	}
	ten := map[string]string{revisionAnnotation: "10"}
	require.Equal(t, map[string]string{"note": "new", revisionAnnotation: "11",
		historyAnnotation: "10"}, annotationsFor(d, ten, 11))
	require.Equal(t, map[string]string{"note": "new", revisionAnnotation: "10"},
		annotationsFor(d, ten, 10))
}

// The API server refuses an object whose annotations have grown too large.
func TestTheListOfRevisionsIsLimited(t *testing.T) {
	list := ""
	for i := range 3000 {
		list = withRevision(list, fmt.Sprint(i))
		require.LessOrEqual(t, len(list), historyLimit)
	}
	require.True(t, strings.HasSuffix(list, ",2998,2999"))
	require.Greater(t, len(list), historyLimit-10)

	full := strings.Repeat("7,", historyLimit/2-1) + "88" // as long as it may be
	require.Equal(t, full, withRevision(full[:historyLimit-3], "88"))
	require.Equal(t, full[2:]+",5", withRevision(full, "5"), "one goes, because one comes")
}

// Another program may have written anything into an annotation.
func TestANumberInAnAnnotationIsOneThatAReplicaSetCanHave(t *testing.T) {
	for _, want := range []int32{0, 7, math.MaxInt32} {
		n, ok := numberIn(withRevisions(fmt.Sprint(want))[0], revisionAnnotation)
		require.True(t, ok)
		require.Equal(t, want, n)
	}
	for _, text := range []string{"", "-1", "2147483648", "many"} {
		_, ok := numberIn(withRevisions(text)[0], revisionAnnotation)
		require.False(t, ok, text)
	}
	require.Equal(t, int64(10), highestRevision(withRevisions("10", "99999999999999999999", "9")),
		"what is no number is no revision")
	require.Zero(t, revisionOf(withRevisions("many")[0]))
}

// withRevisions returns ReplicaSets with these revisions, the oldest first. They ask for no Pods
// and have none.
func withRevisions(revisions ...string) (sets []*appsv1.ReplicaSet) {
	for i, r := range revisions {
		rs := &appsv1.ReplicaSet{}
		rs.Name, rs.CreationTimestamp = fmt.Sprint("web-", i),
			metav1.NewTime(noon.Add(time.Duration(i)*time.Hour))
		rs.Annotations, rs.Spec.Replicas = map[string]string{revisionAnnotation: r}, new(int32(0))
		rs.Generation, rs.Status.ObservedGeneration = 2, 2
		sets = append(sets, rs)
	}
	return sets
}

// A user cannot roll back to a revision that is gone, and the Pods of a deleted ReplicaSet are
// deleted, too.
func TestTheLowestRevisionsGoIfTheyHaveNoPods(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  *int32
		change func(sets []*appsv1.ReplicaSet) // with the revisions 1, 4, 2 and 3
		want   []string
	}{
		{"there is room for all", new(int32(4)), nil, nil},
		{"there is room for three", new(int32(3)), nil, []string{"1"}},
		{"there is room for one", new(int32(1)), nil, []string{"1", "2", "3"}},
		{"there is no room", new(int32(0)), nil, []string{"1", "2", "3", "4"}},
		{"nobody has said how many", nil, nil, nil},
		{"as many as there may be", new(int32(math.MaxInt32)), nil, nil},
		{"one wants Pods", new(int32(2)), func(sets []*appsv1.ReplicaSet) {
			sets[0].Spec.Replicas = new(int32(1))
		}, []string{"2"}},
		{"one has Pods", new(int32(2)), func(sets []*appsv1.ReplicaSet) {
			sets[2].Status.Replicas = 1
		}, []string{"1"}},
		{"one has been scaled down, and nobody has looked", new(int32(2)),
			func(sets []*appsv1.ReplicaSet) {
				sets[0].Generation = 3
			}, []string{"2"}},
		{"one is being deleted", new(int32(2)), func(sets []*appsv1.ReplicaSet) {
			sets[1].DeletionTimestamp = new(metav1.NewTime(noon))
		}, []string{"1"}},
	} {
		sets := withRevisions("1", "4", "2", "3")
		if c.change != nil {
			c.change(sets)
		}
		var gone []string
		for _, rs := range expired(newWeb(1, func(d *appsv1.Deployment) {
			d.Spec.RevisionHistoryLimit = c.limit
		}), sets) {
			gone = append(gone, rs.Annotations[revisionAnnotation])
		}
		require.Equal(t, c.want, gone, c.name)
	}
}

func TestAWriteNamesWhatItChanges(t *testing.T) {
	before := &appsv1.ReplicaSet{}
	before.UID, before.Generation, before.ResourceVersion = "u", 3, "77"
	before.Spec.Replicas = new(int32(2))
	after := before.DeepCopy()
	require.Empty(t, difference(before, after))
	after.Annotations = map[string]string{"a/b~c": "1"}
	require.Equal(t, []operation{{"add", "/metadata/annotations", after.Annotations}},
		difference(before, after))
	require.Contains(t, stillIs(before), operation{"test", "/metadata/resourceVersion", "77"},
		"nothing that others have written meanwhile may get lost")
	before.Annotations = map[string]string{"x": "y"}
	require.Equal(t, []operation{{"add", "/metadata/annotations/a~1b~0c", "1"}},
		difference(before, after))
	require.NotContains(t, fmt.Sprint(stillIs(before)), "resourceVersion",
		"the status is written all the time")
	after.Spec.Replicas, after.Spec.MinReadySeconds = new(int32(5)), 9
	require.Equal(t, []operation{{"add", "/spec/replicas", int32(5)},
		{"add", "/spec/minReadySeconds", int32(9)}}, difference(before, after)[:2])
}

func TestTheLastRevision(t *testing.T) {
	require.Equal(t, int64(4), lastRevision(withRevisions("1", "7", "4")))
	require.Zero(t, lastRevision(withRevisions("7")))
	require.Zero(t, lastRevision(nil))
}

// A user who rolls back wants the old template, and with it its change cause.
func TestGoingBackTakesTheTemplateAndTheAnnotationsOfThatTime(t *testing.T) {
	d := newWeb(1, image("web:2"), func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"cause": "new", "later": "yes", revisionAnnotation: "5"}
	})
	rs := withRevisions("2")[0]
	rs.Annotations["cause"], rs.Annotations[desiredAnnotation] = "old", "3"
	rs.Spec.Template = template("web:1")
	rs.Spec.Template.Labels[hashLabel] = "abc"
	before := rs.DeepCopy()
	goBack(d, rs)
	require.Equal(t, template("web:1"), d.Spec.Template)
	require.Equal(t, map[string]string{"cause": "old", revisionAnnotation: "5"}, d.Annotations)
	d.Spec.Template.Spec.Containers[0].Image = "web:3"
	require.Equal(t, before, rs, "the ReplicaSet is a cache's")
}

func TestARollbackIsToARevisionThatIsANumber(t *testing.T) {
	for _, c := range []struct {
		text     string
		revision int64
		ok       bool
	}{{"10", 10, true}, {"0", 0, true}, {"last", 0, false}} {
		revision, ok := rollbackTo(newWeb(1, func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{appsv1.DeprecatedRollbackTo: c.text}
		}))
		require.Equal(t, c.revision, revision, c.text)
		require.Equal(t, c.ok, ok, c.text)
	}
	_, ok := rollbackTo(newWeb(1))
	require.False(t, ok)
}
