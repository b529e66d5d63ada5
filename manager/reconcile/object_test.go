package reconcile_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// reader is a client that can only get config maps, and always the same one.
type reader struct {
	client.Client
	err error
}

// Get implements client.Reader.
func (r reader) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if r.err != nil {
		return r.err
	}
	obj.SetName(key.Name)
	obj.SetNamespace(key.Namespace)
	return nil
}

// objectFunc is an ObjectReconciler.
type objectFunc[T client.Object] func(context.Context, T) (reconcile.Result, error)

// Reconcile implements reconcile.ObjectReconciler.
func (f objectFunc[T]) Reconcile(ctx context.Context, obj T) (reconcile.Result, error) {
	return f(ctx, obj)
}

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}

func TestAnObjectReconcilerGetsTheObject(t *testing.T) {
	priority, failed := 7, errors.New("no luck")
	var seen []*corev1.ConfigMap
	r := reconcile.AsReconciler(reader{}, objectFunc[*corev1.ConfigMap](func(_ context.Context, obj *corev1.ConfigMap) (reconcile.Result, error) {
		seen = append(seen, obj)
		return reconcile.Result{Priority: &priority}, failed
	}))
	for range 2 {
		result, err := r.Reconcile(t.Context(), request)
		require.Equal(t, reconcile.Result{Priority: &priority}, result)
		require.Equal(t, failed, err)
	}
	require.Equal(t, "web", seen[0].Name)
	require.NotSame(t, seen[0], seen[1], "each call has an object of its own, which it may change")
}

func TestAnObjectThatIsGoneNeedsNoReconciler(t *testing.T) {
	r := reconcile.AsReconciler(reader{err: apierrors.NewNotFound(schema.GroupResource{}, "web")}, objectFunc[*corev1.ConfigMap](func(context.Context, *corev1.ConfigMap) (reconcile.Result, error) {
		require.FailNow(t, "there is no object")
		return reconcile.Result{}, nil
	}))
	result, err := r.Reconcile(t.Context(), request)
	require.NoError(t, err, "a deleted object would be retried forever")
	require.True(t, result.IsZero())
}

func TestAnObjectThatCannotBeReadIsTriedAgain(t *testing.T) {
	down := errors.New("connection refused")
	_, err := reconcile.AsReconciler(reader{err: down}, objectFunc[*corev1.ConfigMap](nil)).Reconcile(t.Context(), request)
	require.ErrorIs(t, err, down)
	require.NotErrorIs(t, err, reconcile.TerminalError(nil))
}

func TestAnObjectReconcilerOfAnInterfaceIsAMistake(t *testing.T) {
	_, err := reconcile.AsReconciler(reader{}, objectFunc[client.Object](nil)).Reconcile(t.Context(), request)
	require.ErrorContains(t, err, "client.Object isn't one")
	require.ErrorIs(t, err, reconcile.TerminalError(nil), "to try again cannot help")
}
