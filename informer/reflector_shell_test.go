package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// silent is a server that accepts everything and then says nothing more; it notes how long each
// watch was open.
type silent struct {
	ListerWatcher[*corev1.ConfigMap]
	initial   []Event[*corev1.ConfigMap] // what a stream begins with
	pause     time.Duration              // before each of them
	bookmarks time.Duration              // how often one comes after them; 0 is never
	asked     []metav1.ListOptions
	requests  []context.Context
	lived     []time.Duration
}

func (s *silent) List(context.Context, metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	return &List[*corev1.ConfigMap]{ResourceVersion: "5"}, nil
}

func (s *silent) Watch(
	ctx context.Context, options metav1.ListOptions,
) (Watch[*corev1.ConfigMap], error) {
	s.asked, s.requests = append(s.asked, options), append(s.requests, ctx)
	opened := &silentWatch{ctx: ctx, of: s, began: time.Now()}
	if options.SendInitialEvents != nil {
		opened.events = s.initial
	}
	return opened, nil
}

type silentWatch struct {
	ctx    context.Context
	of     *silent
	began  time.Time
	events []Event[*corev1.ConfigMap]
}

func (w *silentWatch) Next() (Event[*corev1.ConfigMap], error) {
	var comes <-chan time.Time
	if pause := w.of.pause; len(w.events) > 0 {
		comes = time.After(pause)
	} else if w.of.bookmarks > 0 {
		comes = time.After(w.of.bookmarks)
	}
	select {
	case <-w.ctx.Done():
		w.of.lived = append(w.of.lived, time.Since(w.began))
		return Event[*corev1.ConfigMap]{}, w.ctx.Err()
	case <-comes:
	}
	if len(w.events) == 0 {
		return Event[*corev1.ConfigMap]{Type: watch.Bookmark, Object: &corev1.ConfigMap{},
			ResourceVersion: "5"}, nil
	}
	event := w.events[0]
	w.events = w.events[1:]
	return event, nil
}

func (w *silentWatch) Close() error { return nil }

// theEnd is the bookmark that ends the initial events of a stream.
var theEnd = Event[*corev1.ConfigMap]{Type: watch.Bookmark, ResourceVersion: "5",
	Object: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "5",
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}}

// Over a slow network a stream may take minutes. As long as something comes it must not be given
// up.
func TestAStreamThatIsSlowIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &silent{pause: 15 * time.Second}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			server.initial = append(server.initial, Event[*corev1.ConfigMap]{Type: watch.Added,
				Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}})
		}
		server.initial = append(server.initial, theEnd)
		sink := newView()
		r := NewReflector(ListerWatcher[*corev1.ConfigMap](server), Sink[*corev1.ConfigMap](sink),
			ReflectorOptions{})
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, context.Canceled)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.Len(t, server.asked, 1, "one stream, and no list in its place")
		require.Len(t, sink.objects, 6)
		require.NoError(t, r.Health().LastError)
	})
}

// What is not seen as progress would be asked for again after the next interruption.
func TestABookmarkReachesTheSink(t *testing.T) {
	inMemory(t, fakeapi.Options{BookmarkInterval: 5 * time.Second}, func(t *testing.T,
		s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		r := runReflector(t, w, ReflectorOptions{})
		r.view.untilIsThere(t, "apple")
		onion := w.create(t, "onion", map[string]string{"not": "ours"})
		time.Sleep(time.Minute)
		require.NoError(t, r.stop())
		require.Equal(t, onion.ResourceVersion, r.view.version)
		require.Equal(t, onion.ResourceVersion, r.Health().ResourceVersion)
		require.NotZero(t, r.view.progress)
		r.legal(t)
	})
}

