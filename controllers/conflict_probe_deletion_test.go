package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// garbageProbe is a probe that another garbage collector deletes.
var garbageProbe = Probe{
	Original: "garbage-collector-controller", Optional: true,
	Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"},
		},
	}},
	IsAnsweredByDeletion: true,
}

// collects deletes each ConfigMap that has an owner, after a time, and touches it before.
func (w *world) collects(after time.Duration) (stop func()) {
	watching, err := w.live.Watch(w.Context(), &corev1.ConfigMapList{})
	require.NoError(w, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range watching.ResultChan() {
			made, ok := e.Object.(*corev1.ConfigMap)
			if !ok || e.Type != watch.Added || len(made.OwnerReferences) == 0 {
				continue
			}
			before := made.DeepCopy()
			made.Data = map[string]string{"a": "change is no answer"}
			if err := w.live.Patch(w.Context(), made, client.MergeFrom(before)); err != nil {
				w.Error(err)
			}
			time.Sleep(after)
			if err := client.IgnoreNotFound(w.live.Delete(w.Context(), made)); err != nil {
				w.Error(err)
			}
		}
	}()
	return func() {
		watching.Stop()
		<-ended
	}
}

// Two garbage collectors would run in one cluster, or ours in none.
func TestAProbeThatIsToBeDeletedIsAnsweredByThatOnly(t *testing.T) {
	inWorld(t, func(w *world) {
		stop := w.collects(time.Second)
		began := time.Now()
		err := w.starts(garbageProbe, ProbeOptions{}, time.Hour)
		require.ErrorContains(w, err, "somebody else does the work of the "+
			"garbage-collector-controller already: theirs has answered the probe ConfigMap")
		require.Equal(w, time.Second, time.Since(began), "an answer is seen when it comes")

		w.server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{UserAgent: ours, Verb: "watch"}, Hang: true,
		})
		err = w.starts(garbageProbe, ProbeOptions{}, time.Hour)
		require.ErrorContains(w, err, " after 3s.", "the watch hangs, and a get shows it")
		stop()
		w.nothingIsLeft(garbageProbe)
	})
	inWorld(t, func(w *world) {
		w.Log("somebody changes the probe, and nobody deletes it")
		stop := w.collects(time.Hour)
		require.NoError(w, w.starts(garbageProbe, ProbeOptions{}, time.Minute))
		w.nothingIsLeft(garbageProbe)
		stop()
	})
}
