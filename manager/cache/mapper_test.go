package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// askedMapper calls a function whenever it is asked.
type askedMapper struct {
	meta.RESTMapper
	asked func()
}

// RESTMapping implements meta.RESTMapper.
func (m askedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.asked()
	return m.RESTMapper.RESTMapping(kind, versions...)
}

func mapperOf(kinds ...schema.GroupVersionKind) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return mapper
}

// A RESTMapper may send requests, and may not know a kind any more whose informer goes on.
func TestReadsOfAKindThatHasAnInformerDoNotAskTheMapper(t *testing.T) {
	asked := 0
	mapper := askedMapper{mapperOf(configMapKind), func() { asked++ }}
	inWorld(t, cache.Options{Mapper: mapper}, func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		for range 2 {
			require.Empty(t, w.listed())
			_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
		}
		require.Equal(t, 1, asked)
	})
}

// Two who ask for a kind at the same time must not start two watches, of which nobody ends one.
func TestWhoeverAsksForAnInformerAtTheSameTimeGetsTheSame(t *testing.T) {
	var w *world
	var inside cache.Informer
	nested := false
	mapper := askedMapper{mapperOf(configMapKind), func() {
		if !nested { // while the first one asks the mapper, a second one asks for the informer
			nested = true
			var err error
			inside, err = w.GetInformer(w.t.Context(), &corev1.ConfigMap{})
			require.NoError(w.t, err)
		}
	}}
	inWorld(t, cache.Options{Mapper: mapper}, func(t *testing.T, of *world) {
		w = of
		outside, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.Same(t, inside, outside)
		w.begin()
		defer w.end()
		require.NoError(t, cache.WaitForSync(t.Context(), w.Cache))
		require.Equal(t, 1, w.watches("configmaps"))
		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.True(t, outside.IsStopped())
	})
}

// A scheme also knows types that are no objects, such as the options of a request.
func TestAKindWhoseTypeIsNoObjectHasNoInformer(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("PodExecOptions")
	inWorld(t, cache.Options{Mapper: mapperOf(kind)}, func(t *testing.T, w *world) {
		_, err := w.GetInformerForKind(t.Context(), kind)
		require.ErrorContains(t, err, "PodExecOptions isn't an object of a cluster")
		w.begin()
		defer w.end()
		require.True(t, w.WaitForCacheSync(t.Context()), "nothing is left of it")
	})
}

// What is wrong with the settings of a kind that is installed later can be seen only then.
func TestNamespacesForAKindThatTurnsOutToHaveNoneAreAnError(t *testing.T) {
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		server.Unregister(widgets)
		w := newWorld(t, server, cache.Options{ByObject: map[client.Object]cache.ByObject{freeOf(widgetKind): {Namespaces: map[string]cache.Config{"default": {}}}}})
		w.begin()
		defer w.end()
		clustered := widgetHere
		clustered.ClusterScoped = true
		server.Register(clustered)
		_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
		require.ErrorContains(t, err, "Widget")
		require.False(t, meta.IsNoMatchError(err), "it is there")
	})
}

// Nobody can say whether a kind is cached that has no name.
func TestAnObjectWithoutAKindIsAnError(t *testing.T) {
	inWorld(t, cache.Options{ReaderFailOnMissingInformer: true}, func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		nameless := &unstructured.Unstructured{}
		err := w.Get(t.Context(), key("default", "a"), nameless)
		require.Error(t, err)
		var missing *cache.ErrResourceNotCached
		require.NotErrorAs(t, err, &missing)
		require.Error(t, w.RemoveInformer(t.Context(), nameless))
		_, err = w.GetInformer(t.Context(), nameless)
		require.Error(t, err)
	})
}

// An index that is missing would not be noticed, but each list would look at all objects.
func TestAnIndexIsUsedAfterItsInformerWasRemoved(t *testing.T) {
	for _, shared := range []bool{false, true} {
		inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"size": "1"}})
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}, Data: map[string]string{"size": "2"}})
			var calls atomic.Int32
			require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", counted("size", &calls)))
			w.begin()
			defer w.end()
			w.listed()
			if shared { // then the informer goes on, with its index
				require.NoError(t, w.Get(t.Context(), key("default", "a"), metadataOf(configMapKind)))
			}
			require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
			w.listed()
			calls.Store(0)
			require.Equal(t, []string{"default/a"}, w.listed(client.MatchingFields{"data.size": "1"}))
			require.Zero(t, calls.Load())
		})
	}
}

// slowMapper answers when the test lets it: with the error, or if that is nil as the mapper does.
type slowMapper struct {
	meta.RESTMapper
	answers chan error // sent by the test
}

// RESTMapping implements meta.RESTMapper.
func (m slowMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if err := <-m.answers; err != nil {
		return nil, err
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// A controller's map function reads a kind whose source the same controller is just starting. A read that failed
// would lose the event: the map function enqueues nothing, and nothing calls it again.
func TestAReadWaitsForAnInformerThatIsBeingMade(t *testing.T) {
	refused := errors.New("discovery failed")
	for _, c := range []struct {
		what    string
		answers []error // to those who make the informer
		missing bool    // what the reads get at last
	}{
		{what: "it is made", answers: []error{nil}},
		{what: "it is not", answers: []error{refused}, missing: true},
		{what: "another one makes it, too", answers: []error{refused, nil}},
	} {
		inServer(t, func(t *testing.T, server *fakeapi.Server) {
			mapper := slowMapper{mapperOf(widgetKind), make(chan error)}
			w := newWorld(t, server, cache.Options{Mapper: mapper, ReaderFailOnMissingInformer: true})
			w.widget("default", "a", nil)
			w.begin()
			defer w.end()
			defer close(mapper.answers)
			get := func(ctx context.Context) error { return w.Get(ctx, key("default", "a"), freeOf(widgetKind)) }
			list := func(ctx context.Context) error {
				all := freeListOf(widgetKind)
				err := w.List(ctx, all)
				if err == nil && len(all.Items) != 1 {
					return fmt.Errorf("%d items", len(all.Items))
				}
				return err
			}
			lists := w.Cache.(interface{ WaitForLists(context.Context) error }).WaitForLists
			var missing *cache.ErrResourceNotCached
			require.ErrorAs(t, get(t.Context()), &missing, "nobody makes it yet")
			require.NoError(t, lists(t.Context()))
			made := make(chan error, len(c.answers))
			for range c.answers {
				go func() {
					_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
					made <- err
				}()
			}
			synctest.Wait()
			require.ErrorAs(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), &missing, "nobody makes that one")
			for _, wait := range []func(context.Context) error{get, list, lists} {
				require.True(t, apierrors.IsTimeout(wait(within(t, time.Minute))), c.what)
			}
			got := make(chan error, 2*len(c.answers))
			for _, answer := range c.answers {
				for _, read := range []func(context.Context) error{get, list} {
					go func() { got <- read(t.Context()) }()
				}
				synctest.Wait()
				require.Empty(t, got, c.what)
				mapper.answers <- answer
				require.ErrorIs(t, <-made, answer, c.what)
			}
			for range cap(got) {
				if err := <-got; c.missing {
					require.ErrorAs(t, err, &missing, c.what)
				} else {
					require.NoError(t, err, c.what)
				}
			}
			require.NoError(t, lists(t.Context()), c.what)
			if c.missing {
				require.ErrorAs(t, get(t.Context()), &missing, "nobody makes it any more")
			}
		})
	}
}
