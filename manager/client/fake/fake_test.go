package fake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

func builder() *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Widget{})
}

func TestAnUpdateOfAnOldVersionIsAConflict(t *testing.T) {
	c := builder().Build()
	require.NoError(t, c.Create(t.Context(), widget("a")))
	mine, theirs := read(t, c, widget("a")), read(t, c, widget("a"))
	theirs.Spec.Size = 2
	require.NoError(t, c.Update(t.Context(), theirs))
	mine.Spec.Size = 3
	require.True(t, apierrors.IsConflict(c.Update(t.Context(), mine)), "a controller that does not handle conflicts must be seen to fail")
}

func TestTheGenerationCountsChangesOfTheSpec(t *testing.T) {
	c := builder().Build()
	w := widget("a")
	require.NoError(t, c.Create(t.Context(), w))
	require.EqualValues(t, 1, w.Generation)
	w.Labels = map[string]string{"a": "b"}
	require.NoError(t, c.Update(t.Context(), w))
	require.EqualValues(t, 1, w.Generation, "a predicate on the generation must not see changes of labels")
	w.Spec.Size = 5
	require.NoError(t, c.Update(t.Context(), w))
	require.EqualValues(t, 2, w.Generation, "observedGeneration cannot be tested without it")
}

func TestTheStatusIsSeparate(t *testing.T) {
	c := builder().Build()
	w := widget("a")
	w.Status.Size = 1
	require.NoError(t, c.Create(t.Context(), w))
	require.Zero(t, w.Status.Size, "a new object has no status yet")
	w.Spec.Size, w.Status.Size = 7, 7
	require.NoError(t, c.Status().Update(t.Context(), w))
	got := read(t, c, widget("a"))
	require.Equal(t, 7, got.Status.Size)
	require.Zero(t, got.Spec.Size, "a spec that is written through the status is lost, as in a cluster")
	got.Spec.Size, got.Status.Size = 8, 8
	require.NoError(t, c.Update(t.Context(), got))
	require.Equal(t, 7, read(t, c, widget("a")).Status.Size, "a status that is written with the object is lost, as in a cluster")
}

func TestAStatusOfAKindWithoutTheSubresourceIsAField(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
	w := widget("a")
	w.Status.Size = 1
	require.NoError(t, c.Create(t.Context(), w))
	require.Equal(t, 1, w.Status.Size)
	require.True(t, apierrors.IsNotFound(c.Status().Update(t.Context(), w)), "there is no such path")
}

func TestAnObjectWithFinalizersStaysUntilTheyAreGone(t *testing.T) {
	c := builder().Build()
	w := widget("a")
	w.Finalizers = []string{"shop.example/wait"}
	require.NoError(t, c.Create(t.Context(), w))
	require.NoError(t, c.Delete(t.Context(), w))
	got := read(t, c, widget("a"))
	require.NotNil(t, got.DeletionTimestamp)
	got.Finalizers = nil
	require.NoError(t, c.Update(t.Context(), got))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(w), w)), "the last finalizer ends the deletion")
}

func TestUnknownFieldsAreRefusedIfTheCallerIsStrict(t *testing.T) {
	c := builder().Build()
	u := looseWidget("a")
	require.NoError(t, unstructured.SetNestedField(u.Object, "red", "spec", "colour"))
	err := c.Create(t.Context(), u.DeepCopy(), client.FieldValidation(metav1.FieldValidationStrict))
	require.ErrorContains(t, err, `unknown field "spec.colour"`, "a typing error would be found only in the cluster")
	require.NoError(t, c.Create(t.Context(), u, client.FieldValidation(metav1.FieldValidationIgnore)))
	u = looseWidget("b")
	require.NoError(t, unstructured.SetNestedField(u.Object, "big", "spec", "size"))
	require.True(t, apierrors.IsInvalid(c.Create(t.Context(), u)), "a value of the wrong type does not get into a cluster")
}

