package fake_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

func TestEveryKindOfTheSchemeIsServed(t *testing.T) {
	s := newScheme()
	c := fake.NewClientBuilder().WithScheme(s).Build()
	served := 0
	for gvk := range s.AllKnownTypes() {
		made, err := s.New(gvk)
		require.NoError(t, err)
		obj, ok := made.(client.Object)
		if !ok || gvk.Version == "__internal" || gvk.Kind == "Eviction" || strings.HasSuffix(gvk.Kind, "Review") || gvk.Kind == "Binding" || gvk.Kind == "TokenRequest" {
			continue // no objects of a cluster, but questions to it
		}
		namespaced, err := c.IsObjectNamespaced(obj)
		require.NoError(t, err, gvk)
		obj.SetName("a")
		if namespaced {
			obj.SetNamespace("shop")
		}
		// The cluster validates what is created; what is not complete is refused with good reason.
		loaded := fake.NewClientBuilder().WithScheme(s).WithObjects(obj).Build()
		require.NoError(t, loaded.Get(t.Context(), client.ObjectKeyFromObject(obj), obj), gvk)
		require.NotEmpty(t, obj.GetUID(), gvk)
		served++
	}
	require.Greater(t, served, 100)
}

func TestTheScopesOfKubernetesKindsAreRight(t *testing.T) {
	// The generated clients know: a namespace is an argument of those whose kinds are in one.
	c := fake.NewFakeClient()
	clients := reflect.TypeFor[kubernetes.Interface]()
	compared := 0
	for i := range clients.NumMethod() {
		group := clients.Method(i)
		if group.Name == "Discovery" {
			continue
		}
		of := group.Type.Out(0)
		for j := range of.NumMethod() {
			method := of.Method(j)
			if method.Name == "RESTClient" {
				continue
			}
			gvk, ok := kindOf(method.Type.Out(0))
			if !ok {
				continue
			}
			made, err := scheme.Scheme.New(gvk)
			require.NoError(t, err)
			namespaced, err := c.IsObjectNamespaced(made)
			require.NoError(t, err)
			require.Equal(t, method.Type.NumIn() == 1, namespaced, "the scope of %s", gvk)
			compared++
		}
	}
	require.Greater(t, compared, 80)
}

// kindOf returns the kind of the objects that a generated client creates.
func kindOf(of reflect.Type) (schema.GroupVersionKind, bool) {
	create, ok := of.MethodByName("Create")
	if !ok || create.Type.NumIn() < 2 {
		return schema.GroupVersionKind{}, false
	}
	obj, ok := reflect.New(create.Type.In(1).Elem()).Interface().(client.Object)
	if !ok {
		return schema.GroupVersionKind{}, false
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	return append(kinds, schema.GroupVersionKind{})[0], err == nil
}

func TestTheScopeOfACustomResourceIsThatOfItsFirstObject(t *testing.T) {
	c := builder().Build()
	require.True(t, client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "x"}, &Depot{})) == nil)
	require.NoError(t, c.List(t.Context(), &WidgetList{}))
	depot := &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.NoError(t, c.Create(t.Context(), depot), "a kind in no namespace needs no RESTMapper")
	read(t, c, &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	namespaced, err := c.IsObjectNamespaced(depot)
	require.NoError(t, err)
	require.False(t, namespaced)
	require.Error(t, c.Create(t.Context(), &Depot{ObjectMeta: inShop("b")}), "one kind cannot be both")

	require.NoError(t, c.Create(t.Context(), widget("a")))
	require.Error(t, c.Create(t.Context(), &Widget{ObjectMeta: metav1.ObjectMeta{Name: "b"}}))
}

func TestAMapperSaysHowKindsAreServed(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(shop.WithKind("Depot"), shop.WithResource("lager"), shop.WithResource("lager"), meta.RESTScopeNamespace)
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(mapper).Build()
	require.Same(t, mapper, c.RESTMapper())
	require.Error(t, c.Create(t.Context(), &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), "the mapper says that it is in namespaces")
	require.NoError(t, c.Create(t.Context(), &Depot{ObjectMeta: inShop("a")}))
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "b"}, &Depot{})
	require.ErrorContains(t, err, "lager.shop.example")
	require.NoError(t, c.Create(t.Context(), widget("a")), "a kind that it does not know is served all the same")
}

