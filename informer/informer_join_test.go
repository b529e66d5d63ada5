package informer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// In a quiet cluster nothing happens for an hour. A handler that comes or goes meanwhile must
// not wait for that.
func TestAHandlerComesAndGoesWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := applied(t)
		stop := looping(t, i)
		defer stop()
		i.queue.Replace([]*corev1.Pod{a1}, "1")
		synctest.Wait()
		hang := make(chan struct{})
		r, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(*corev1.Pod, bool) { <-hang }}, HandlerOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 1, r.Backlog().Pending, "it has not been told what there is")
		r.Remove()
		synctest.Wait()
		require.Empty(t, i.listeners, "it is removed, and goes on collecting news while it hangs")
		close(hang)
	})
}

// The same, if the handler comes while the informer looks elsewhere.
func TestWhoComesWakesTheInformerThatDoesNotWaitYet(t *testing.T) {
	i := applied(t)
	_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{}, HandlerOptions{})
	require.NoError(t, err)
	require.Len(t, i.changed, 1, "the wake-up is lost")

	factory := NewFactory(&rest.Config{Host: "http://nobody"}, FactoryOptions{})
	_, err = InformerFor[*corev1.Pod](factory, Collection{Resource: podResource})
	require.NoError(t, err)
	require.Len(t, factory.joined, 1, "the wake-up is lost")
}

// What the store holds need not be waited for, even if the rest of its list is still to come.
func TestAWaitForWhatIsInTheStoreIsOver(t *testing.T) {
	i := applied(t, Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(added(a2))}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, i.WaitFor(ended, KeyOf(a2), "2"))
	require.ErrorIs(t, i.WaitFor(ended, KeyOf(a2), "3"), context.Canceled)
	require.ErrorIs(t, i.WaitFor(ended, KeyOf(a2), ""), errNoVersion)
}

// A probe asks an informer how its reading is doing.
func TestTheHealthOfAnInformerIsThatOfItsReflector(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		w.create(t, "a", nil)
		require.False(t, i.Health().Synced)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		synctest.Wait()
		require.True(t, i.Health().Synced)
		require.Equal(t, StateWatching, i.Health().State)
	})
}

// slowToEnd is a server whose requests end a second after they were cancelled.
type slowToEnd struct{ ended int }

func (s *slowToEnd) List(ctx context.Context, _ metav1.ListOptions) (*List[*corev1.Pod], error) {
	<-ctx.Done()
	time.Sleep(time.Second)
	s.ended++
	return nil, context.Cause(ctx)
}

func (s *slowToEnd) Watch(ctx context.Context, _ metav1.ListOptions) (Watch[*corev1.Pod], error) {
	_, err := s.List(ctx, metav1.ListOptions{})
	return nil, err
}

// When Run has returned, its caller frees what the informer uses, the connection above all.
func TestRunReturnsWhenTheLastRequestHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server slowToEnd
		i := NewInformer[*corev1.Pod](&server, InformerOptions[*corev1.Pod]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, i.Run(ctx))
		require.Equal(t, 1, server.ended, "a request goes on")
	})
}

// A handler may break the rule in its last call.
func TestAChangeOfACachedObjectInTheLastCallIsFound(t *testing.T) {
	var found []string
	options := InformerOptions[*corev1.ConfigMap]{DetectMutations: func(was, _ *corev1.ConfigMap) { found = append(found, was.Name) }}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		add(t, i, HandlerFuncs[*corev1.ConfigMap]{Add: func(c *corev1.ConfigMap, _ bool) {
			time.Sleep(time.Second)
			c.Data = map[string]string{"value": "mine"}
		}}, HandlerOptions{})
		w.create(t, "a", nil)
		start()
		synctest.Wait()
		stop()
		require.Equal(t, []string{"a"}, found)
	})
}

// A configuration that cannot work is reported by whoever uses it first, and names what was
// asked for.
func TestAFactoryReportsAConfigurationThatCannotWork(t *testing.T) {
	factory := NewFactory(&rest.Config{Host: "https://nobody", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}, FactoryOptions{})
	for range 2 {
		_, err := InformerFor[*corev1.Pod](factory, Collection{Resource: podResource})
		require.ErrorContains(t, err, "sharing an informer of pods: ")
	}
}

// Of an unstructured collection the kind is what the objects are called: two kinds are two
// informers. A Go type says its kind itself.
func TestAKindTellsInformersApartUnlessTheGoTypeSaysIt(t *testing.T) {
	factory := NewFactory(&rest.Config{Host: "http://nobody"}, FactoryOptions{})
	free := func(kind schema.GroupVersionKind) *Informer[*unstructured.Unstructured] {
		i, err := InformerFor[*unstructured.Unstructured](factory, Collection{Resource: widgetResource, Kind: kind})
		require.NoError(t, err)
		return i
	}
	require.Same(t, free(widgetKind), free(widgetKind))
	require.NotSame(t, free(widgetKind), free(widgetKind.GroupVersion().WithKind("Gadget")))
	typed := func(kind schema.GroupVersionKind) *Informer[*corev1.ConfigMap] {
		i, err := InformerFor[*corev1.ConfigMap](factory, Collection{Resource: configMapResource, Kind: kind})
		require.NoError(t, err)
		return i
	}
	require.Same(t, typed(configMapKind), typed(schema.GroupVersionKind{}))
}
