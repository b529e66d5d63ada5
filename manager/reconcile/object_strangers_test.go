package reconcile_test

import (
	"context"
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
