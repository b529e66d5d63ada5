package client

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsAbsent reports whether an error is the API server's own word that there's no object with this
// key. Code that deletes, creates or gives up because something is missing uses this instead of
// apierrors.IsNotFound. That one is true for any 404, so it would take a proxy's "404 page not
// found" for a deleted Pod.
//
// An error passes if it's a Status with the reason NotFound about an object of this name. These
// don't:
//   - a 404 from a load balancer or a login page. It has no Status, and client-go's REST client
//     notes that as a cause, UnexpectedServerResponse;
//   - the API server's 404 for a path that it doesn't serve, because a CRD was deleted or isn't
//     served yet. That has no Status either, and says nothing about the object;
//   - a create's 404 for the missing namespace: it's about another object.
//
// A nil error isn't an absence. The error may be wrapped. It may also come from a cache: then it's
// only the cache's word.
func IsAbsent(err error, key ObjectKey) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Reason != metav1.StatusReasonNotFound {
		return false
	}
	about := answer.Status().Details
	switch {
	case about == nil || about.Name != key.Name:
		return false
	case key.Namespace != "" && about.Group == "" && about.Kind == "namespaces":
		return false
	}
	return !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
