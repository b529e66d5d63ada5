package finalizer

import (
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// Without the finalizer, the object goes at once when somebody deletes it, and what it has left
// outside stays.
// Function: pass.next
func TestAnObjectGetsTheFinalizersThatItLacks(t *testing.T) {
	for _, c := range []struct {
		name      string
		has, want []string
		updated   bool
	}{
		{"it has none", nil, []string{disk, dns}, true},
		{"it has one of another program", []string{alien}, []string{alien, disk, dns}, true},
		{"it has the first of ours", []string{disk}, []string{disk, dns}, true},
		{"it has the last of ours", []string{dns}, []string{dns, disk}, true},
		{"it has one that begins like ours", []string{dns2}, []string{dns2, disk, dns}, true},
		{"it has both, so there is nothing to write", []string{dns, alien, disk},
			[]string{dns, alien, disk}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, obj := register(t, disk, dns), kept(c.has...)
			result, err := all.Finalize(t.Context(), obj)
			require.NoError(t, err)
			require.Equal(t, c.want, obj.Finalizers)
			require.Equal(t, Result{Updated: c.updated}, result,
				"the caller writes the object if Updated is true, and only then")
		})
	}
}

// A cleanup of an object that is in use takes away what its users need.
// Function: pass.next
func TestNothingIsCleanedUpBeforeTheObjectIsDeleted(t *testing.T) {
	all, obj := register(t, disk, dns), kept(disk, dns)
	_, err := all.Finalize(t.Context(), obj)
	require.NoError(t, err)
	require.Empty(t, all.called)
}

// Some clients write the timestamp of an object that is not being deleted.
// Function: pass.next
func TestADeletionTimestampOfZeroIsNone(t *testing.T) {
	all, obj := register(t, disk), kept()
	obj.DeletionTimestamp = &metav1.Time{}
	_, err := all.Finalize(t.Context(), obj)
	require.NoError(t, err)
	require.Equal(t, []string{disk}, obj.Finalizers)
}

// The API server refuses a new finalizer on an object that is being deleted, and with it everything
// else in that write.
// Function: pass.next
func TestAnObjectThatIsBeingDeletedGetsNoFinalizer(t *testing.T) {
	for _, c := range []struct {
		name string
		has  []string
	}{{"it has none", nil}, {"it has one of another program", []string{alien}},
		{"it has one that begins like ours", []string{dns2}}} {
		t.Run(c.name, func(t *testing.T) {
			all, obj := register(t, disk, dns), deleted(c.has...)
			result, err := all.Finalize(t.Context(), obj)
			require.NoError(t, err)
			require.Equal(t, c.has, obj.Finalizers)
			require.Empty(t, all.called,
				"a cleanup was called though the object does not have its finalizer: it was "+
					"over already")
			require.Equal(t, Result{}, result, "nothing was changed, so there is nothing to write")
		})
	}
}

// A cleanup may find that another one is not needed any more.
// Function: pass.next
func TestACleanupCanTakeAwayTheFinalizerOfALaterOne(t *testing.T) {
	all, obj := register(t, disk, dns), deleted(disk, dns, alien)
	all.during = func(_ string, obj client.Object) { obj.SetFinalizers([]string{disk, alien}) }
	_, err := all.Finalize(t.Context(), obj)
	require.NoError(t, err)
	require.Equal(t, []string{disk}, all.called)
	require.Equal(t, []string{alien}, obj.Finalizers)
}

// If the program ends during the cleanup, after somebody has written the object, nobody would ever
// finish it.
// Function: pass.next
func TestTheFinalizerIsThereWhileItsCleanupRuns(t *testing.T) {
	all := register(t, disk, dns)
	all.during = func(name string, obj client.Object) {
		require.Contains(t, obj.GetFinalizers(), name, "it was removed too early")
	}
	_, err := all.Finalize(t.Context(), deleted(disk, dns))
	require.NoError(t, err)
}

