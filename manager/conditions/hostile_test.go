package conditions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/conditions"
)

// The patch was carried out, and its answer got lost. The next reconcile finds the condition, with
// the time at which it began, and has nothing to write.
func TestAWriteWhoseAnswerGotLostIsFoundByTheNextReconcile(t *testing.T) {
	inWorld(t, func(w *world) {
		reconcile := func() (bool, error) {
			service := w.read()
			before := service.DeepCopy()
			conditions.Set(service, &service.Status.Conditions, seen("Ready", metav1.ConditionTrue))
			return conditions.Write(w.Context(), w.Client, before, service)
		}
		began := metav1.Now().Rfc3339Copy()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, LoseResponse: true,
			Times: 1})
		_, err := reconcile()
		require.Error(t, err)
		time.Sleep(time.Minute)
		w.writes()
		written, err := reconcile()
		require.NoError(t, err)
		require.False(t, written)
		require.Empty(t, w.writes(), "a write that changes nothing wakes every watcher")
		require.True(t, began.Equal(&w.read().Status.Conditions[0].LastTransitionTime))
	})
}

// A copy that was written is out of date, whoever wrote it: another Write from it is refused, and
// not a second change.
func TestACopyServesForOneWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		service := w.read()
		before := service.DeepCopy()
		conditions.Set(service, &service.Status.Conditions, seen("Ready", metav1.ConditionTrue))
		_, err := conditions.Write(w.Context(), w.Client, before, service)
		require.NoError(t, err)
		conditions.Set(service, &service.Status.Conditions, seen("Stalled", metav1.ConditionTrue))
		mine := service.DeepCopy()
		_, err = conditions.Write(w.Context(), w.Client, before, service)
		require.True(t, apierrors.IsConflict(err), "%v", err)
		require.Equal(t, mine, service, "an error changes nothing of the object")
		require.Len(t, w.read().Status.Conditions, 1)
	})
}

// Somebody has deleted the object. The caller learns that it's gone, and keeps what it has.
func TestAWriteToAnObjectThatWasDeletedIsNotFound(t *testing.T) {
	inWorld(t, func(w *world) {
		service := w.read()
		before := service.DeepCopy()
		require.NoError(t, w.Delete(w.Context(), service.DeepCopy()))
		conditions.Set(service, &service.Status.Conditions, seen("Ready", metav1.ConditionTrue))
		_, err := conditions.Write(w.Context(), w.Client, before, service)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.Len(t, service.Status.Conditions, 1)
	})
}
