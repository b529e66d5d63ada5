package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

// A program that takes the name of a resource from a user, as kubectl does, asks these questions.
func TestTheDefaultMapperAnswersQuestionsAboutResources(t *testing.T) {
	mapper := builder().Build().RESTMapper()
	widgets := shop.WithResource("widgets")
	kinds, err := mapper.KindsFor(schema.GroupVersionResource{Resource: "widgets"})
	require.NoError(t, err)
	require.Equal(t, []schema.GroupVersionKind{shop.WithKind("Widget")}, kinds)
	resources, err := mapper.ResourcesFor(schema.GroupVersionResource{Resource: "widget"})
	require.NoError(t, err)
	require.Equal(t, []schema.GroupVersionResource{widgets}, resources)
	singular, err := mapper.ResourceSingularizer("widgets")
	require.NoError(t, err)
	require.Equal(t, "widget", singular)
	_, err = mapper.KindFor(schema.GroupVersionResource{Resource: "widgetlists"})
	require.True(t, meta.IsNoMatchError(err), "a list is no object: %v", err)
}

func TestTheDefaultMapperPrefersTheCoreGroupAndTheNewestVersion(t *testing.T) {
	mapper := builder().Build().RESTMapper()
	kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: "events"})
	require.NoError(t, err)
	require.Equal(t, corev1.SchemeGroupVersion.WithKind("Event"), kind)
	kind, err = mapper.KindFor(schema.GroupVersionResource{Group: "events.k8s.io", Resource: "events"})
	require.NoError(t, err)
	require.Equal(t, eventsv1.SchemeGroupVersion.WithKind("Event"), kind)
	resource, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "deployments"})
	require.NoError(t, err)
	require.Equal(t, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, resource, "no server has those of extensions any more")
}

func TestMappingsAreOfTheVersionsThatAreAskedFor(t *testing.T) {
	c := builder().Build()
	autoscaler := schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	mappings, err := c.RESTMapper().RESTMappings(autoscaler, "v2", "v1")
	require.NoError(t, err)
	var versions []string
	for _, mapping := range mappings {
		versions = append(versions, mapping.GroupVersionKind.Version+" "+mapping.Resource.Version+" "+mapping.Resource.Resource)
	}
	require.Equal(t, []string{"v2 v2 horizontalpodautoscalers", "v1 v1 horizontalpodautoscalers"}, versions)
	mappings, err = c.RESTMapper().RESTMappings(schema.GroupKind{Group: "autoscaling", Kind: "Scale"})
	require.NoError(t, err)
	require.Len(t, mappings, 1)
	require.Equal(t, autoscalingv1.SchemeGroupVersion.WithKind("Scale"), mappings[0].GroupVersionKind)

	for _, versions := range [][]string{nil, {""}, {"v1", ""}} {
		_, err = c.RESTMapper().RESTMappings(schema.GroupKind{Group: "none", Kind: "None"}, versions...)
		require.True(t, meta.IsNoMatchError(err), "%v: %v", versions, err)
	}
	require.Contains(t, c.RESTMapper().(interface{ String() string }).String(), "the kinds of a fake client")
}

func TestTheScopeOfAMappingIsThatOfTheKind(t *testing.T) {
	mapper := fake.NewFakeClient().RESTMapper()
	for kind, want := range map[string]meta.RESTScopeName{"Pod": meta.RESTScopeNameNamespace, "Node": meta.RESTScopeNameRoot} {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Kind: kind}, "v1")
		require.NoError(t, err)
		require.Equal(t, want, mapping.Scope.Name(), kind)
	}
}

// firstCalls are those that may be the first about a kind, and that create nothing.
func firstCalls(t *testing.T, c client.Client, obj client.Object) []func() error {
	ctx, merge := t.Context(), client.RawPatch(types.MergePatchType, []byte(`{}`))
	binding := &corev1.Binding{Target: corev1.ObjectReference{Name: "n"}}
	return []func() error{
		func() error { return c.Get(ctx, client.ObjectKeyFromObject(obj), obj) },
		func() error { return c.Update(ctx, obj) },
		func() error { return c.Delete(ctx, obj) },
		func() error { return c.Patch(ctx, obj, merge) },
		func() error { return c.Status().Update(ctx, obj) },
		func() error { return c.SubResource("scale").Get(ctx, obj, &autoscalingv1.Scale{}) },
		func() error { return c.SubResource("binding").Create(ctx, obj, binding) },
		func() error { return c.Status().Patch(ctx, obj, merge) },
	}
}

