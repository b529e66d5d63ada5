package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

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
