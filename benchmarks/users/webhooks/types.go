// Package webhooks has the webhooks of a kind with two versions, one for Pods that is written by hand, and the suite
// that tests them.
package webhooks

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	Group = "batch.example.com"
	// The versions, as kubebuilder writes them.
	V1      = &scheme.Builder{GroupVersion: schema.GroupVersion{Group: Group, Version: "v1"}}
	V1beta1 = &scheme.Builder{GroupVersion: schema.GroupVersion{Group: Group, Version: "v1beta1"}}
)

// Backup is the hub.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Schedule string `json:"schedule,omitempty"`
	Keep     *int32 `json:"keep,omitempty"`
}

func (*Backup) Hub() {}

func (b *Backup) DeepCopyObject() runtime.Object {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// OldBackup is a spoke.
type OldBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Minute, Hour string
}

func (b *OldBackup) DeepCopyObject() runtime.Object {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (b *OldBackup) ConvertTo(hub conversion.Hub) error {
	dst := hub.(*Backup)
	dst.ObjectMeta = b.ObjectMeta
	dst.Schedule = fmt.Sprintf("%s %s * * *", b.Minute, b.Hour)
	return nil
}

func (b *OldBackup) ConvertFrom(hub conversion.Hub) error {
	src := hub.(*Backup)
	b.ObjectMeta = src.ObjectMeta
	_, err := fmt.Sscanf(src.Schedule, "%s %s", &b.Minute, &b.Hour)
	return err
}

var (
	_ conversion.Hub         = &Backup{}
	_ conversion.Convertible = &OldBackup{}
)

func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(V1.GroupVersion.WithKind("Backup"), &Backup{})
	s.AddKnownTypeWithName(V1beta1.GroupVersion.WithKind("Backup"), &OldBackup{})
	return nil
}
