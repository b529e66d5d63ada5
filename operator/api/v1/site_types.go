package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Finalizer keeps a site until its host is no longer registered.
	Finalizer = "web.example.com/registration"
	// ProtectedAnnotation, with the value "true", keeps a site from being deleted.
	ProtectedAnnotation = "web.example.com/protected"
	// SiteLabel is on each ConfigMap of a site, and has the site's name.
	SiteLabel = "web.example.com/site"

	// DefaultTheme is the theme of a site that names none.
	DefaultTheme = "plain"
	// DefaultTokenSecret is the Secret of a site that names none.
	DefaultTokenSecret = "registrar"
	// TokenKey is where a Secret has the token.
	TokenKey = "token"
)

// Types and reasons of conditions.
const (
	ConditionPublished  = "Published"
	ConditionRegistered = "Registered"
	ConditionReady      = "Ready"

	ReasonPublished    = "Published"
	ReasonInvalid      = "Invalid"
	ReasonRegistered   = "Registered"
	ReasonTokenMissing = "TokenMissing"
	ReasonRefused      = "Refused"
	ReasonUnavailable  = "Unavailable"
	ReasonReady        = "Ready"
	ReasonNotReady     = "NotRegistered"
)

// Page is one page of a site.
type Page struct {
	// Name is part of the page's address.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// Body is what the page shows.
	Body string `json:"body"`
}

// SiteSpec is what somebody wants.
type SiteSpec struct {
	// Host is the name under which the site is to be found.
	Host string `json:"host"`
	// Theme is how it looks. The default is plain.
	// +optional
	Theme string `json:"theme,omitempty"`
	// TokenSecret names a Secret of the namespace with the token for the registrar. The default is registrar.
	// +optional
	TokenSecret string `json:"tokenSecret,omitempty"`
	// Pages are sorted by name when the site is stored.
	// +listType=map
	// +listMapKey=name
	// +optional
	Pages []Page `json:"pages,omitempty"`
}

// SiteStatus is what there is.
type SiteStatus struct {
	// ObservedGeneration is that of the spec which this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Pages is the number of pages that are published.
	// +optional
	Pages int32 `json:"pages,omitempty"`
	// RegisteredHost is the host that the registrar has for this site.
	// +optional
	RegisteredHost string `json:"registeredHost,omitempty"`
	// Conditions are Published, Registered and Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Site is a set of pages under a host.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="Pages",type=integer,JSONPath=`.status.pages`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitempty"`
}

// Hub says that other versions are converted to this one.
func (*Site) Hub() {}

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