// An object that keeps its finalizers never goes. One that loses those of others goes before they
// have cleaned up. Function: pass.ended
func TestACleanupThatSucceedsLosesItsFinalizerAndNoOther(t *testing.T) {
	for _, c := range []struct {
		name             string
		registered       []string
		before, expected []string
	}{
		{"its own", []string{dns}, []string{dns}, []string{}},
		{"those of others stay, in their order", []string{dns}, []string{alien, dns, disk, dns2},
			[]string{alien, disk, dns2}},
		{"both of ours", []string{disk, dns}, []string{dns, alien, disk}, []string{alien}},
		{"one that a client has written twice", []string{dns}, []string{dns, alien, dns},
			[]string{alien}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, obj := register(t, c.registered...), deleted(c.before...)
			result, err := all.Finalize(t.Context(), obj)
			require.NoError(t, err)
			require.Equal(t, c.expected, obj.Finalizers)
			require.True(t, result.Updated, "without a write, the object keeps its finalizers")
			require.False(t, result.StatusUpdated, "nobody has changed the status")
		})
	}
}

// An object whose cleanups are not all called never goes.
// Function: pass.next
func TestTheCleanupsAreCalledInTheOrderOfRegistration(t *testing.T) {
	for _, c := range []struct {
		name      string
		has, want []string
	}{
		{"all", []string{dns, alien, disk, dns2}, []string{disk, dns, dns2}},
		{"only the first", []string{disk}, []string{disk}},
		{"only the last", []string{alien, dns}, []string{dns}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := register(t, disk, dns, dns2)
			_, err := all.Finalize(t.Context(), deleted(c.has...))
			require.NoError(t, err)
			require.Equal(t, c.want, all.called)
		})
	}
}

// The object would go, and what it has left outside would stay: nobody knows of it any more.
// Function: pass.ended
func TestACleanupThatFailsKeepsItsFinalizer(t *testing.T) {
	all, obj := register(t, disk), deleted(disk, alien)
	all.answers[disk] = answer{err: errDown}
	result, err := all.Finalize(t.Context(), obj)
	require.ErrorIs(t, err, errDown, "without the error, nobody tries again")
	require.Equal(t, []string{disk, alien}, obj.Finalizers,
		"it was removed too early: the cleanup is not over")
	require.Equal(t, Result{}, result, "nothing was changed, so there is nothing to write")
}

// A provider that is down for a day would hold up the cleanups of all others.
func TestAFailureHoldsUpNoOtherCleanup(t *testing.T) {
	all, obj := register(t, disk, dns, dns2), deleted(disk, dns, dns2)
	all.answers[dns] = answer{err: errDown}
	result, err := all.Finalize(t.Context(), obj)
	require.ErrorIs(t, err, errDown, "the failure is lost, and nobody tries again")
	require.Equal(t, []string{disk, dns, dns2}, all.called)
	require.Equal(t, []string{dns}, obj.Finalizers,
		"those that have succeeded are removed, and the one that has failed stays")
	require.True(t, result.Updated)
}

// A cleanup that fails says so in the status, for the user who waits for the object to go.
// Function: pass.ended
func TestWhatAFailedCleanupHasChangedIsWritten(t *testing.T) {
	for _, c := range []struct {
		name          string
		changed, want Result
	}{
		{"the status", Result{StatusUpdated: true}, Result{StatusUpdated: true}},
		{"the rest", Result{Updated: true}, Result{Updated: true}},
		{"both", Result{Updated: true, StatusUpdated: true},
			Result{Updated: true, StatusUpdated: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := register(t, disk)
			all.answers[disk] = answer{c.changed, errDown}
			result, err := all.Finalize(t.Context(), deleted(disk))
			require.Error(t, err)
			require.Equal(t, c.want, result)
		})
	}
}

// What one cleanup has changed would not be written because of the next one.
// Function: pass.ended
func TestTheChangesOfAllCleanupsCount(t *testing.T) {
	status := answer{result: Result{StatusUpdated: true}}
	for _, c := range []struct {
		name        string
		first, last answer
		want        Result
	}{
		{"the first has changed the status", status, answer{},
			Result{Updated: true, StatusUpdated: true}},
		{"the last has changed the status", answer{}, status,
			Result{Updated: true, StatusUpdated: true}},
		{"the last has failed", answer{}, answer{err: errDown}, Result{Updated: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := register(t, disk, dns)
			all.answers[disk], all.answers[dns] = c.first, c.last
			result, err := all.Finalize(t.Context(), deleted(disk, dns))
			require.ErrorIs(t, err, c.last.err)
			require.Equal(t, c.want, result)
		})
	}
}

