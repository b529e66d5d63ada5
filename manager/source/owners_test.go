package source

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
)

// slow is a handler that takes its time for each update, and then does what another one does.
type slow struct{ handler.EventHandler }

func (s slow) Update(ctx context.Context, e event.UpdateEvent, q requestQueue) {
	time.Sleep(time.Minute)
	s.EventHandler.Update(ctx, e, q)
}

// A ConfigMap goes from one owner to the next, faster than the handler can follow. The reconciler
// of the one in the middle may have seen it in the cache, and counted it. If it never hears that
// the ConfigMap has gone, its status stays wrong.
func TestEachOwnerInBetweenHearsThoughTheHandlerIsSlow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(kind, meta.RESTScopeNamespace)
		owners := handler.EnqueueRequestForOwner(scheme.Scheme, mapper, &appsv1.Deployment{})
		w.create("web")
		queue := newQueue()
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), slow{owners}), queue)
		defer stop()
		for _, owner := range []string{"a", "b", "c", "d"} {
			found, err := w.configMaps.Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			found.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1",
				Kind: "Deployment", Name: owner, UID: "u"}}
			_, err = w.configMaps.Update(t.Context(), found, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		w.delete("web")
		time.Sleep(time.Hour)
		require.Equal(t, []string{"a", "b", "c", "d"}, queue.waiting())
	})
}

// A controller is removed and made again while the manager runs, with the same source.
func TestASourceThatHasEndedCanBeWatchedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create("web")
		kind := Kind[client.Object](w.cache, configMap(""), &diary{})
		for range 3 {
			queue := newQueue()
			stop := ready(t, kind, queue)
			require.Equal(t, []string{"web"}, queue.waiting(), "the objects come again")
			stop()
			w.change("web", time.Now().String())
			time.Sleep(time.Second)
			require.Empty(t, queue.waiting(), "an ended source tells its old queue nothing")
		}
		events := make(chan event.GenericEvent)
		channel := Channel(events, &diary{})
		for _, name := range []string{"first", "second"} {
			queue := newQueue()
			stop := starts(t, channel, queue)
			events <- event.GenericEvent{Object: configMap(name)}
			time.Sleep(time.Second)
			require.Equal(t, []string{name}, queue.waiting())
			stop()
		}
	})
}