// A whole list in one piece is what a token that expired leads to; with a limit it would have
// tokens again.
func TestAListIsAskedForAsTheMachineSays(t *testing.T) {
	r := NewReflector(ListerWatcher[*corev1.ConfigMap](&silent{}), Sink[*corev1.ConfigMap](newView()),
		ReflectorOptions{PageSize: 7})
	shell := &shell[*corev1.ConfigMap]{Reflector: r, ctx: t.Context()}
	require.Equal(t, metav1.ListOptions{Limit: 7}, shell.listOptions(action{do: doList}))
	require.Equal(t, metav1.ListOptions{ResourceVersion: "5",
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		shell.listOptions(action{do: doList, whole: true, version: "5"}))
	require.Equal(t, metav1.ListOptions{Limit: 7}, shell.listOptions(action{do: doList}),
		"the next one comes in pages again")

	shell.lastPage = &List[*corev1.ConfigMap]{Items: []*corev1.ConfigMap{{}}, Continue: "more"}
	shell.collect()
	require.Nil(t, shell.lastPage.Items, "what was collected is in memory once")
	require.Equal(t, "more", shell.lastPage.Continue)
	require.Len(t, shell.partial.items, 1)
}

// An operator who grants the wrong verb is refused again.
func TestARefusalNamesTheVerb(t *testing.T) {
	for _, do := range []command{doList, doPage} {
		require.Equal(t, "list", verbOf(do), do)
	}
	for _, do := range []command{doStream, doWatch, doRead} {
		require.Equal(t, "watch", verbOf(do), do)
	}
}

// A connection whose other end has vanished looks like a quiet collection. A server ends a watch
// when it was asked to; half a minute later it is no longer there.
func TestAWatchThatTheServerDoesNotEndIsOpenedAgain(t *testing.T) {
	for _, c := range []struct {
		name      string
		noStream  bool
		bookmarks time.Duration
		want      time.Duration
	}{
		{"after a list", true, 0, 90*time.Second + 30*time.Second},
		{"after a list, with bookmarks until the end", true, 10 * time.Second, 90*time.Second +
			30*time.Second},
		{"after a stream, which does not say when it ends", false, 0, 2*time.Minute + 30*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &silent{initial: []Event[*corev1.ConfigMap]{theEnd}, bookmarks: c.bookmarks}
			r := NewReflector(ListerWatcher[*corev1.ConfigMap](server), Sink[*corev1.ConfigMap](newView()),
				ReflectorOptions{NoStream: c.noStream, WatchTimeout: time.Minute,
					Random: func() float64 { return 0.5 }})
			ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Minute, context.Canceled)
			defer cancel()
			require.NoError(t, r.Run(ctx))
			require.EqualValues(t, 90, *server.asked[0].TimeoutSeconds,
				"a time between one and two minutes, by chance")
			require.Equal(t, c.want, server.lived[0], c.name)
			require.ErrorContains(t, r.Health().LastError,
				"the server did not end the watch when it should have", c.name)
			require.Nil(t, server.asked[1].SendInitialEvents, "%s: the place in the history is not lost",
				c.name)
			require.Equal(t, "5", server.asked[1].ResourceVersion, c.name)
			require.Error(t, server.requests[0].Err(),
				"%s: a request that is over must not keep its connection", c.name)
		})
	}
}

// Run says how it ended: a program that stopped it knows, and everybody else must be told.
func TestRunReturnsWhatEndedIt(t *testing.T) {
	why := errors.New("the lease was lost")
	for _, c := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"stopped", context.WithCancel, nil},
		{"a deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded},
		{"a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(why) }
		}, why},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := NewReflector(ListerWatcher[*corev1.ConfigMap](&silent{}),
				Sink[*corev1.ConfigMap](newView()), ReflectorOptions{NoStream: true})
			ctx, cancel := c.end(t.Context())
			defer cancel()
			time.AfterFunc(2*time.Minute, cancel)
			require.ErrorIs(t, r.Run(ctx), c.want, c.name)
			require.Equal(t, StateStopped, r.Health().State, c.name)
		})
	}
}

// Most errors pass. A program that gives up on one of them must not give up on all, and one that
// has given up must not
// keep a connection.
func TestAReflectorGivesUpOnlyWhenItIsToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fatal := &metav1.Status{Status: metav1.StatusFailure, Code: 403,
			Reason: metav1.StatusReasonForbidden}
		passing := &metav1.Status{Status: metav1.StatusFailure, Code: 500,
			Reason: metav1.StatusReasonInternalError}
		server := &silent{initial: []Event[*corev1.ConfigMap]{{Type: watch.Error, Status: passing}}}
		r := NewReflector(ListerWatcher[*corev1.ConfigMap](server), Sink[*corev1.ConfigMap](newView()),
			ReflectorOptions{GiveUp: func(err error) bool {
				server.initial = []Event[*corev1.ConfigMap]{{Type: watch.Error, Status: fatal}}
				return apierrors.IsForbidden(err)
			}})
		require.True(t, apierrors.IsForbidden(r.Run(t.Context())))
		require.Len(t, server.asked, 2)
		for _, request := range server.requests {
			require.Error(t, request.Err(), "a request that nobody reads any more must end")
		}
	})
}

// refusesWatches has a list, and serves no watch of it.
type refusesWatches struct {
	ListerWatcher[*corev1.ConfigMap]
	asked []metav1.ListOptions // by List
}

