package finalizer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/client"
)

// A record would stay that nobody knows of, and the bill for it. There are at most six writes; this
// is about all the places where the program may end, and a user delete the object.
func TestWhereverTheProgramEndsNoRecordIsLeftBehind(t *testing.T) {
	inShop(t, func(s *shop) {
		play := func(crashBefore, crashAfter, deleteAt int) {
			s.step, s.crashBefore, s.crashAfter, s.userAt, s.visit = 0, crashBefore, crashAfter, deleteAt, s.delete
			s.open()
			s.settle()
			about := fmt.Sprintf("the program ended before write %d or after write %d, and the "+
				"user came at write %d", crashBefore, crashAfter, deleteAt)
			require.Nil(s, s.stored(), about)
			require.Empty(s, s.records, about)
		}
		for deleteAt := 1; deleteAt <= 7; deleteAt++ {
			for at := range 7 {
				play(at, 0, deleteAt)
				play(0, at, deleteAt)
			}
		}
	})
}

// The finalizer has to be in the cluster before the record is made. In the other order, there is a
// moment in which the object can go, and the record stays.
func TestARecordThatIsMadeBeforeTheFinalizerIsWrittenIsLeftBehind(t *testing.T) {
	inShop(t, func(s *shop) {
		s.recordFirst, s.userAt, s.visit = true, 2, s.delete
		s.open()
		s.settle()
		require.Nil(s, s.stored())
		require.Len(s, s.records, 1)
	})
}

// The object would go while its record is still there.
func TestTheObjectStaysAsLongAsTheCleanupFails(t *testing.T) {
	inShop(t, func(s *shop) {
		s.open()
		s.settle()
		s.delete()
		s.down = true
		for range 3 {
			require.ErrorContains(s, s.reconcile(), "the DNS server is down")
			require.NotNil(s, s.stored())
			require.Len(s, s.records, 1)
		}
		s.down = false
		require.NoError(s, s.reconcile())
		require.Nil(s, s.stored())
		require.Empty(s, s.records)
	})
}

// Somebody changes the object during the cleanup. Their change would be lost, or the finalizer
// stay.
func TestAConflictOnTheLastUpdateRunsTheCleanupAgain(t *testing.T) {
	inShop(t, func(s *shop) {
		s.open("shop.example/other") // keeps the object, so that it can be looked at
		s.settle()
		s.delete()
		s.userAt, s.visit = s.step+2, s.relabel // write 1 is the record's, write 2 the update
		require.True(s, apierrors.IsConflict(s.reconcile()))
		require.Contains(s, s.stored().Finalizers, dns, "an update that is refused removes nothing")
		require.Equal(s, 1, s.cleanups)

		require.NoError(s, s.reconcile())
		require.Equal(s, 2, s.cleanups, "it has to bear this")
		require.Equal(s, []string{"shop.example/other"}, s.stored().Finalizers)
		require.Equal(s, "fruit", s.stored().Labels["team"], "what the user has written is lost")
	})
}

// The controller's cache shows an object that is being deleted, or gone. A record that is made for
// it now would be left behind.
func TestADeletionThatTheCacheHasNotSeenMakesNoRecord(t *testing.T) {
	for name, finalizers := range inorder.Map(map[string][]string{"gone": nil,
		"being deleted": {"shop.example/other"}}) {
		t.Run(name, func(t *testing.T) {
			inShop(t, func(s *shop) {
				s.cached = s.open(finalizers...)
				s.delete()
				require.Error(s, s.reconcile())
				require.Empty(s, s.records)
			})
		})
	}
}

// again deletes the object, lets the last update succeed, and loses the server's answer. The
// controller tries again with what its cache shows: the object as it was before. In between, a user
// has made an object of the same name, and the controller a record for it.
func again(s *shop) {
	s.open()
	s.settle()
	s.delete()
	before := s.stored()
	s.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Times: 1,
		LoseResponse: true})
	require.Error(s, s.reconcile())
	require.Nil(s, s.stored())
	s.open()
	s.settle()
	require.Contains(s, s.records, s.nameOf(s.stored()))
	s.cached = before
}

// A cleanup may be repeated after the object is gone. What it removes must not belong to the next
// object of that name.
func TestARecordThatHasTheNameOfTheObjectIsTakenFromItsSuccessor(t *testing.T) {
	inShop(t, func(s *shop) {
		again(s)
		require.True(s, apierrors.IsConflict(s.reconcile()),
			"the update is refused, but the cleanup was called")
		require.Empty(s, s.records)
	})
	inShop(t, func(s *shop) {
		s.nameOf = func(obj client.Object) string {
			return obj.GetName() + "-" + string(obj.GetUID())
		}
		again(s)
		require.True(s, apierrors.IsConflict(s.reconcile()))
		require.Contains(s, s.records, s.nameOf(s.stored()),
			"with the UID in its name, the record of the successor is another one")
		require.Len(s, s.records, 1)
	})
}

// The last update has the version that was read, so it is refused. A patch without a lock is about
// a name: it removes the finalizer of the next object of that name.
func TestAPatchWithoutALockTakesTheFinalizerFromTheSuccessor(t *testing.T) {
	for _, c := range []struct {
		name    string
		write   func(s *shop, before, after *corev1.ConfigMap) error
		refused bool
	}{
		{"update", func(s *shop, _, after *corev1.ConfigMap) error {
			return s.user.Update(s.Context(), after)
		}, true},
		{"patch with a lock", func(s *shop, before, after *corev1.ConfigMap) error {
			return s.user.Patch(s.Context(), after,
				client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}, true},
		{"patch", func(s *shop, before, after *corev1.ConfigMap) error {
			return s.user.Patch(s.Context(), after, client.MergeFrom(before))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inShop(t, func(s *shop) {
				again(s)
				err := c.write(s, s.cached, removed(s.cached))
				require.Equal(s, c.refused, apierrors.IsConflict(err), "%v", err)
				require.Equal(s, c.refused, len(s.stored().Finalizers) == 1)
			})
		})
	}
}
