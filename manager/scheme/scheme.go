// Package scheme registers the Go types of an API group with a scheme.
//
// A package of API types has a Builder, and each of its files registers its types with it. A
// program adds all of them to its scheme with AddToScheme.
//
// Neighbours: below it is apimachinery's runtime. Above it are users' API packages. A package that
// should depend only on apimachinery can use runtime.NewSchemeBuilder.
package scheme

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Builder collects the types of one version of an API group.
type Builder struct {
	GroupVersion schema.GroupVersion
	runtime.SchemeBuilder
}

// Register takes pointers to the types, and to their lists. It returns the Builder.
func (b *Builder) Register(object ...runtime.Object) *Builder {
	b.SchemeBuilder.Register(func(s *runtime.Scheme) error {
		s.AddKnownTypes(b.GroupVersion, object...)
		metav1.AddToGroupVersion(s, b.GroupVersion)
		return nil
	})
	return b
}

// RegisterAll adds the types that another Builder has registered so far, under its GroupVersion.
func (b *Builder) RegisterAll(other *Builder) *Builder {
	b.SchemeBuilder = append(b.SchemeBuilder, other.SchemeBuilder...)
	return b
}

// AddToScheme adds the types to a scheme.
func (b *Builder) AddToScheme(s *runtime.Scheme) error { return b.SchemeBuilder.AddToScheme(s) }

// Build returns a scheme that has only these types.
func (b *Builder) Build() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, b.AddToScheme(s)
}
