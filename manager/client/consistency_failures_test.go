package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// brokenWaiter is a cache that cannot say what it has seen: its informer has failed.
type brokenWaiter struct{ *lateCache }

var errInformer = errors.New("the informer has failed")

// WaitFor implements WriteWaiter.
func (brokenWaiter) WaitFor(context.Context, Object, ObjectKey, string) error { return errInformer }

// What comes after it may take forever, and the caller can do something about the error.
func TestAReadWhoseWaitFailsEndsAtOnce(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.reader.waiter = brokenWaiter{w.cache}
		read := make(chan error, 1)
		go func() { read <- w.get("a")() }()
		synctest.Wait()
		select {
		case err := <-read:
			require.ErrorIs(w, err, errInformer)
			require.ErrorContains(w, err, "get ConfigMap shop/a")
		default:
			w.cache.see(w.Context())
			<-read
			require.FailNow(w, "the read must not wait until the deleted object is gone")
		}
	})
}

// pointers is a cache that notes into what it was asked to read.
type pointers struct {
	*lateCache
	got Object
}

// Get implements Reader.
func (p *pointers) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	p.got = obj
	return p.lateCache.Get(ctx, key, obj, opts...)
}

// A copy of each object would cost more than the read.
func TestAReadThatNeedNotLookTwiceReadsIntoWhatItWasGiven(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		cache := &pointers{lateCache: w.cache}
		w.reader.reads.cache = cache
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		into := &corev1.ConfigMap{}
		w.waits(func() error { return w.Get(w.Context(), shopKey("a"), into) })
		require.Same(w, into, cache.got)
	})
}

// An error that is lost makes an empty list, and a controller deletes what it believes to be too much.
func TestAListThatDoesNotWaitReturnsItsError(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.cache.broken = errInformer
		require.ErrorIs(w, w.list(DisableReadYourWritesConsistency)(), errInformer)
	})
	inLateWorld(t, CacheOptions{DisableFor: []Object{&corev1.ConfigMap{}}}, func(w *lateWorld) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list"}, Status: fakeapi.InternalError()})
		require.Error(w, w.list()())
	})
}

func TestATypeThatNobodyKnowsLeavesNoLog(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		_ = w.Get(w.Context(), shopKey("a"), &stranger{})
		require.Empty(w, w.reader.logs)
	})
}
