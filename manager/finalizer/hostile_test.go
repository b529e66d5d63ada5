package finalizer

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// A controller recovers the panic of a reconciler. The object must not lose the finalizer of a
// cleanup that didn't run to its end, or of one that didn't run at all.
func TestACleanupThatPanicsKeepsItsFinalizerAndThoseAfterIt(t *testing.T) {
	c := register(t, disk, dns, dns2)
	c.during = func(name string, _ client.Object) {
		if name == dns {
			panic("slipped")
		}
	}
	object := deleted(disk, alien, dns, dns2)
	require.PanicsWithValue(t, "slipped", func() { _, _ = c.Finalize(t.Context(), object) })
	require.Equal(t, []string{disk, dns}, c.called)
	require.Equal(t, []string{alien, dns, dns2}, object.Finalizers)
	c.during = nil
	result, err := c.Finalize(t.Context(), object)
	require.NoError(t, err)
	require.True(t, result.Updated)
	require.Equal(t, []string{alien}, object.Finalizers, "the next reconcile goes on")
}

// kubectl has removed the finalizer by hand, because the cleanup hung. It isn't called again, and
// the others' finalizers aren't touched.
func TestACleanupWhoseFinalizerWasRemovedByHandIsNotCalled(t *testing.T) {
	c := register(t, disk, dns)
	object := deleted(alien, dns)
	_, err := c.Finalize(t.Context(), object)
	require.NoError(t, err)
	require.Equal(t, []string{dns}, c.called)
	require.Equal(t, []string{alien}, object.Finalizers)
	result, err := c.Finalize(t.Context(), object)
	require.NoError(t, err)
	require.Equal(t, Result{}, result, "twice is once: there's nothing to write")
	require.Equal(t, []string{dns}, c.called)
}

// The reconciler of the documentation: one cleanup has finished, and another waits for an object.
// The write of the first is fine, so the request waits, and isn't an error that's retried and
// logged each time.
func TestAWaitThatIsJoinedWithTheWriteOfAnotherCleanupIsStillAWait(t *testing.T) {
	c := register(t, disk, dns)
	wants := reconcile.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "web"}
	c.answers[dns] = answer{err: reconcile.WaitFor(wants)}
	reconciler := func(update error) error {
		object := deleted(disk, dns)
		result, err := c.Finalize(t.Context(), object)
		if result.Updated {
			err = errors.Join(err, update)
		}
		return err
	}
	got, waits := reconcile.WaitsFor(reconciler(nil))
	require.True(t, waits)
	require.Equal(t, wants, got)
	_, waits = reconcile.WaitsFor(reconciler(errors.New("conflict")))
	require.False(t, waits, "the write that failed has to be repeated")
}
