package fake_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
)

// The tests of this package are written as a user's: with Go types of custom resources, and without
// a server.

var shop = schema.GroupVersion{Group: "shop.example", Version: "v1"}

// Widget is a custom resource in namespaces.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

// WidgetSpec is what a user wants.
type WidgetSpec struct {
	Size  int    `json:"size,omitempty"`
	Color string `json:"color,omitempty"`
	Parts []Part `json:"parts,omitempty"`
}

// Part is an item of a list that has names as keys.
type Part struct {
	Name string `json:"name"`
	Size int    `json:"size,omitempty"`
}

// WidgetStatus is what there is.
type WidgetStatus struct {
	Size int `json:"size,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	out.Spec.Parts = slices.Clone(w.Spec.Parts)
	return &out
}

// WidgetList is a list of widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Widget))
	}
	return out
}

// Depot is a custom resource in no namespace.
type Depot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (d *Depot) DeepCopyObject() runtime.Object {
	return &Depot{TypeMeta: d.TypeMeta, ObjectMeta: *d.ObjectMeta.DeepCopy()}
}

// newScheme knows the kinds of Kubernetes, and widgets and depots.
func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(s) // it has no errors
	s.AddKnownTypes(shop, &Widget{}, &WidgetList{}, &Depot{})
	metav1.AddToGroupVersion(s, shop)
	return s
}

func inShop(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }

func widget(name string) *Widget { return &Widget{ObjectMeta: inShop(name)} }

func configMap(name string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: inShop(name)} }

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: inShop(name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}
}

func looseWidget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(shop.WithKind("Widget"))
	u.SetNamespace("shop")
	u.SetName(name)
	return u
}

// read returns the object as it is in the cluster.
func read[T client.Object](t *testing.T, c client.Reader, obj T) T {
	t.Helper()
	require.NoError(t, c.Get(context.Background(), client.ObjectKeyFromObject(obj), obj))
	return obj
}

func names(list *corev1.PodList) []string {
	out := []string{}
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}
