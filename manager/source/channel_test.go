package source

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func generic(name string) event.GenericEvent { return event.GenericEvent{Object: configMap(name)} }

func TestEachControllerGetsEachEventInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent)
		var told diary
		s := Channel(events, &told)
		first, second := newQueue(), newQueue()
		stopFirst, stopSecond := starts(t, s, first), starts(t, s, second)
		events <- generic("web")
		events <- generic("db")
		synctest.Wait()
		require.Equal(t, []string{"db", "web"}, first.waiting())
		require.Equal(t, []string{"db", "web"}, second.waiting())
		told.read()

		stopFirst()
		events <- generic("b")
		events <- generic("a")
		synctest.Wait()
		require.Equal(t, []string{"generic b", "generic a"}, told.read())
		require.Empty(t, first.waiting())
		stopSecond()
	})
}

// The producer does not know when the controller starts.
func TestNoEventIsLostBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent, 10)
		for i := range 10 {
			events <- generic(fmt.Sprint(i))
		}
		var told diary
		s := Channel(events, &told)
		synctest.Wait()
		require.Len(t, events, 10)
		stop := starts(t, s, newQueue())
		synctest.Wait()
		require.Len(t, told.read(), 10)
		stop()

		events <- generic("while nobody watches")
		synctest.Wait()
		require.Len(t, events, 1, "it stays where it is")
		stop = starts(t, s, newQueue())
		synctest.Wait()
		require.Equal(t, []string{"generic while nobody watches"}, told.read())
		stop()
	})
}

func TestASlowHandlerBlocksTheSendersWhenItsBufferIsFull(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []ChannelOpt[client.Object, reconcile.Request]
		want int // besides the buffer: one event in the handler, and one on the way to the buffer
	}{
		{"no buffer", []ChannelOpt[client.Object, reconcile.Request]{WithBufferSize[client.Object, reconcile.Request](0)}, 2},
		{"a small buffer", []ChannelOpt[client.Object, reconcile.Request]{WithBufferSize[client.Object, reconcile.Request](5)}, 7},
		{"the default", nil, 1026},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events := make(chan event.GenericEvent)
				stop := starts(t, Channel(events, &diary{takes: time.Hour}, c.opts...), newQueue())
				sent := 0
				for blocked := time.After(time.Second); sent < 2000; {
					select {
					case events <- generic("web"):
						sent++
						continue
					case <-blocked:
					}
					break
				}
				require.Equal(t, c.want, sent)
				stop()
			})
		})
	}
}

// A controller that hangs and is stopped must not take others with it.
func TestTheStopOfASlowControllerLetsTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent)
		slow := &diary{takes: time.Hour}
		s := Channel(events, slow, WithBufferSize[client.Object, reconcile.Request](0))
		stopSlow := starts(t, s, newQueue())
		events <- generic("a")
		synctest.Wait()
		slow.takes = 0 // for the other
		fast := newQueue()
		stopFast := starts(t, s, fast)
		events <- generic("b")
		synctest.Wait()
		require.Empty(t, fast.waiting(), "it waits for the slow one")
		began := time.Now()
		stopSlow()
		require.Equal(t, time.Hour, time.Since(began), "its call has to return")
		synctest.Wait()
		require.Equal(t, []string{"b"}, fast.waiting())
		events <- generic("c")
		synctest.Wait()
		require.Equal(t, []string{"c"}, fast.waiting())
		stopFast()
	})
}

// The other way around, whoever stops must not wait for a slow controller that goes on.
func TestAStopDoesNotWaitForTheSlowHandlerOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent)
		s := Channel(events, &diary{takes: time.Hour}, WithBufferSize[client.Object, reconcile.Request](0))
		stopSlow := starts(t, s, newQueue())
		events <- generic("a")
		synctest.Wait()
		stop := starts(t, s, newQueue())
		events <- generic("b") // and nobody takes it from the source for an hour
		synctest.Wait()
		began := time.Now()
		stop()
		require.Zero(t, time.Since(began))
		stopSlow()
	})
}

func TestAChannelThatIsClosedEndsTheSourceAfterTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent, 3)
		told := diary{takes: time.Second}
		s := Channel(events, &told)
		stopFirst, stopSecond := starts(t, s, newQueue()), starts(t, s, newQueue())
		for _, name := range []string{"a", "b", "c"} {
			events <- generic(name)
		}
		close(events)
		time.Sleep(time.Minute)
		require.Len(t, told.read(), 6)
		require.False(t, receives(s))
		require.Empty(t, s.(*channelSource[client.Object, reconcile.Request]).runs.now(), "nothing is left to wait for")
		stopFirst()
		stopSecond()

		stop := starts(t, s, newQueue())
		synctest.Wait()
		require.False(t, receives(s))
		stop()
	})
}