func TestWhatAClusterRefusesIsRefused(t *testing.T) {
	c := builder().WithObjects(configMap("here")).Build()
	withVersion, badLabel, empty := configMap("b"), configMap("c"), pod("d")
	withVersion.ResourceVersion = "5"
	badLabel.Labels = map[string]string{"a b": "c"}
	empty.Spec.Containers = nil
	for _, tc := range []struct {
		name string
		err  error
		is   func(error) bool
	}{
		{"an object that is there", c.Create(t.Context(), configMap("here")), apierrors.IsAlreadyExists},
		{"a label that is none", c.Create(t.Context(), badLabel), apierrors.IsInvalid},
		{"a pod without containers", c.Create(t.Context(), empty), apierrors.IsInvalid},
		{"an update of what is not there", c.Update(t.Context(), configMap("x")), apierrors.IsNotFound},
		{"a delete of what is not there", c.Delete(t.Context(), configMap("x")), apierrors.IsNotFound},
		{"a status of what is not there", c.Status().Update(t.Context(), &Depot{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), apierrors.IsNotFound},
		{"a version in a new object", c.Create(t.Context(), withVersion), func(err error) bool { return err != nil }},
		{"no namespace", c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), func(err error) bool { return err != nil }},
	} {
		require.True(t, tc.is(tc.err), "%s: %v", tc.name, tc.err)
	}
}

// Most tests that move over have incomplete objects. Their authors must not have to search.
func TestWhoeverCreatesAnIncompleteObjectIsToldWhatToDo(t *testing.T) {
	err := builder().Build().Create(t.Context(), &corev1.Pod{ObjectMeta: inShop("a")})
	require.True(t, apierrors.IsInvalid(err), "it is the server's error")
	require.ErrorContains(t, err, "spec.containers: Required value")
	require.ErrorContains(t, err, "build the client with LikeControllerRuntime")
}

func TestTheBuildersObjectsAreKept(t *testing.T) {
	born := metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	going := widget("going")
	going.ResourceVersion, going.UID, going.Generation, going.CreationTimestamp = "1234", "my-uid", 9, born
	going.DeletionTimestamp, going.Finalizers = &born, []string{"shop.example/wait"}
	going.Status.Size = 4
	plain := widget("plain")
	ready := &corev1.Pod{ObjectMeta: inShop("ready"), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	c := builder().WithObjects(going, plain).WithLists(&corev1.PodList{Items: []corev1.Pod{*ready}}).
		WithRuntimeObjects(looseWidget("loose"), &WidgetList{Items: []Widget{*widget("listed")}}).Build()

	got := read(t, c, widget("going"))
	require.True(t, got.DeletionTimestamp.Equal(&born))
	got.DeletionTimestamp, got.CreationTimestamp = &born, born // the same moments, in another time zone
	require.Equal(t, going, got, "what a test prepares must be what the code under test finds")
	require.Equal(t, corev1.PodRunning, read(t, c, pod("ready")).Status.Phase, "a pod cannot be created as running, but it must be there")
	read(t, c, widget("loose"))
	read(t, c, widget("listed"))

	require.Equal(t, "999", plain.ResourceVersion)
	require.NotEmpty(t, plain.UID, "it can be named as an owner")
	plain.Spec.Size = 2
	require.NoError(t, c.Update(t.Context(), plain), "the test has the version that is in the cluster")
}

func TestBuildPanicsWhenTheTestIsWrong(t *testing.T) {
	now := metav1.Now()
	deleted := configMap("deleted")
	deleted.DeletionTimestamp = &now
	oddVersion := configMap("odd")
	oddVersion.ResourceVersion = "abc"
	for _, tc := range []struct {
		name, want string
		build      func()
	}{
		{"built twice", "Build was called before", func() { b := builder(); b.Build(); b.Build() }},
		{"an index twice", "already", func() { builder().WithIndex(&corev1.Pod{}, "a", nodeOf).WithIndex(&corev1.Pod{}, "a", nodeOf) }},
		{"deleted without finalizers", "no finalizers", func() { builder().WithObjects(deleted).Build() }},
		{"an object twice", "already exists", func() { builder().WithObjects(configMap("a"), configMap("a")).Build() }},
		{"a version that is no number", "not a positive number", func() { builder().WithObjects(oddVersion).Build() }},
		{"no name", "it has no name", func() { builder().WithObjects(configMap("")).Build() }},
		{"no namespace", "it has no namespace", func() { fake.NewFakeClient(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}) }},
		{"a namespace too many", "not in namespaces", func() { fake.NewFakeClient(&corev1.Node{ObjectMeta: inShop("a")}) }},
		{"a type that the scheme lacks", "Widget", func() { fake.NewFakeClient(widget("a")) }},
		{"a status of such a type", "WithStatusSubresource", func() { fake.NewClientBuilder().WithStatusSubresource(widget("a")).Build() }},
	} {
		func() {
			defer func() {
				p := recover()
				require.NotNil(t, p, tc.name)
				require.Contains(t, p, tc.want, tc.name)
			}()
			tc.build()
		}()
	}
}
