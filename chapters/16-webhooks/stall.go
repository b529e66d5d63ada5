package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/conversion"
)

const group = "market.example"

// region versions

// Stall is a stall in a market, in version v2. This version is stored, and it is the hub.
type Stall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              StallSpec `json:"spec"`
}

// StallSpec says what is sold there, and when: from one full hour to another.
type StallSpec struct {
	Fruit  string `json:"fruit,omitempty"`
	Opens  int    `json:"opens,omitempty"`
	Closes int    `json:"closes,omitempty"`
}

// Hub marks v2 as the hub.
func (*Stall) Hub() {}

// StallV1 is a stall in version v1, which has the hours in one field, as in "8-18".
type StallV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              StallV1Spec `json:"spec"`
}

// StallV1Spec is the spec of version v1.
type StallV1Spec struct {
	Fruit string `json:"fruit,omitempty"`
	Hours string `json:"hours,omitempty"`
}

// ConvertTo implements conversion.Convertible.
func (s *StallV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*Stall)
	to.ObjectMeta = s.ObjectMeta
	to.Spec = StallSpec{Fruit: s.Spec.Fruit}
	if s.Spec.Hours == "" {
		return nil // the defaulter fills them in
	}
	if _, err := fmt.Sscanf(s.Spec.Hours, "%d-%d", &to.Spec.Opens, &to.Spec.Closes); err != nil {
		return fmt.Errorf("spec.hours is %q, and should be like 8-18: %w", s.Spec.Hours, err)
	}
	return nil
}

// ConvertFrom implements conversion.Convertible.
func (s *StallV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Stall)
	s.ObjectMeta = from.ObjectMeta
	s.Spec = StallV1Spec{Fruit: from.Spec.Fruit}
	if from.Spec.Opens != 0 || from.Spec.Closes != 0 {
		s.Spec.Hours = fmt.Sprintf("%d-%d", from.Spec.Opens, from.Spec.Closes)
	}
	return nil
}

// endregion versions

// DeepCopyObject implements runtime.Object.
func (s *Stall) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (s *StallV1) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func addStalls(scheme *runtime.Scheme) {
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Stall"}, &StallV1{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v2", Kind: "Stall"}, &Stall{})
}
