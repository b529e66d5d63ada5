package garbagecollector

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// inRestored plays a restore from a backup: users delete the roots, the collector does its work, and
// then the API server is what it was before. Which monitor notices first, and when, is a matter of
// luck, so the test gets several tries.
func inRestored(t *testing.T, test func(t *testing.T, w *world, before []string)) {
	for try := range 10 {
		t.Run(fmt.Sprint(try), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.Server.Register(widgets)
				w.families()
				w.holdForeground()
				w.run()
				before := w.left()
				backup := w.Server.Backup()
				w.Server.Advance(1_000_000)
				w.deleteRoots()
				time.Sleep(30 * time.Second)
				require.NotEqual(t, before, w.left())
				w.Server.Restore(backup)
				test(t, w, before)
			})
		})
	}
}

// held keeps the root from going that's deleted in the foreground.
var held = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
	Namespace: "default", Name: "held", Finalizers: []string{"example.com/held"},
}}

func (w *world) holdForeground() {
	of, created := root(foreground), held.DeepCopy()
	w.Read(of)
	created.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: shop + "/v1", Kind: "Widget", Name: of.Name, UID: of.UID,
		BlockOwnerDeletion: new(true),
	}}
	w.Create(created)
}

// untilNoticed is when every monitor has found out: a watch that brings nothing lasts ten minutes.
const untilNoticed = 30 * time.Minute

// The collector has seen the owners go, and they're back. Their dependents would go a second time.
func TestARestoredBackupLosesNoObject(t *testing.T) {
	inRestored(t, func(t *testing.T, w *world, before []string) {
		time.Sleep(untilNoticed)
		require.Equal(t, before, w.left())
		for _, policy := range policies {
			of := root(policy)
			w.Read(of)
			require.Nil(t, of.DeletionTimestamp, policy)
		}
	})
}

// A monitor that shows a history which was undone shows dependents without their owner, or none. So
// the owner would go, and then the dependents that a user wants to keep; or it would wait forever.
func TestOwnersThatAreDeletedAfterARestoreEndAsTheyShould(t *testing.T) {
	inRestored(t, func(t *testing.T, w *world, _ []string) {
		time.Sleep(rand.N(12 * time.Minute))
		w.deleteRoots()
		time.Sleep(untilNoticed)
		require.NoError(t, w.Live.Patch(t.Context(), held.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
		time.Sleep(time.Minute)
		for _, policy := range policies {
			require.False(t, w.isThere(root(policy)), policy)
		}
		require.Equal(t, []string{
			"pod/" + nameOf(orphan, "early"), "replicaset/" + nameOf(orphan, "early"),
		}, w.left())
	})
}
