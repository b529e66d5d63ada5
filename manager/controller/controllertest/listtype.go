package controllertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// UnconventionalListType is a kind whose list has pointers for items, as some API packages do.
type UnconventionalListType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              string `json:"spec,omitempty"`
}

// UnconventionalListTypeList is its list.
type UnconventionalListTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []*UnconventionalListType `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (u *UnconventionalListType) DeepCopyObject() runtime.Object { return u.DeepCopy() }

// DeepCopy returns a copy.
func (u *UnconventionalListType) DeepCopy() *UnconventionalListType {
	made := *u
	u.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	return &made
}

// DeepCopyObject implements runtime.Object.
func (u *UnconventionalListTypeList) DeepCopyObject() runtime.Object { return u.DeepCopy() }

// DeepCopy returns a copy.
func (u *UnconventionalListTypeList) DeepCopy() *UnconventionalListTypeList {
	made := &UnconventionalListTypeList{TypeMeta: u.TypeMeta}
	u.ListMeta.DeepCopyInto(&made.ListMeta)
	for _, item := range u.Items {
		made.Items = append(made.Items, item.DeepCopy())
	}
	return made
}
