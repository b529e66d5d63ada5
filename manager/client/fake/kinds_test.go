package fake_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	c := fake.NewFakeClient()
	for gvk, want := range map[schema.GroupVersionKind]bool{
		{Version: "v1", Kind: "Pod"}: true, {Version: "v1", Kind: "Node"}: false, {Version: "v1", Kind: "ComponentStatus"}: false,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}:                         true,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}:                  false,
		{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"}:               false,
		{Group: "authorization.k8s.io", Version: "v1", Kind: "LocalSubjectAccessReview"}:          true,
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}:          false,
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}:                      false,
		{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}:                      true,
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}: false,
	} {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		namespaced, err := c.IsObjectNamespaced(obj)
		require.NoError(t, err)
		require.Equal(t, want, namespaced, "the scope of %s", gvk)
	}
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

// These are kinds that the server does not know until a test asks for them.
func TestARareBuiltInKindIsAsInACluster(t *testing.T) {
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks.shop.example"}}
	c := fake.NewFakeClient(driver)
	require.True(t, apierrors.IsNotFound(c.Status().Update(t.Context(), driver.DeepCopy())), "it has no status")
	err := c.Get(t.Context(), client.ObjectKey{Name: "a"}, &autoscalingv2.HorizontalPodAutoscaler{})
	require.ErrorContains(t, err, "an empty namespace may not be set", "it is in namespaces, whoever asks first")

	c = fake.NewClientBuilder().WithStatusSubresource(&storagev1.CSIDriver{}).WithObjects(driver).Build()
	require.NoError(t, c.Status().Update(t.Context(), read(t, c, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver.Name}})))
}

func TestAMapperNamesTheResourceOfARareBuiltInKind(t *testing.T) {
	gv := autoscalingv2.SchemeGroupVersion
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(gv.WithKind("HorizontalPodAutoscaler"), gv.WithResource("scalers"), gv.WithResource("scaler"), meta.RESTScopeRoot)
	c := fake.NewClientBuilder().WithRESTMapper(mapper).Build()
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, &autoscalingv2.HorizontalPodAutoscaler{})
	require.EqualError(t, err, `scalers.autoscaling "a" not found`)
	namespaced, err := c.IsObjectNamespaced(&autoscalingv2.HorizontalPodAutoscaler{})
	require.NoError(t, err)
	require.True(t, namespaced, "the scope of a kind of Kubernetes is known")
}

// scopeless is a mapper that knows resources, and not where they are.
type scopeless struct{ meta.RESTMapper }

// RESTMapping implements meta.RESTMapper.
func (scopeless) RESTMapping(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	return &meta.RESTMapping{Resource: shop.WithResource("lager"), GroupVersionKind: gk.WithVersion("v1")}, nil
}

func TestAMapperThatKnowsNoScopeIsNotAsked(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(scopeless{}).Build()
	require.NoError(t, c.Create(t.Context(), widget("a")))
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "b"}, &Widget{})
	require.ErrorContains(t, err, "widgets.shop.example")
}

// Programs do so, to make their unstructured objects known.
func TestAKindThatTheSchemeHasAsAMapKeepsItsFields(t *testing.T) {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(shop.WithKind("Widget"), &unstructured.Unstructured{})
	u := looseWidget("a")
	require.NoError(t, unstructured.SetNestedField(u.Object, "b", "spec", "anything"))
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(u).Build()
	got := read(t, c, looseWidget("a"))
	anything, _, _ := unstructured.NestedString(got.Object, "spec", "anything")
	require.Equal(t, "b", anything)
	require.NoError(t, c.Create(t.Context(), looseWidget("b"), client.FieldValidation(metav1.FieldValidationStrict)))
}

// No server serves what a scheme has only for conversions.
func TestAnInternalVersionIsNoKindOfTheMapper(t *testing.T) {
	s := newScheme()
	s.AddKnownTypes(schema.GroupVersion{Group: shop.Group, Version: runtime.APIVersionInternal}, &Widget{})
	kinds, err := fake.NewClientBuilder().WithScheme(s).Build().RESTMapper().KindsFor(schema.GroupVersionResource{Resource: "widgets"})
	require.NoError(t, err)
	require.Equal(t, []schema.GroupVersionKind{shop.WithKind("Widget")}, kinds)
}
