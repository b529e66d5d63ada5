package cache_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// A store that will never be filled has no objects, and a reader that is told so cleans up.
func TestAReadThatWaitsForAnInformerThatEndsIsAnError(t *testing.T) {
	for _, end := range []string{"removed", "stopped"} {
		inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
			w.configMaps("default", "a")
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Delay: time.Minute})
			w.begin()
			answers := make(chan error, 2)
			go func() { answers <- w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}) }()
			go func() { answers <- w.List(t.Context(), &corev1.ConfigMapList{}) }()
			synctest.Wait()
			require.Empty(t, answers)
			if end == "removed" {
				require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
				defer w.end()
			} else {
				w.end()
			}
			for range 2 {
				err := <-answers
				require.ErrorContains(t, err, "configmaps cannot be read from the cache", end)
				require.False(t, apierrors.IsNotFound(err))
				require.True(t, apierrors.IsTimeout(err), end)
			}
		})
	}
}

// Programs ask whether it was a time-out, and try again if it was, as with controller-runtime.
func TestAWaitForAnInformerThatLastsTooLongIsATimeout(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Delay: time.Hour})
		w.begin()
		for _, wait := range []func(ctx context.Context) error{
			func(ctx context.Context) error { return w.Get(ctx, key("default", "a"), &corev1.ConfigMap{}) },
			func(ctx context.Context) error { return w.List(ctx, &corev1.ConfigMapList{}) },
			func(ctx context.Context) error { _, err := w.GetInformer(ctx, &corev1.ConfigMap{}); return err },
		} {
			err := wait(within(t, time.Minute))
			require.True(t, apierrors.IsTimeout(err), "%v", err)
			require.ErrorContains(t, err, "the test's patience")
		}
		w.end()
		err := w.List(t.Context(), &corev1.SecretList{})
		require.True(t, apierrors.IsTimeout(err), "a kind that nobody read before the cache has stopped: %v", err)
	})
}

// Two starts of a program that fails should be compared line by line, and each line should say
// whose informer it was.
func TestTheFailuresOfACacheAreSortedAndDiffer(t *testing.T) {
	var namespaces []string
	for i := range 8 {
		namespaces = append(namespaces, fmt.Sprint("shop-", i))
	}
	var log logtest.Collected
	options := inNamespaces(namespaces...)
	options.Logger = new(log.Logger(0))
	inWorld(t, options, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		w.begin()
		forms := []client.Object{
			metadataOf(configMapKind), freeOf(configMapKind), &corev1.ConfigMap{},
		}
		for _, form := range forms {
			_, err := w.GetInformer(t.Context(), form, cache.BlockUntilSynced(false))
			require.NoError(t, err)
		}
		var failed *cache.SyncError
		require.ErrorAs(t, cache.WaitForSync(within(t, time.Minute), w.Cache), &failed)
		var texts []string
		for _, err := range failed.Failures {
			texts = append(texts, err.Error())
		}
		require.Len(t, texts, len(namespaces)*len(forms))
		require.True(t, slices.IsSorted(texts), "%q", texts)
		require.Equal(t, texts, slices.Compact(slices.Clone(texts)))
		w.end()
		require.Empty(t, log.With("gave up"), "that is no more than the end of the program")
	})
}

// A right may be withdrawn from a kind that was away in between, too.
func TestReadsOfAKindThatWasGoneFailWhenItsRightIsWithdrawn(t *testing.T) {
	inWorld(t, cache.Options{ReaderFailOnRefusal: true}, func(t *testing.T, w *world) {
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		get := func() error { return w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)) }
		require.NoError(t, get())
		w.server.Unregister(widgets)
		time.Sleep(time.Minute)
		w.server.Register(widgetHere)
		w.widget("default", "a", nil)
		time.Sleep(time.Minute)
		require.NoError(t, get())
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		time.Sleep(2 * time.Hour)
		require.True(t, apierrors.IsForbidden(get()))
	})
}

// What the other reader of an informer has added is not this one's.
func TestAnInformerThatIsRemovedTakesNothingMoreAndLeavesWhatIsNotItsOwn(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		typed, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		partial, err := w.GetInformer(t.Context(), metadataOf(configMapKind)) // on the same informer
		require.NoError(t, err)
		indexers := informer.Indexers{"mine": func(any) ([]string, error) { return nil, nil }}
		require.NoError(t, partial.AddIndexers(indexers))
		require.Error(t, typed.AddIndexers(indexers), "the name is taken")
		own := informer.Indexers{"own": indexers["mine"]}
		require.NoError(t, typed.AddIndexers(own))
		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.Error(t, partial.AddIndexers(indexers), "it is still there")
		hears := newHearing()
		_, err = typed.AddEventHandler(hears)
		require.ErrorContains(t, err, "ask the cache for another one")
		synctest.Wait()
		require.Empty(t, hears.all())
		require.ErrorContains(t, typed.AddIndexers(informer.Indexers{"more": indexers["mine"]}), "ask the cache for another one")
		again, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.NoError(t, again.AddIndexers(own), "that of the removed one is gone")
	})
}

func TestTheInformerOfSeveralNamespacesHasSyncedWhenAllHave(t *testing.T) {
	for _, end := range []bool{false, true} {
		inWorld(t, inNamespaces("default", "shop", "bank"), func(t *testing.T, w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Namespace: "shop", UserAgent: "the-cache"}, Delay: time.Minute})
			w.begin()
			from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
			require.NoError(t, err)
			_, err = from.AddEventHandler(nil)
			require.Error(t, err)
			require.Error(t, from.RemoveEventHandler(nil))
			handler, err := from.AddEventHandler(newHearing())
			require.NoError(t, err)
			isDone := func(c informer.DoneChecker) bool {
				synctest.Wait()
				select {
				case <-c.Done():
					return true
				default:
					return false
				}
			}
			time.Sleep(30 * time.Second)
			require.False(t, isDone(from.HasSyncedChecker()))
			require.False(t, isDone(handler.HasSyncedChecker()))
			require.False(t, from.HasSynced())
			require.False(t, handler.HasSynced())
			if !end {
				time.Sleep(time.Hour)
				require.True(t, from.HasSynced())
			}
			require.False(t, from.IsStopped())
			w.end()
			require.True(t, from.IsStopped())
			require.Equal(t, !end, isDone(from.HasSyncedChecker()), "what did not sync has not synced")
			require.Equal(t, !end, isDone(handler.HasSyncedChecker()))
		})
	}
}
