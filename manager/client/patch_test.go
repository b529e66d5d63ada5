package client

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// changed returns a pod, and what it was before its second container got another image.
func changed() (before, after *corev1.Pod) {
	before = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", ResourceVersion: "7"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:1"}},
	}}
	after = before.DeepCopy()
	after.Spec.Containers[1].Image = "b:2"
	after.Labels = map[string]string{"new": "true"}
	return before, after
}

func TestAPatchHoldsWhatHasChanged(t *testing.T) {
	before, after := changed()
	for _, c := range []struct {
		name      string
		patch     Patch
		patchType types.PatchType
		want      string
	}{
		{"a merge patch replaces lists", MergeFrom(before), types.MergePatchType,
			`{"metadata":{"labels":{"new":"true"}},"spec":{"containers":[{"image":"a:1","name":"a","resources":{}},{"image":"b:2","name":"b","resources":{}}]}}`},
		{"a strategic one merges them", StrategicMergeFrom(before), types.StrategicMergePatchType,
			`{"metadata":{"labels":{"new":"true"}},"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"image":"b:2","name":"b"}]}}`},
		{"a lock is the version", MergeFromWithOptions(before, MergeFromWithOptimisticLock{}), types.MergePatchType,
			`{"metadata":{"labels":{"new":"true"},"resourceVersion":"7"},"spec":{"containers":[{"image":"a:1","name":"a","resources":{}},{"image":"b:2","name":"b","resources":{}}]}}`},
		{"a strategic one has a lock, too", StrategicMergeFrom(before, MergeFromWithOptimisticLock{}), types.StrategicMergePatchType,
			`{"metadata":{"labels":{"new":"true"},"resourceVersion":"7"},"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"image":"b:2","name":"b"}]}}`},
		{"a raw patch is what it is", RawPatch(types.JSONPatchType, []byte(`[]`)), types.JSONPatchType, `[]`},
	} {
		data, err := c.patch.Data(after)
		require.NoError(t, err, c.name)
		require.JSONEq(t, c.want, string(data), c.name)
		require.Equal(t, c.patchType, c.patch.Type(), c.name)
	}
	require.Equal(t, "7", before.ResourceVersion, "what the caller has must stay as it was")
	require.Equal(t, "7", after.ResourceVersion)
}

func TestAPatchOfTheWholeObject(t *testing.T) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for _, patch := range []Patch{Apply, Merge} {
		data, err := patch.Data(obj)
		require.NoError(t, err)
		require.JSONEq(t, `{"metadata":{"name":"a"}}`, string(data))
	}
	require.Equal(t, []types.PatchType{types.ApplyPatchType, types.MergePatchType}, []types.PatchType{Apply.Type(), Merge.Type()})
}

func TestALockNeedsAVersion(t *testing.T) {
	_, err := MergeFromWithOptions(&corev1.ConfigMap{ObjectMeta: inShop("a")}, MergeFromWithOptimisticLock{}).Data(configMap("a"))
	require.ErrorContains(t, err, "patch shop/a with an optimistic lock", "the caller must learn that nothing would be locked")
}

func TestALockMakesALostUpdateAConflict(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		mine := configMap("a")
		w.mustCreate(mine)
		theirs := mine.DeepCopy()
		theirs.Data = map[string]string{"theirs": "1"}
		require.NoError(w, w.Update(w.Context(), theirs))

		before := mine.DeepCopy()
		mine.Data = map[string]string{"mine": "1"}
		err := w.Patch(w.Context(), mine, MergeFromWithOptions(before, MergeFromWithOptimisticLock{}))
		require.ErrorContains(w, err, "the object has been modified")
		require.NoError(w, w.Patch(w.Context(), mine, MergeFrom(before)))
		require.Equal(w, map[string]string{"mine": "1", "theirs": "1"}, mine.Data)
	})
}

// The object may have been updated since, and that is what the lock is for.
func TestALockIsTheVersionFromWhichThePatchStarts(t *testing.T) {
	for _, patch := range []func(before Object) Patch{
		func(before Object) Patch { return MergeFromWithOptions(before, MergeFromWithOptimisticLock{}) },
		func(before Object) Patch { return StrategicMergeFrom(before, MergeFromWithOptimisticLock{}) },
	} {
		for _, version := range []string{"", "7", "9"} {
			before := configMap("a")
			before.ResourceVersion = "7"
			after := configMap("a")
			after.ResourceVersion = version
			data, err := patch(before).Data(after)
			require.NoError(t, err)
			require.JSONEq(t, `{"metadata":{"resourceVersion":"7"}}`, string(data))
			require.Equal(t, version, after.ResourceVersion, "the caller's object is as it was")
		}
	}
}

// unreadable is an object that cannot be written as JSON.
type unreadable struct{ corev1.ConfigMap }

// MarshalJSON implements json.Marshaler.
func (*unreadable) MarshalJSON() ([]byte, error) { return nil, errors.New("this cannot be written") }

func TestADifferenceOfWhatCannotBeWrittenIsAnError(t *testing.T) {
	for _, patch := range []Patch{
		MergeFrom(&unreadable{}), StrategicMergeFrom(&unreadable{}), // the state before
		MergeFrom(configMap("a")), StrategicMergeFrom(configMap("a")), Merge,
	} {
		_, err := patch.Data(&unreadable{})
		require.ErrorContains(t, err, "this cannot be written")
	}
	for _, patch := range []Patch{MergeFrom(&unreadable{}), StrategicMergeFrom(&unreadable{})} {
		_, err := patch.Data(configMap("a"))
		require.ErrorContains(t, err, "this cannot be written")
	}
}
