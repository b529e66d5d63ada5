package conversion

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// These are the types of k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 with the same names and fields. That
// package has whole CustomResourceDefinitions, too, and each program with a manager would be half a
// megabyte larger.

const (
	reviewKind    = "ConversionReview"
	reviewGroup   = "apiextensions.k8s.io"
	reviewVersion = reviewGroup + "/v1"
	olderReviews  = reviewGroup + "/v1beta1" // has the same fields
)

// conversionReview is a question of the API server, and its answer.
type conversionReview struct {
	metav1.TypeMeta
	Request  *conversionRequest  `json:"request,omitempty"`
	Response *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               types.UID              `json:"uid"`
	DesiredAPIVersion string                 `json:"desiredAPIVersion"`
	Objects           []runtime.RawExtension `json:"objects"`
}

type conversionResponse struct {
	UID              types.UID              `json:"uid"`
	ConvertedObjects []runtime.RawExtension `json:"convertedObjects"`
	Result           metav1.Status          `json:"result"`
}
