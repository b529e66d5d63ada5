package informer

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// What an operator reads in a log is all they have: it must say what to do, and where.
func TestARefusalSaysWhatToDo(t *testing.T) {
	answer := errors.New("the server's answer")
	for _, c := range []struct {
		refused RefusedError
		want    string
	}{
		{RefusedError{Reason: Forbidden, Verb: "list", Resource: deploymentResource},
			`this client may not list deployments.apps in all namespaces, bind it to a ClusterRole with the rule {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}`},
		{RefusedError{Reason: Forbidden, Verb: "watch", Resource: deploymentResource, Namespace: "shop"},
			`this client may not watch deployments.apps in namespace shop, bind it to a Role there with the rule {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}`},
		{RefusedError{Reason: UnknownKind, Verb: "list", Resource: deploymentResource},
			"cannot list deployments.apps, the API server does not serve apps/v1, Resource=deployments: is its CustomResourceDefinition installed, or its API server up?"},
		{RefusedError{Reason: BadCredentials, Verb: "watch", Resource: deploymentResource},
			"cannot watch deployments.apps, the API server does not accept this client's credentials: they are missing, wrong or expired"},
		{RefusedError{Reason: Forbidden, Verb: "list", Kind: "Deployment"}, "this client may not list Deployment"},
		{RefusedError{Reason: UnknownKind, Verb: "list", Kind: "Deployment"}, "cannot list Deployment, the API server does not serve it"},
		{RefusedError{Reason: BadCredentials, Verb: "list", Kind: "Deployment"},
			"cannot list Deployment, the API server does not accept this client's credentials: they are missing, wrong or expired"},
	} {
		c.refused.Err = answer
		require.EqualError(t, &c.refused, c.want+": the server's answer")
		require.ErrorIs(t, &c.refused, answer)
	}
}

// What the machine does after an error depends on nothing but this.
func TestEachErrorIsTheFaultThatItIs(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	answered := func(code int, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason}}
	}
	tooLarge := apierrors.NewTimeoutError("Too large resource version", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for _, c := range []struct {
		name string
		err  error
		want faultKind
	}{
		{"a broken connection", errors.New("connection reset"), faultBroken},
		{"an internal error", answered(http.StatusInternalServerError, metav1.StatusReasonInternalError), faultBroken},
		{"a timeout", apierrors.NewTimeoutError("busy", 1), faultBroken},
		{"forbidden", apierrors.NewForbidden(pods, "", nil), faultBroken},
		{"cut by us", errStalled, faultStalled},
		{"expired", answered(http.StatusGone, metav1.StatusReasonExpired), faultExpired},
		{"gone", answered(http.StatusGone, metav1.StatusReasonGone), faultExpired},
		{"a version that the server has not reached", tooLarge, faultTooLarge},
		{"not found", apierrors.NewNotFound(pods, ""), faultUnknownKind},
		{"invalid", answered(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), faultUnsupported},
		{"a bad request", apierrors.NewBadRequest("no"), faultUnsupported},
		{"a method that is not supported", apierrors.NewMethodNotSupported(pods, "watch"), faultUnsupported},
		{"a media type that is not supported", answered(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType), faultUnsupported},
		{"an object that cannot be read", answered(http.StatusInternalServerError, metav1.StatusReasonStoreReadError), faultUnreadable},
	} {
		require.Equal(t, c.want, faultOf(c.err), c.name)
	}
}

// An error that nobody but the caller understands must reach the caller as it is.
func TestOnlyARefusalBecomesARefusedError(t *testing.T) {
	broken := errors.New("connection reset")
	require.Same(t, broken, readerIdentity{kind: "Pod"}.refusedOr(broken, "list"))
	var refused *RefusedError
	require.ErrorAs(t, readerIdentity{kind: "Pod", resource: podResource, namespace: "shop"}.refusedOr(apierrors.NewForbidden(podResource.GroupResource(), "", nil), "list"), &refused)
	require.True(t, apierrors.IsForbidden(refused.Err))
	refused.Err = nil
	require.Equal(t, &RefusedError{Reason: Forbidden, Verb: "list", Kind: "Pod", Resource: podResource, Namespace: "shop"}, refused)
}
