package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Who waits for an informer that has synced must not be told by chance, even if that has stopped since.
func TestAllChannelsAreWaitedForUnlessOneCanNotBeClosedAnyMore(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		for _, c := range []struct {
			channels, instead []<-chan struct{}
			want              bool
		}{
			{[]<-chan struct{}{closed}, nil, true},
			{[]<-chan struct{}{closed, closed}, nil, true},
			{[]<-chan struct{}{closed, stop}, []<-chan struct{}{stop, closed}, false},
			{[]<-chan struct{}{stop, closed}, []<-chan struct{}{closed, stop}, false},
			{[]<-chan struct{}{closed, stop}, nil, false},
			{[]<-chan struct{}{closed, closed}, []<-chan struct{}{closed, closed}, true},
		} {
			for range 20 {
				all := whenAll(c.channels, c.instead)
				synctest.Wait()
				require.Equal(t, c.want, isClosed(all), "%v", c)
			}
		}
		close(stop)
	})
}

// A program may add and remove handlers for years.
func TestNothingIsLeftOfAHandlerThatWasRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		made, err := New(server.Config(), Options{})
		require.NoError(t, err)
		from, err := made.GetInformer(t.Context(), &corev1.Pod{})
		require.NoError(t, err)
		handler, err := from.AddEventHandler(informer.ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		require.Len(t, from.(*publicInformer).added, 1)
		require.NoError(t, from.RemoveEventHandler(handler))
		require.Empty(t, from.(*publicInformer).added)
		require.NoError(t, made.RemoveInformer(t.Context(), &corev1.Pod{}))
	})
}

// A tenth more or less keeps the resyncs of many kinds apart.
func TestAResyncComesUpToATenthEarlierOrLater(t *testing.T) {
	first, last := time.Hour, time.Duration(0)
	for range 10000 {
		every := scope{resyncs: time.Minute}.resyncEvery()
		first, last = min(first, every), max(last, every)
	}
	require.InDelta(t, 54*time.Second, first, float64(100*time.Millisecond))
	require.InDelta(t, 66*time.Second, last, float64(100*time.Millisecond))
}