func (s *refusesWatches) List(
	_ context.Context, options metav1.ListOptions,
) (*List[*corev1.ConfigMap], error) {
	s.asked = append(s.asked, options)
	return &List[*corev1.ConfigMap]{ResourceVersion: "100"}, nil
}

func (*refusesWatches) Watch(
	context.Context, metav1.ListOptions,
) (Watch[*corev1.ConfigMap], error) {
	return nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no"))
}

// The view never goes back in time, even if the reflector gave up right after the list and is run
// again.
func TestWhatAReflectorHasListedBeforeItGaveUpIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &refusesWatches{}
		r := NewReflector(ListerWatcher[*corev1.ConfigMap](server), Sink[*corev1.ConfigMap](newView()),
			ReflectorOptions{NoStream: true, GiveUp: apierrors.IsForbidden})
		require.True(t, apierrors.IsForbidden(r.Run(t.Context())))
		require.True(t, apierrors.IsForbidden(r.Run(t.Context())))
		require.Len(t, server.asked, 2)
		require.Equal(t, "100", server.asked[1].ResourceVersion,
			"the second run must not show an older state than the first")
	})
}

// Retry-After is in seconds.
func TestAWishToWaitReachesTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReflector(ListerWatcher[*corev1.ConfigMap](&tooBusyServer{}),
			Sink[*corev1.ConfigMap](newView()), ReflectorOptions{NoStream: true,
				Random: func() float64 { return 0.5 }})
		shell := &shell[*corev1.ConfigMap]{Reflector: r, ctx: t.Context(), began: time.Now()}
		shell.begin()
		defer shell.close()
		time.Sleep(3 * time.Second)
		in, err := shell.perform(action{do: doList})
		require.Error(t, err)
		require.Equal(t, input{kind: inFailed, asked: 17 * time.Second, at: 3 * time.Second,
			random: 0.5}, in)
	})
}

// tooBusyServer is a server that has no time.
type tooBusyServer struct {
	ListerWatcher[*corev1.ConfigMap]
}

func (tooBusyServer) List(context.Context, metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	return nil, apierrors.NewTooManyRequests("busy", 17)
}

// Objects change while a view of 100,000 of them is still coming. Whatever order the events have,
// the view that the sink gets must be what the server has, each object once.
func TestAViewThatIsComingHoldsWhatAMapWouldHold(t *testing.T) {
	updates, deletions, repeated := 0, 0, 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		var v partialView[*corev1.ConfigMap]
		want := map[string]string{}
		object := func(n int) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("object-", n),
				ResourceVersion: fmt.Sprint(random.Uint32())}}
		}
		versions := func() map[string]string {
			got := map[string]string{}
			for _, item := range v.items {
				require.NotContains(t, got, item.Name, "seed %d: twice", seed)
				got[item.Name] = item.ResourceVersion
			}
			return got
		}
		indexed := false
		for range 1 + random.IntN(30) {
			event := Event[*corev1.ConfigMap]{Type: watch.Added, Object: object(random.IntN(8))}
			name := event.Object.Name
			if kind := random.IntN(6); kind == 0 {
				event.Type = watch.Modified
				updates++
			} else if kind == 1 {
				event.Type = watch.Deleted
				deletions++
			}
			if _, there := want[name]; there && event.Type == watch.Added {
				repeated++
			}
			v.apply(event)
			if event.Type == watch.Deleted {
				delete(want, name)
			} else {
				want[name] = event.Object.ResourceVersion
			}
			if indexed = indexed || event.Type != watch.Added; indexed {
				require.Equal(t, want, versions(), "seed %d", seed)
			} else {
				require.Nil(t, v.indexOf, "seed %d: as long as objects only come, an index is memory for "+
					"nothing", seed)
			}
		}
		for _, item := range v.items[len(v.items):cap(v.items)] {
			require.Nil(t, item, "seed %d: an object that is gone is kept in memory", seed)
		}
	}
	require.Greater(t, updates, 100)
	require.Greater(t, deletions, 100)
	require.Greater(t, repeated, 100)
}

// A hundred pages are one view.
func TestAViewHoldsTheItemsOfAllPages(t *testing.T) {
	var v partialView[*corev1.ConfigMap]
	var want []string
	for page := range 3 {
		var items []*corev1.ConfigMap
		for i := range 2 {
			want = append(want, fmt.Sprintf("object-%d-%d", page, i))
			items = append(items, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: want[len(want)-1]}})
		}
		v.add(items)
	}
	require.Equal(t, want, namesOf(v.items))
}
