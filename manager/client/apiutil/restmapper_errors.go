package apiutil

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrResourceDiscoveryFailed says for which versions of groups the server did not tell what is in
// them, and why. A version that is not there counts as meta.NoResourceMatchError, so that
// meta.IsNoMatchError is true for it.
type ErrResourceDiscoveryFailed map[schema.GroupVersion]error

// Error implements error.
func (e *ErrResourceDiscoveryFailed) Error() string {
	var failures []string
	for version, err := range *e {
		failures = append(failures, fmt.Sprintf("%s: %v", version, err))
	}
	slices.Sort(failures)
	return "the server does not say which resources it has: " + strings.Join(failures, ", ")
}

// Unwrap returns the failures.
func (e *ErrResourceDiscoveryFailed) Unwrap() []error {
	var failures []error
	for version, err := range *e {
		if apierrors.IsNotFound(err) {
			err = &meta.NoResourceMatchError{PartialResource: version.WithResource("")}
		}
		failures = append(failures, err)
	}
	return failures
}