// A reconciler looks for its object first, and an error about namespaces would send its author on a wrong track.
func TestWhatIsAskedForWithoutANamespaceIsNotFoundUntilItIsCreated(t *testing.T) {
	for i := range firstCalls(t, nil, &Depot{}) {
		c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
		depot := &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		err := firstCalls(t, c, depot)[i]()
		require.True(t, apierrors.IsNotFound(err), "call %d: %v", i, err)
		if i < 4 {
			require.ErrorContains(t, err, `depots.shop.example "a" not found`, "call %d: it is the object that is not there", i)
		}
		require.NoError(t, c.Create(t.Context(), &Depot{ObjectMeta: inShop("a")}), "only an object decides the scope, and not call %d", i)
		read(t, c, &Depot{ObjectMeta: inShop("a")})
	}
}

// What is applied is created, whichever way it is applied.
func TestAnApplyDecidesTheScope(t *testing.T) {
	loose := func(namespace string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(shop.WithKind("Depot"))
		u.SetName("a")
		u.SetNamespace(namespace)
		return u
	}
	for _, way := range []struct {
		name  string
		apply func(c client.Client) error
	}{
		{"apply", func(c client.Client) error {
			return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(loose("")), client.FieldOwner("me"))
		}},
		{"typed apply", func(c client.Client) error {
			config := applycorev1.ConfigMap("a", "").WithKind("Depot").WithAPIVersion(shop.String())
			config.Namespace = nil
			return c.Apply(t.Context(), config, client.FieldOwner("me"))
		}},
		{"patch", func(c client.Client) error {
			return c.Patch(t.Context(), loose(""), client.Apply, client.FieldOwner("me"))
		}},
	} {
		c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
		require.NoError(t, way.apply(c), way.name)
		read(t, c, &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		require.Error(t, c.Create(t.Context(), &Depot{ObjectMeta: inShop("b")}), "%s has made one that is in no namespace", way.name)
	}
}

func TestAMapperMaySayThatACustomResourceIsInNoNamespace(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(shop.WithKind("Depot"), meta.RESTScopeRoot)
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(mapper).Build()
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, &Depot{})
	require.True(t, apierrors.IsNotFound(err))
	require.NoError(t, c.Create(t.Context(), &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
}

// Programs create these without their Go types.
func TestKindsOfAggregatedServersAreInNoNamespaceAndHaveAStatus(t *testing.T) {
	c := fake.NewFakeClient()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	u.SetName("v1.shop.example")
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, u.DeepCopy())
	require.True(t, apierrors.IsNotFound(err))
	namespaced, err := c.IsObjectNamespaced(u)
	require.NoError(t, err)
	require.False(t, namespaced)
	require.NoError(t, c.Create(t.Context(), u))
	require.NoError(t, unstructured.SetNestedField(u.Object, "yes", "status", "ready"))
	require.NoError(t, c.Status().Update(t.Context(), u))
}

// Every write of an incomplete object says what to do, and so does the error of none other.
func TestWhoeverWritesAnIncompleteObjectIsToldWhatToDo(t *testing.T) {
	c := fake.NewFakeClient(pod("p"))
	hint := "build the client with LikeControllerRuntime"
	broken := read(t, c, pod("p"))
	broken.Spec.Containers[0].Image = ""
	require.ErrorContains(t, c.Update(t.Context(), broken), hint)
	nothing := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"containers":[{"name":"main","image":""}]}}`))
	require.ErrorContains(t, c.Patch(t.Context(), pod("p"), nothing), hint)
	require.ErrorContains(t, c.Apply(t.Context(), applycorev1.Pod("q", "shop"), client.FieldOwner("me")), hint)
	err := c.Create(t.Context(), pod("p"))
	require.True(t, apierrors.IsAlreadyExists(err))
	require.NotContains(t, err.Error(), hint)
}