func TestTheDefaultMapperKnowsTheScheme(t *testing.T) {
	mapper := builder().Build().RESTMapper()
	kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: "ingresses"})
	require.NoError(t, err)
	require.Equal(t, networkingv1.SchemeGroupVersion.WithKind("Ingress"), kind)
	resource, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "widget"})
	require.NoError(t, err)
	require.Equal(t, shop.WithResource("widgets"), resource)
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	require.NoError(t, err)
	require.Equal(t, "v1", mapping.GroupVersionKind.Version)
	_, err = mapper.RESTMapping(schema.GroupKind{Group: "none", Kind: "None"})
	require.True(t, meta.IsNoMatchError(err))
}

func TestUnstructuredKindsNeedNoScheme(t *testing.T) {
	s := newScheme()
	c := fake.NewClientBuilder().WithScheme(s).Build()
	gvk := schema.GroupVersionKind{Group: "other.example", Version: "v2", Kind: "Gizmo"}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace("shop")
	u.SetName("a")
	require.NoError(t, unstructured.SetNestedField(u.Object, "b", "spec", "anything"))
	require.NoError(t, c.Create(t.Context(), u))
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	require.NoError(t, c.List(t.Context(), list))
	require.Len(t, list.Items, 1)
	require.False(t, s.Recognizes(gvk), "the user's scheme must stay as it is: other tests have it, too")
}

func TestACustomResourceInTheSchemeOfClientGoIsNoBuiltInKind(t *testing.T) {
	gv := schema.GroupVersion{Group: "global.example", Version: "v1"}
	scheme.Scheme.AddKnownTypeWithName(gv.WithKind("Depot"), &Depot{})
	metav1.AddToGroupVersion(scheme.Scheme, gv)
	c := fake.NewFakeClient(&Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	depot := read(t, c, &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gv.WithKind("Depot"))
	u.SetName(depot.Name)
	require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("me")), "many programs add their kinds to this scheme, and protobuf and generated schemas are not for them")
}

func TestVersionsOfAKindAreApart(t *testing.T) {
	one := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: inShop("a")}
	two := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: inShop("a")}
	two.Labels = map[string]string{"v": "2"}
	c := builder().WithObjects(one, two).Build()
	require.Empty(t, read(t, c, &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: inShop("a")}).Labels)
	require.Equal(t, "2", read(t, c, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: inShop("a")}).Labels["v"])
	lists := &autoscalingv2.HorizontalPodAutoscalerList{}
	require.NoError(t, c.List(t.Context(), lists))
	require.Len(t, lists.Items, 1)
}

func TestNamespacesNeedNotExistAndGoWithTheirContent(t *testing.T) {
	c := builder().Build()
	namespaces := &corev1.NamespaceList{}
	require.NoError(t, c.List(t.Context(), namespaces))
	require.Empty(t, namespaces.Items, "a test that counts namespaces counts its own")
	require.NoError(t, c.Create(t.Context(), configMap("a")))
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	require.NoError(t, c.Create(t.Context(), shop))
	require.NoError(t, c.Delete(t.Context(), shop))
	require.Error(t, c.Get(t.Context(), client.ObjectKeyFromObject(shop), shop))
	require.Error(t, c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, configMap("a")))
}

func TestTheStatusOfARareBuiltInKindIsSeparate(t *testing.T) {
	c := fake.NewFakeClient(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: inShop("a")})
	hpa := read(t, c, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: inShop("a")})
	hpa.Status.DesiredReplicas = 3
	require.NoError(t, c.Status().Update(t.Context(), hpa), "users need not name it with WithStatusSubresource")
}

func TestANamespaceThatIsBeingDeletedRefusesNewObjects(t *testing.T) {
	stuck := configMap("stuck")
	stuck.Finalizers = []string{"shop.example/wait"}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c := fake.NewFakeClient(shop, stuck)
	require.NoError(t, c.Delete(t.Context(), shop))
	require.Error(t, c.Create(t.Context(), configMap("new")), "a controller must be able to see that it comes too late")
}