// Somebody has to find out which of five cleanups holds the object up.
func TestEveryFailureIsReportedWithTheNameOfItsFinalizer(t *testing.T) {
	all, errFull := register(t, disk, dns, dns2), errors.New("the disk is full")
	all.answers[disk], all.answers[dns2] = answer{err: errFull}, answer{err: errDown}
	_, err := all.Finalize(t.Context(), deleted(disk, dns, dns2))
	require.ErrorIs(t, err, errFull, "the first failure is lost")
	require.ErrorIs(t, err, errDown, "the last failure is lost")
	require.ErrorContains(t, err, disk, "the error does not name the finalizer")
	require.ErrorContains(t, err, dns2, "the error does not name the finalizer")
	require.NotRegexp(t, regexp.QuoteMeta(dns)+`([^2]|$)`, err.Error(), "this one has succeeded")
}

// A copy of a cached object may share the list of finalizers with it. All its readers would see a
// finalizer that is not there, or miss one.
func TestTheListThatTheObjectHadIsNotChanged(t *testing.T) {
	list := append(make([]string, 0, 10), alien, disk, dns) // with room for more
	for _, obj := range []*metav1.ObjectMeta{&kept().ObjectMeta, &deleted().ObjectMeta} {
		t.Run(map[bool]string{true: "while finalizers are added",
			false: "while finalizers are removed"}[obj.DeletionTimestamp == nil],
			func(t *testing.T) {
				obj.Finalizers = list
				whole := kept()
				whole.ObjectMeta = *obj
				_, err := register(t, disk, dns2).Finalize(t.Context(), whole)
				require.NoError(t, err)
				require.Equal(t, []string{alien, disk, dns, ""}, list[:4])
			})
	}
}

// A cleanup that waits for another object would be retried instead, with a growing delay.
func TestACleanupCanWaitForAnotherObject(t *testing.T) {
	all, pod := register(t, disk, dns), reconcile.ObjectRef{Kind: "Pod", Namespace: "shop",
		Name: "web-1"}
	all.answers[disk] = answer{err: reconcile.WaitFor(pod)}
	_, err := all.Finalize(t.Context(), deleted(disk, dns))
	ref, waits := reconcile.WaitsFor(err)
	require.True(t, waits)
	require.Equal(t, pod, ref)

	all.answers[dns] = answer{err: reconcile.TerminalError(errDown)}
	_, err = all.Finalize(t.Context(), deleted(disk, dns))
	_, waits = reconcile.WaitsFor(err)
	require.False(t, waits, "one of the two wants something else")
	require.ErrorIs(t, err, reconcile.TerminalError(nil))
}

// A name that the server refuses would be found out by the first user.
func TestANameThatTheServerRefusesCannotBeRegistered(t *testing.T) {
	all := NewFinalizers()
	for _, name := range []string{"", "a b", "shop.example/", "shop.example/a/b"} {
		require.ErrorContains(t, all.Register(name, cleanupFunc(nil)),
			"the API server would refuse", "%q", name)
	}
	require.ErrorContains(t, all.Register(dns, nil), "is nil")
	require.NoError(t, all.Register(dns, cleanupFunc(nil)))
	require.ErrorContains(t, all.Register(dns, cleanupFunc(nil)), "already",
		"two cleanups of one name: only one of them would be called")
}

// A kind that is added while controllers run must not crash them.
func TestAFinalizerCanBeRegisteredWhileOthersRun(t *testing.T) {
	all := register(t, disk)
	all.during = func(string, client.Object) {
		require.NoError(t, all.Register(dns, cleanupFunc(nil)))
	}
	obj := deleted(disk, dns)
	_, err := all.Finalize(t.Context(), obj)
	require.NoError(t, err)
	require.Equal(t, []string{dns}, obj.Finalizers, "it is for the next time")
}
