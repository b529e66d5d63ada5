// Package example is the custom resource of part III, from chapter 8 on: its Go types, its CRD, and what a user
// does with it. Its controller grows from chapter to chapter: it is in the folder website of chapters
// 8 to 11, and from chapter 14 on in package website. From chapter 13 on, the main functions grow.
//
// A Website wants a number of Pods that serve one page. The page is in a ConfigMap.
package example

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Kind is the kind of a Website.
var Kind = schema.GroupVersionKind{
	Group: "web.example.com", Version: "v1", Kind: "Website",
}

// Resource is how URLs name the kind.
var Resource = Kind.GroupVersion().WithResource("websites")

// Label is on each Pod of a Website, and has the Website's name.
const Label = "web.example.com/website"

// Website wants Pods that serve a page.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   WebsiteSpec   `json:"spec"`
	Status WebsiteStatus `json:"status"`
}

// WebsiteSpec is what the user wants.
type WebsiteSpec struct {
	Page     string `json:"page"`               // the name of a ConfigMap
	Replicas *int32 `json:"replicas,omitempty"` // how many Pods serve it
}

// WebsiteStatus is what there is.
type WebsiteStatus struct {
	Ready   int32            `json:"ready"`   // how many Pods serve the page now
	Checked metav1.MicroTime `json:"checked"` // when the controller counted them
}

// WebsiteList is what the API server answers to a list.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Website `json:"items"`
}

// AddToScheme makes the types known to a scheme.
func AddToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(Kind.GroupVersion(), &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(scheme, Kind.GroupVersion())
}

// NewScheme returns a scheme that knows Websites beside the built-in kinds. client-go's own
// scheme is shared by the whole program, and must not change while it is used.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	AddToScheme(s)
	return s
}

// DeepCopy returns a copy that shares no memory with w.
func (w *Website) DeepCopy() *Website {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	if w.Spec.Replicas != nil {
		replicas := *w.Spec.Replicas
		c.Spec.Replicas = &replicas
	}
	return &c
}

// DeepCopyObject is DeepCopy for runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject returns a copy that shares no memory with l.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	c := *l
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	c.Items = make([]Website, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopy()
	}
	return &c
}
