package wire

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Widgets are a custom kind, with a Go type here, and the subresources status and scale.
var Widgets = schema.GroupVersion{Group: "compare.example.com", Version: "v1"}

// Scheme knows the built-in types and Widget.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		panic(err)
	}
	s.AddKnownTypes(Widgets, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(s, Widgets)
	return s
}()

type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec,omitempty"`
	Status WidgetStatus `json:"status,omitempty"`
}

type WidgetSpec struct {
	Replicas int32  `json:"replicas,omitempty"`
	Color    string `json:"color,omitempty"`
}

type WidgetStatus struct {
	Replicas int32  `json:"replicas,omitempty"`
	Phase    string `json:"phase,omitempty"`
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

func (w *Widget) DeepCopyObject() runtime.Object {
	out := &Widget{TypeMeta: w.TypeMeta, Spec: w.Spec, Status: w.Status}
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (l *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Widget))
	}
	return out
}

// Unregistered is a type that Scheme does not know.
type Unregistered struct{ Widget }

func (u *Unregistered) DeepCopyObject() runtime.Object {
	return &Unregistered{*u.Widget.DeepCopyObject().(*Widget)}
}

// Definition is the CustomResourceDefinition of Widget.
func Definition() *unstructured.Unstructured {
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	text, number := map[string]any{"type": "string"}, map[string]any{"type": "integer"}
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"group": Widgets.Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": Widgets.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": object(map[string]any{
					"spec":   object(map[string]any{"replicas": number, "color": text}),
					"status": object(map[string]any{"replicas": number, "phase": text}),
				})},
				"subresources": map[string]any{
					"status": map[string]any{},
					"scale":  map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
				},
			}},
		},
	}}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	u.SetName("widgets." + Widgets.Group)
	return u
}
