package informer

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// An informer whose loop is busy must not hide from its handlers what happened meanwhile. A reconciler
// has made a Pod for B, and another client gives it to C at once, or deletes it. If B is not called, it
// goes on waiting for a Pod that it does not have.
func TestAHandlerIsToldOfAStateThatWasWrittenWhileTheInformerWasBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
		busy, free := make(chan struct{}), make(chan struct{})
		_, err := i.Store().AddIndex("busy", func(values []string, pod *corev1.Pod) []string {
			if pod.Name == "large" {
				close(busy)
				<-free
			}
			return values
		})
		require.NoError(t, err)
		var told []string
		_, err = i.AddHandler(HandlerFuncs[*corev1.Pod]{
			Add: func(pod *corev1.Pod, _ bool) { told = append(told, "add "+pod.Name+" of "+ownerOf(pod)) },
			Update: func(old, pod *corev1.Pod) {
				told = append(told, "update "+pod.Name+" of "+ownerOf(old)+", now of "+ownerOf(pod))
			},
			Delete: func(pod *corev1.Pod, _ bool) { told = append(told, "delete "+pod.Name+" of "+ownerOf(pod)) },
		}, HandlerOptions{})
		require.NoError(t, err)
		stop := looping(t, i)
		defer stop()
		owned := func(name, owner, version string) *corev1.Pod {
			pod := podNamed(name, name, version)
			pod.Labels = map[string]string{"owner": owner}
			return pod
		}
		i.queue.Replace([]*corev1.Pod{owned("large", "A", "1")}, "1")
		<-busy
		i.queue.Apply(event(watch.Added, owned("given", "B", "2")))
		i.queue.Apply(event(watch.Added, owned("deleted", "B", "3")))
		i.queue.Apply(event(watch.Modified, owned("given", "C", "4")))
		i.queue.Apply(event(watch.Deleted, owned("deleted", "B", "5")))
		close(free)
		synctest.Wait()
		require.Equal(t, []string{
			"add large of A", "add given of B", "add deleted of B", "update given of B, now of C", "delete deleted of B",
		}, told)
	})
}
