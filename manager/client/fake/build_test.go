package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

// What several tests share is prepared once, with names that a test counts on.
func TestWhatAnObjectOfTheBuilderSaysIsNotOverwritten(t *testing.T) {
	known := configMap("a")
	known.ResourceVersion, known.UID = "12", "mine"
	fake.NewFakeClient(known)
	require.Equal(t, "12", known.ResourceVersion)
	require.EqualValues(t, "mine", known.UID)
}

// A program that writes the status of its custom resource as a part of it must not do so in its tests by mistake.
func TestTheStatusIsSeparateOnlyForTheKindsThatAreNamed(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Depot{}).Build()
	depot := &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.NoError(t, c.Create(t.Context(), depot))
	require.NoError(t, c.Status().Update(t.Context(), depot))
	require.NoError(t, c.Create(t.Context(), widget("w")))
	require.True(t, apierrors.IsNotFound(c.Status().Update(t.Context(), widget("w"))))
}

func TestAnIndexIsOfTheBuildersScheme(t *testing.T) {
	bySize := func(obj client.Object) []string { return []string{obj.(*Widget).Spec.Color} }
	red := widget("red")
	red.Spec.Color = "red"
	c := builder().WithIndex(&Widget{}, "color", bySize).WithObjects(red, widget("none")).Build()
	list := &WidgetList{}
	require.NoError(t, c.List(t.Context(), list, client.MatchingFields{"color": "red"}))
	require.Len(t, list.Items, 1)
}

// oddList is a list of what are no objects.
type oddList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []int
}

// DeepCopyObject implements runtime.Object.
func (l *oddList) DeepCopyObject() runtime.Object { return l }

// bare has a kind, and nothing else of an object.
type bare struct{ metav1.TypeMeta }

// DeepCopyObject implements runtime.Object.
func (b *bare) DeepCopyObject() runtime.Object { return b }

// A test that goes on without what it has prepared fails somewhere else, or passes.
func TestBuildPanicsWhateverElseIsAskedFor(t *testing.T) {
	twice := &corev1.PodList{Items: []corev1.Pod{*pod("a"), *pod("a"), *pod("b")}}
	for _, tc := range []struct {
		name, want string
		build      func()
	}{
		{"with interceptors", "already exists", func() { fake.NewClientBuilder().WithLists(twice).WithInterceptorFuncs(interceptor.Funcs{}).Build() }},
		{"an index of a type that the scheme lacks", "WithIndex: ", func() { fake.NewClientBuilder().WithIndex(widget("a"), "a", nodeOf) }},
		{"something that has no metadata", "put a *fake_test.bare into the cluster", func() {
			s := runtime.NewScheme()
			s.AddKnownTypes(shop, &bare{})
			fake.NewClientBuilder().WithScheme(s).WithRuntimeObjects(&bare{}).Build()
		}},
		{"a list of no objects", "take a *fake_test.oddList apart", func() { fake.NewFakeClient(&oddList{Items: []int{1}}) }},
	} {
		func() {
			defer func() {
				p := recover()
				require.IsType(t, "", p, tc.name)
				require.Contains(t, p, tc.want, tc.name)
			}()
			tc.build()
		}()
	}
}

func TestAllItemsOfAListAreThere(t *testing.T) {
	c := builder().WithLists(&corev1.PodList{Items: []corev1.Pod{*pod("a"), *pod("b"), *pod("c")}}).Build()
	list := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), list))
	require.Equal(t, []string{"a", "b", "c"}, names(list))
}

// An object of one client may be put into another, and a cluster has no two objects of one UID.
func TestNoTwoClientsGiveTheSameUID(t *testing.T) {
	one, two := configMap("a"), configMap("a")
	require.NoError(t, fake.NewFakeClient().Create(t.Context(), one))
	require.NoError(t, fake.NewFakeClient().Create(t.Context(), two))
	require.NotEqual(t, one.UID, two.UID)
}

func TestAnObjectOfTheBuilderDecidesTheScope(t *testing.T) {
	c := builder().WithObjects(&Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Build()
	_ = c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "b"}, &Depot{})
	namespaced, err := c.IsObjectNamespaced(&Depot{})
	require.NoError(t, err)
	require.False(t, namespaced)
}

// Tests fill in a TypeMeta by hand, and get it wrong. A client writes the kind of the Go type, whatever the object says.
func TestTheKindOfAnObjectOfTheBuilderIsThatOfItsGoType(t *testing.T) {
	for _, b := range []*fake.ClientBuilder{builder(), like()} {
		wrong := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		c := b.WithObjects(wrong).WithLists(&corev1.PodList{Items: []corev1.Pod{{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"},
		}}}).Build()
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Namespace{}))
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "b"}, &corev1.Pod{}))
		require.Equal(t, "ConfigMap", wrong.Kind, "the test's own object stays as it is")
		wrong.ResourceVersion, wrong.Name = "", "c"
		require.NoError(t, c.Create(t.Context(), wrong))
	}
}
