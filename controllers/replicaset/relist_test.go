package replicaset

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Nobody watches while a user replaces the three Pods by three of the same labels, and then the
// server has forgotten what happened. The list that follows has 5,003 Pods. A controller that looks
// while the cache takes them in, one after the other, counts six Pods of three, and deletes the
// user's.
func TestAControllerThatMissedAReplacementKeepsTheUsersPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		podWatches := fakeapi.Match{UserAgent: agent, Verb: "watch", Resource: "pods"}
		w.Server.Inject(fakeapi.Fault{Match: podWatches, Times: 1, CutAfter: 10 * time.Minute})
		for n := range 5000 {
			other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("other-%d", n),
			}}
			_, err := w.Server.Load(corev1.SchemeGroupVersion.WithResource("pods"), other)
			require.NoError(t, err)
		}
		rs := w.set(3)
		w.run()
		owned := w.app()
		require.Len(t, owned, 3)
		w.Wrote()

		up := w.Server.Inject(fakeapi.Fault{Match: podWatches, Status: fakeapi.InternalError()})
		time.Sleep(11 * time.Minute)
		for _, pod := range owned {
			require.NoError(t, w.Live.Delete(t.Context(), pod))
		}
		users := map[string]bool{}
		for n := range 3 {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("a-users-%d", n),
					Labels: template},
				Spec: newReplicaSet(0).Spec.Template.Spec,
			}
			w.Create(pod)
			users[pod.Name] = true
		}
		w.Server.CompactAll()
		up()
		time.Sleep(10 * time.Minute)
		w.Settle()
		did := w.Wrote()
		require.Zero(t, did["delete pods"], "it deleted Pods of three that were needed")
		require.Zero(t, did["create pods"], "it created Pods beside three")
		kept := w.app()
		require.Len(t, kept, 3)
		for _, pod := range kept {
			require.True(t, users[pod.Name], "%s isn't the user's", pod.Name)
			require.True(t, metav1.IsControlledBy(pod, rs), "%s isn't adopted", pod.Name)
		}
	})
}

// app returns the Pods with the ReplicaSet's labels.
func (w *world) app() (pods []*corev1.Pod) {
	for _, pod := range w.Pods() {
		if pod.Labels["app"] == template["app"] {
			pods = append(pods, pod)
		}
	}
	return pods
}
