package manager_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirfinalizer "sigs.k8s.io/controller-runtime/pkg/finalizer"

	ourclient "github.com/loopwright/loopwright/manager/client"
	ourfinalizer "github.com/loopwright/loopwright/manager/finalizer"
)

// cleanupError is of a type, so that a caller may look for it.
type cleanupError struct{ name string }

func (e *cleanupError) Error() string { return e.name + " failed" }

// cleanup is what one cleanup does: the same on both sides.
type cleanup struct {
	name            string
	fails           bool
	updated, status bool
	called          *[]string
}

func (c cleanup) run() error {
	*c.called = append(*c.called, c.name)
	if c.fails {
		return &cleanupError{c.name}
	}
	return nil
}

type ourCleanup struct{ cleanup }

func (c ourCleanup) Finalize(context.Context, ourclient.Object) (ourfinalizer.Result, error) {
	return ourfinalizer.Result{Updated: c.updated, StatusUpdated: c.status}, c.run()
}

type theirCleanup struct{ cleanup }

func (c theirCleanup) Finalize(context.Context, theirclient.Object) (theirfinalizer.Result, error) {
	return theirfinalizer.Result{Updated: c.updated, StatusUpdated: c.status}, c.run()
}

// finalized is all that a caller can notice. controller-runtime's order is random, so both are sorted.
type finalized struct {
	updated, status    bool
	finalizers, called []string
	failed             []string
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func failedIn(t *testing.T, err error) (failed []string) {
	if err == nil {
		return nil
	}
	all, is := err.(kerrors.Aggregate)
	require.True(t, is, "a user's code may take it apart")
	for _, one := range all.Errors() {
		e, found := errors.AsType[*cleanupError](one)
		require.True(t, found)
		require.ErrorIs(t, err, e)
		failed = append(failed, e.name)
	}
	return sorted(failed)
}

// An object would go too early, or never.
func TestFinalizersDoWhatControllerRuntimesDo(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 3))
	for range 3000 {
		obj := &corev1.Pod{}
		for range r.IntN(5) {
			obj.Finalizers = append(obj.Finalizers, fmt.Sprintf("a/%d", r.IntN(5)))
		}
		if r.IntN(3) > 0 {
			obj.DeletionTimestamp = &metav1.Time{Time: pick(r, time.Time{}, time.Unix(1, 0), time.Unix(1, 0))}
		}
		var cleanups []cleanup
		for _, n := range r.Perm(5)[:r.IntN(5)] {
			cleanups = append(cleanups, cleanup{name: fmt.Sprintf("a/%d", n), fails: r.IntN(3) == 0, updated: r.IntN(2) == 0, status: r.IntN(2) == 0})
		}
		ourObject, theirObject := obj.DeepCopy(), obj.DeepCopy()
		mine, yours, ourCalls, theirCalls := ourfinalizer.NewFinalizers(), theirfinalizer.NewFinalizers(), []string{}, []string{}
		for _, c := range cleanups {
			c.called = &ourCalls
			require.NoError(t, mine.Register(c.name, ourCleanup{c}))
			require.Error(t, mine.Register(c.name, ourCleanup{c}))
			c.called = &theirCalls
			require.NoError(t, yours.Register(c.name, theirCleanup{c}))
			require.Error(t, yours.Register(c.name, theirCleanup{c}))
		}
		want, theirErr := yours.Finalize(t.Context(), theirObject)
		got, ourErr := mine.Finalize(t.Context(), ourObject)
		require.Equal(t,
			finalized{want.Updated, want.StatusUpdated, sorted(theirObject.Finalizers), sorted(theirCalls), failedIn(t, theirErr)},
			finalized{got.Updated, got.StatusUpdated, sorted(ourObject.Finalizers), sorted(ourCalls), failedIn(t, ourErr)},
			"%v, cleanups %v", obj.ObjectMeta, cleanups)
	}
}

// A caller that looks for the type of an error would not see it.
func TestControllerRuntimeHidesTheTypeOfACleanupsError(t *testing.T) {
	obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a/0", "a/1"}, DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}}
	mine, yours, called := ourfinalizer.NewFinalizers(), theirfinalizer.NewFinalizers(), []string{}
	for _, name := range obj.Finalizers {
		c := cleanup{name: name, fails: true, called: &called}
		require.NoError(t, errors.Join(mine.Register(name, ourCleanup{c}), yours.Register(name, theirCleanup{c})))
	}
	_, ourErr := mine.Finalize(t.Context(), obj)
	_, theirErr := yours.Finalize(t.Context(), obj)
	_, found := errors.AsType[*cleanupError](ourErr)
	require.True(t, found)
	_, found = errors.AsType[*cleanupError](theirErr)
	require.False(t, found, "theirs finds it by now: remove what explains the difference")
}
