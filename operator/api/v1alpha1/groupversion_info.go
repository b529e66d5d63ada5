// Package v1alpha1 has the types of web.example.com/v1alpha1, which is served for old clients.
// +kubebuilder:object:generate=true
// +groupName=web.example.com
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion is the group and version of these types.
	GroupVersion = schema.GroupVersion{Group: "web.example.com", Version: "v1alpha1"}

	// SchemeBuilder collects the types.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}

	// AddToScheme adds the types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
