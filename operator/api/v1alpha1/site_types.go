package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SiteSpec is what somebody wants.
type SiteSpec struct {
	// Domain is the name under which the site is to be found.
	Domain string `json:"domain"`
	// Theme is how it looks.
	// +optional
	Theme string `json:"theme,omitempty"`
	// TokenSecret names a Secret of the namespace with the token for the registrar.
	// +optional
	TokenSecret string `json:"tokenSecret,omitempty"`
	// Content has the pages' bodies by the pages' names.
	// +optional
	Content map[string]string `json:"content,omitempty"`
}

// SiteStatus is what there is.
type SiteStatus struct {
	// ObservedGeneration is that of the spec which this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Pages is the number of pages that are published.
	// +optional
	Pages int32 `json:"pages,omitempty"`
	// RegisteredDomain is the domain that the registrar has for this site.
	// +optional
	RegisteredDomain string `json:"registeredDomain,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Site is a set of pages under a domain.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitempty"`
}

// SiteList is a list of sites.
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Site{}, &SiteList{})
}