func TestAnEventThatAPredicateDropsDoesNotReachTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent)
		var told diary
		isWeb := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "web" })
		var asked []string
		stop := starts(t, Channel(events, &told, WithPredicates[client.Object, reconcile.Request](isWeb),
			WithPredicates[client.Object, reconcile.Request](asks("later", true, &asked))), newQueue())
		events <- generic("db")
		events <- generic("web")
		synctest.Wait()
		stop()
		require.Equal(t, []string{"generic web"}, told.read())
		require.Equal(t, []string{"later generic"}, asked)
	})
}

func TestAChannelSourceNeedsAChannelAHandlerAndASensibleBuffer(t *testing.T) {
	var none chan event.GenericEvent
	some := make(chan event.GenericEvent)
	for _, c := range []struct {
		source Source
		want   string
	}{
		{Channel(none, &diary{}), "no channel"},
		{Channel(some, nil), "no handler"},
		{Channel(some, &diary{}, WithPredicates[client.Object, reconcile.Request](predicate.Funcs{}, nil)), "predicates is nil"},
		{Channel(some, &diary{}, WithBufferSize[client.Object, reconcile.Request](-1)), "size -1"},
	} {
		require.ErrorContains(t, c.source.Start(t.Context(), newQueue()), c.want)
	}
	require.Contains(t, Channel(some, &diary{}).(*channelSource[client.Object, reconcile.Request]).String(), "channel source: 0x")
}

func receives(s Source) bool {
	c := s.(*channelSource[client.Object, reconcile.Request])
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.receiving != nil
}

// What was not received is there for the next one who watches. A handler that hangs must not use up
// the time after its stop to swallow it.
func TestAStopLeavesInTheChannelWhatIsNotInABuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent, 100)
		slow := &diary{takes: time.Hour}
		s := Channel(events, slow, WithBufferSize[client.Object, reconcile.Request](5))
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, s.Start(ctx, newQueue()))
		for i := range 50 {
			events <- generic(fmt.Sprint(i))
		}
		synctest.Wait()
		require.Len(t, events, 43, "besides the buffer: one event in the handler, and one on the way to the buffer")
		cancel()
		synctest.Wait()
		require.Len(t, events, 43)

		slow.takes = 0 // for the next call
		next := newQueue()
		stop := starts(t, s, next)
		synctest.Wait()
		require.Len(t, next.waiting(), 43, "the call that hangs is no reason to wait")
		s.(stoppable).WaitForStop()
		events <- generic("later")
		synctest.Wait()
		require.Equal(t, []string{"later"}, next.waiting())
		stop()
		synctest.Wait()
		require.False(t, receives(s))
	})
}

// Work that begins after a stop was asked for keeps the program from ending.
func TestWhatIsInTheBufferIsDroppedAtTheStop(t *testing.T) {
	for range 20 { // there is more than one reason to go on, and Go takes any
		synctest.Test(t, func(t *testing.T) {
			events := make(chan event.GenericEvent)
			told := diary{takes: time.Minute}
			stop := starts(t, Channel(events, &told), newQueue())
			for _, name := range []string{"a", "b", "c"} {
				events <- generic(name)
			}
			synctest.Wait()
			stop()
			require.Equal(t, []string{"generic a"}, told.read())
		})
	}
}

// Whoever is the last to leave and whoever receives must agree on it, whatever the other does just
// then, or the stop of a controller never ends.
func TestStopsWhileEventsComeDoNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent)
		over := make(chan struct{})
		go func() {
			for {
				select {
				case events <- generic("web"):
				case <-over:
					return
				}
			}
		}()
		s := Channel(events, &diary{}).(*channelSource[client.Object, reconcile.Request])
		queue := newQueue()
		for range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			require.NoError(t, s.Start(ctx, queue))
			require.NoError(t, s.Start(ctx, queue))
			cancel()
			s.WaitForStop()
		}
		close(over)
		synctest.Wait()
		require.False(t, receives(s))
	})
}

// A controller may come when the channel is closed, and another still works on the last events.
func TestAClosedChannelMayBeWatchedWhileItsLastEventsAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent, 3)
		told := diary{takes: time.Second}
		s := Channel(events, &told)
		stop := starts(t, s, newQueue())
		for _, name := range []string{"a", "b", "c"} {
			events <- generic(name)
		}
		close(events)
		synctest.Wait()
		stopLate := starts(t, s, newQueue())
		time.Sleep(time.Minute)
		require.Equal(t, []string{"generic a", "generic b", "generic c"}, told.read())
		stop()
		stopLate()
	})
}

// The one that leaves is not the one that everybody waits for.
func TestAStopWhileAnEventIsHandedOutTakesItFromNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan event.GenericEvent)
		told := &diary{takes: time.Hour}
		s := Channel(events, told, WithBufferSize[client.Object, reconcile.Request](0))
		stopSlow := starts(t, s, newQueue())
		events <- generic("a")
		synctest.Wait()
		told.takes = 0
		last := newQueue()
		stopNext, stopLast := starts(t, s, newQueue()), starts(t, s, last)
		events <- generic("b") // the slow one is in the way
		synctest.Wait()
		stopNext()
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"b"}, last.waiting())
		stopSlow()
		stopLast()
	})
}
