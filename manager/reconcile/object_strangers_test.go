package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// A reconciler with a client that reads from the server gets a proxy's "404 page not found". If
// that were the end of the request, a change of the object would stay unnoticed until the next one.
func TestAnObjectThatAProxyDoesNotFindIsTriedAgain(t *testing.T) {
	never := objectFunc[*corev1.ConfigMap](
		func(context.Context, *corev1.ConfigMap) (reconcile.Result, error) {
			require.FailNow(t, "there is no object")
			return reconcile.Result{}, nil
		})
	page := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{
		Resource: "configmaps"}, "web", "404 page not found", 0, true)
	for name, err := range map[string]error{
		"a proxy's page":  page,
		"another object":  apierrors.NewNotFound(schema.GroupResource{}, "api"),
		"a wrapped page":  fmt.Errorf("reading: %w", page),
		"without an idea": apierrors.NewNotFound(schema.GroupResource{}, ""),
	} {
		_, got := reconcile.AsReconciler(reader{err: err}, never).Reconcile(t.Context(), request)
		require.ErrorIs(t, got, err, name)
	}
	wrapped := fmt.Errorf("reading: %w", apierrors.NewNotFound(schema.GroupResource{}, "web"))
	_, err := reconcile.AsReconciler(reader{err: wrapped}, never).Reconcile(t.Context(), request)
	require.NoError(t, err, "the API server has said so")
}

// This is how the documentation of package finalizer joins the answer of the cleanups with that of
// the write that follows. The write was fine, so nothing wants a retry, and the request waits.
func TestAWaitThatWasJoinedWithNoErrorIsAWait(t *testing.T) {
	wants := reconcile.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "web"}
	joined := errors.Join(nil, fmt.Errorf("cleaning up: %w", reconcile.WaitFor(wants)), nil)
	got, waits := reconcile.WaitsFor(fmt.Errorf("reconciling: %w", joined))
	require.True(t, waits)
	require.Equal(t, wants, got)
	_, waits = reconcile.WaitsFor(errors.Join(reconcile.WaitFor(wants), errors.New("conflict")))
	require.False(t, waits, "the conflict would never be retried")
	_, waits = reconcile.WaitsFor(errors.Join(reconcile.WaitFor(wants), reconcile.WaitFor(wants)))
	require.False(t, waits)
}
