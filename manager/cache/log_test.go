package cache_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// Whoever looks for the reason of a problem looks into the program's log, and not at standard error.
func TestWhatHappensToACacheIsInTheLogOfTheOptions(t *testing.T) {
	var log logtest.Collected
	options := cache.Options{
		Logger:           new(log.Logger(0)),
		DefaultTransform: func(object any) (any, error) { return nil, errors.New("no transform today") },
		NewInformer: func(from informer.ListerWatcher[client.Object], _ client.Object, options informer.InformerOptions[client.Object]) *informer.Informer[client.Object] {
			options.RecoverPanics = true
			return informer.NewInformer(from, options)
		},
	}
	inWorld(t, options, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.widget("default", "b", nil)
		w.begin()
		defer w.end()
		i, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.Len(t, log.With("An object is stored as it came", "no transform today", "default/a"), 1)

		_, err = i.AddEventHandler(informer.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("no handler today") }})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, log.With("A handler panicked", "no handler today", `"object"="default/a"`), 1)

		require.NoError(t, i.AddIndexers(informer.Indexers{"none": func(any) ([]string, error) { return nil, errors.New("no index today") }}))
		require.Len(t, log.With("An object is missing in an index", "no index today", `"object"="default/a"`), 1)

		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)))
		w.server.Unregister(widgets)
		time.Sleep(time.Minute)
		require.Len(t, log.With("A kind was removed", "Widget"), 1)
		w.server.Register(widgetHere)
		time.Sleep(time.Minute)
		require.Len(t, log.With("A kind is back", "Widget"), 1)

		w.withdraw()
		require.Len(t, log.With("An informer cannot read", "this client may not watch configmaps"), 1, "once, and not with every try")
	})
}

// A program sets its logger when it has read its flags, which may be after it has made the cache.
func TestWithoutALoggerTheProgramsOneIsTakenWhenSomethingHappens(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		log := logtest.Read(t)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		w.begin()
		_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		w.end()
		require.Contains(t, log.String(), "An informer cannot read, and tries again")
	})
}

// The first run of a new program installs its kind, and must not begin with an error. An error that somebody has to
// look at stays one, even where it has the same code or begins with the same words.
func TestOnlyTheWaitForAKindThatTheServerIsPreparingIsNotLoggedAsAnError(t *testing.T) {
	preparing, etcdDown := fakeapi.TooManyRequests(1), fakeapi.TooManyRequests(1)
	preparing.Message = "storage is (re)initializing"
	etcdDown.Message = "storage is (re)initializing: etcd is down"
	elsewhere := fakeapi.Unavailable()
	elsewhere.Message = preparing.Message
	for _, try := range []struct {
		answer  *metav1.Status
		isError bool
	}{
		{preparing, false}, {etcdDown, true}, {fakeapi.TooManyRequests(1), true}, {elsewhere, true}, {fakeapi.Forbidden(), true},
	} {
		for _, bookmarks := range []bool{true, false} { // with a stream first, or a list
			var log logtest.Collected
			options := cache.Options{Logger: new(log.Logger(0)), DefaultEnableWatchBookmarks: &bookmarks}
			inWorld(t, options, func(t *testing.T, w *world) {
				w.server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Times: 3, Status: try.answer,
				})
				w.begin()
				defer w.end()
				_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
				require.NoError(t, err, "it tries again")
				says := "The API server is still preparing a kind"
				if try.isError {
					says = "An informer cannot read, and tries again"
				}
				require.Len(t, log.With(says, `"resource"="widgets.shop.example.com"`), 1, "once, and not with every try")
				require.Equal(t, try.isError, len(log.With(`"error"=`)) > 0, "%s, bookmarks %t", try.answer.Message, bookmarks)
			})
		}
	}
}
