package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// region stall

// Stall is the kind as this program knows it. It was generated some time ago: the kind's spec has got
// a color since.
type Stall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   StallSpec   `json:"spec"`
	Status StallStatus `json:"status"`
}

// StallSpec is what a user wants.
type StallSpec struct {
	Price int `json:"price"`
}

// endregion stall

// StallStatus is what a controller has found out.
type StallStatus struct {
	Sold int `json:"sold,omitempty"`
}

// StallList is a list of Stalls.
type StallList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Stall `json:"items"`
}

// DeepCopyObject implements runtime.Object. Usually it is generated.
func (s *Stall) DeepCopyObject() runtime.Object {
	copied := *s
	s.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (l *StallList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]Stall, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Stall)
	}
	return &copied
}

// addStalls makes the scheme know the Go types.
func addStalls(scheme *runtime.Scheme, version schema.GroupVersion) {
	scheme.AddKnownTypes(version, &Stall{}, &StallList{})
	metav1.AddToGroupVersion(scheme, version)
}
