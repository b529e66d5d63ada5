package cache

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// Whoever takes another kind of the group, or a subresource, for the kind moves an informer to where nothing is.
func TestDiscoveryIsAskedForTheKindAndNotForItsNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := schema.GroupVersion{Group: "shop.example.com", Version: "v1"}
		server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{
			{Group: shop.Group, Version: shop.Version, Kind: "Widget"}, {Group: shop.Group, Version: shop.Version, Kind: "Gadget"}, {Group: shop.Group, Version: shop.Version, Kind: "Apple"},
		}})
		defer server.Close()
		made, err := New(server.Config(), Options{})
		require.NoError(t, err)
		c := made.(*objectCache)
		at := func(kind schema.GroupVersionKind, resource string, namespaced bool) *meta.RESTMapping {
			mapping := &meta.RESTMapping{GroupVersionKind: kind, Resource: kind.GroupVersion().WithResource(resource), Scope: meta.RESTScopeRoot}
			if namespaced {
				mapping.Scope = meta.RESTScopeNamespace
			}
			return mapping
		}
		apps := schema.GroupVersion{Group: "apps", Version: "v1"}
		none := schema.GroupVersion{Group: "none.example.com", Version: "v1"}
		for _, q := range []struct {
			at   *meta.RESTMapping
			want discovery
		}{
			{at(shop.WithKind("Widget"), "widgets", true), saysServed},
			{at(shop.WithKind("Gadget"), "gadgets", true), saysServed},
			{at(shop.WithKind("Gadget"), "widgets", true), saysMoved},
			{at(shop.WithKind("Widget"), "widgets", false), saysMoved},
			{at(shop.WithKind("Thing"), "things", true), saysMissing},
			{at(none.WithKind("Widget"), "widgets", true), saysMissing},
			{at(apps.WithKind("Deployment"), "deployments", true), saysServed},
			{at(apps.WithKind("Scale"), "scales", true), saysMissing}, // that of deployments/scale
		} {
			says, err := c.discover(t.Context(), q.at)
			require.NoError(t, err)
			require.Equal(t, q.want, says, "%v", q.at)
		}
		require.True(t, meta.IsNoMatchError(c.move(at(none.WithKind("Widget"), "widgets", true))))
		require.ErrorIs(t, c.move(at(shop.WithKind("Widget"), "widgets", true)), errMapperIsOld)
		require.NoError(t, c.move(at(shop.WithKind("Widget"), "widgets", false)))

		server.Inject(fakeapi.Fault{Status: fakeapi.Unavailable()})
		says, err := c.discover(t.Context(), at(shop.WithKind("Widget"), "widgets", true))
		require.Error(t, err)
		require.Equal(t, saysNothing, says)
	})
}

// A controller takes a kind that is gone for a kind without objects if nobody tells it. But a server that
// restarts must not count as one that has lost the kind.
func TestAKindIsGoneOnlyWhenTheServerHasSaidSoSeveralTimesAndForAWhile(t *testing.T) {
	start := time.Unix(0, 0)
	for _, with := range []struct {
		objects  bool
		patience time.Duration
	}{{false, 10 * time.Second}, {true, 75 * time.Second}} {
		after := func(p removal, d time.Duration, says discovery) removal {
			return p.answered404(start.Add(d), says, with.objects)
		}
		twice := after(after(removal{}, 0, saysMissing), 2*time.Second, saysMissing)
		require.False(t, twice.isGone)
		require.False(t, after(twice, with.patience-time.Millisecond, saysMissing).isGone, "a server that's behind says so for a while")
		require.True(t, after(twice, with.patience, saysMissing).isGone)
		require.True(t, after(twice, with.patience, saysMoved).isGone, "what is somewhere else is not here")

		require.False(t, after(after(removal{}, 0, saysMissing), time.Hour, saysMissing).isGone, "two answers are not enough, however long it took")
		moment := after(removal{}, 0, saysMissing)
		for range 10 {
			moment = after(moment, time.Second, saysMissing)
		}
		require.Equal(t, 1, moment.answers, "answers of a moment are those of one server that is behind")
		require.False(t, after(moment, time.Hour, saysMissing).isGone)
		require.Equal(t, removal{}, after(removal{}, 0, saysNothing), "time that nobody has confirmed does not count")
		require.Equal(t, twice, after(twice, time.Hour, saysNothing), "a discovery that fails says nothing")
		require.True(t, after(after(twice, time.Hour, saysNothing), 2*time.Hour, saysMissing).isGone, "nor does it say that the kind is there")
		require.Equal(t, removal{}, after(twice, time.Hour, saysServed), "it was the list that was wrong")
		again := after(after(twice, time.Hour, saysServed), 2*time.Hour, saysMissing)
		require.False(t, again.isGone, "the count begins again")
	}
}

// heralds is a removableKind whose discovery says what a test wants.
type heralds struct {
	*removableKind
	says  discovery
	holds bool
	back  time.Time // then it says that the kind is served
	asked int
	moves int
	log   []string
}

func newHeralds(says discovery) *heralds {
	h := &heralds{says: says}
	logger := funcr.New(func(_, line string) { h.log = append(h.log, line) }, funcr.Options{})
	h.removableKind = &removableKind{
		kind: schema.GroupVersionKind{Version: "v1", Kind: "Widget"}, log: logger, refusal: newRefusal(),
		ask: func(context.Context) (discovery, error) {
			h.asked++
			if !h.back.IsZero() && time.Now().After(h.back) {
				return saysServed, nil
			}
			return h.says, nil
		},
		holdsObjects: func() bool { return h.holds },
		rewinds:      func() int { return 0 },
		move:         func() error { h.moves++; return errMapperIsOld },
	}
	return h
}

func (h *heralds) logged(part string) (times int) {
	for _, line := range h.log {
		times += strings.Count(line, part)
	}
	return times
}

var notFound = apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, "")

// Two answers with 404 today and one tomorrow do not prove that a kind is gone.
func TestAnAnswerProvesThatAKindIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMissing)
		_ = w.note(t.Context(), notFound)
		_ = w.note(t.Context(), notFound)
		time.Sleep(time.Hour)
		require.NoError(t, w.note(t.Context(), nil))
		_ = w.note(t.Context(), notFound)
		require.False(t, w.isGone())
	})
}

// The informer may have gone back to an older history before the kind came back. Only if it does so after the list of the
// kind's return is that list undone.
func TestTheListOfAKindsReturnKnowsItsHistory(t *testing.T) {
	w := newHeralds(saysMissing)
	w.rewinds = func() int { return 3 }
	w.absent.Store(&absence{})
	w.listed("7")
	require.Equal(t, &absence{isBack: true, listed: "7", rewinds: 3}, w.absent.Load())
}

// A kind with another scope may have the path of the old one, and answer. But one replica's old document, which has
// the old scope, must not delete what's there.
func TestAnAnswerAfterADoubtMayBeAboutAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMoved)
		w.holds = true
		_ = w.note(t.Context(), notFound)
		require.False(t, w.isGone())
		for began := time.Now(); time.Since(began) < goneWithObjects; time.Sleep(time.Second) {
			err := w.note(t.Context(), nil)
			require.ErrorContains(t, err, "with another resource name or scope")
			require.False(t, apierrors.IsResourceExpired(err))
			require.False(t, w.isGone())
		}
		time.Sleep(goneApart)
		require.Error(t, w.note(t.Context(), apierrors.NewServiceUnavailable("starting")))
		require.True(t, apierrors.IsResourceExpired(w.note(t.Context(), nil)), "a 503 has not settled the doubt")
		require.True(t, w.isGone())
		require.True(t, w.removal.isGone)

		w = newHeralds(saysServed)
		w.refusal.set(&informer.RefusedError{})
		_ = w.note(t.Context(), notFound)
		require.NoError(t, w.note(t.Context(), nil))
		require.False(t, w.isGone())
		refused, _ := w.refusal.last()
		require.Nil(t, refused, "the server has answered")
		w.says = saysMoved
		require.NoError(t, w.note(t.Context(), nil), "the doubt was settled")
	})
}

// Handlers are told the end of what was left at once, and not only when the kind is back.
func TestAStreamOfAKindThatIsGoneIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMissing)
		w.disappeared()
		opened, err := w.Watch(t.Context(),
			metav1.ListOptions{SendInitialEvents: new(true), ResourceVersion: "8"})
		require.NoError(t, err)
		began := time.Now()
		w.back = began.Add(12 * time.Second)
		event, err := opened.Next()
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		require.EqualValues(t, "BOOKMARK", event.Type)
		require.Equal(t, "8", event.ResourceVersion)
		require.Equal(t, "true", event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey])
		_, err = opened.Next()
		require.ErrorIs(t, err, errKindIsBack)
		require.Equal(t, 15*time.Second, time.Since(began), "it looks every five seconds")
	})
}

// A watch that outlives its informer, or its time-out, is a goroutine that nobody ends.
func TestTheWatchOfAKindThatIsGoneEndsLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			end     func(opened informer.Watch[client.Object], cancel context.CancelCauseFunc)
			seconds *int64
			want    error
			after   time.Duration
		}{
			{func(opened informer.Watch[client.Object], _ context.CancelCauseFunc) { _ = opened.Close() }, nil, informer.ErrWatchClosed, time.Hour},
			{func(_ informer.Watch[client.Object], cancel context.CancelCauseFunc) { cancel(io.ErrNoProgress) }, nil, io.ErrNoProgress, time.Hour},
			{func(informer.Watch[client.Object], context.CancelCauseFunc) {}, new(int64(7)), io.EOF, 7 * time.Second},
			{func(informer.Watch[client.Object], context.CancelCauseFunc) {}, new(int64(600)), io.EOF, 10 * time.Minute},
		} {
			w := newHeralds(saysMissing)
			w.disappeared()
			ctx, cancel := context.WithCancelCause(t.Context())
			opened, err := w.Watch(ctx, metav1.ListOptions{TimeoutSeconds: c.seconds})
			require.NoError(t, err)
			began := time.Now()
			time.AfterFunc(time.Hour, func() { c.end(opened, cancel) })
			_, err = opened.Next()
			require.ErrorIs(t, err, c.want)
			require.Equal(t, c.after, time.Since(began))
			require.NoError(t, opened.Close())
			require.NoError(t, opened.Close(), "twice does no harm")
			time.Sleep(2 * time.Hour)
			cancel(nil)
		}
	})
}

// The move may fail for days. One line in the log says so, and not one every five seconds.
func TestAKindThatIsElsewhereIsMovedAgainAndAgainAndLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMoved)
		w.looked = time.Now() // and heard that it's elsewhere
		require.ErrorIs(t, w.untilBack(t.Context(), nil, time.Minute+time.Second), io.EOF)
		require.Equal(t, 12, w.moves)
		require.Equal(t, 1, w.logged("A kind cannot be read"))
		w = newHeralds(saysMoved)
		w.move = func() error { return nil }
		require.ErrorIs(t, w.untilBack(t.Context(), nil, time.Minute), io.EOF)
		require.Zero(t, w.logged("A kind cannot be read"))
	})
}

func TestWhoeverWaitsForTheEndOfAKindIsToldWithTheRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMissing)
		time.AfterFunc(time.Second, func() { w.refusal.set(&informer.RefusedError{}) })
		time.AfterFunc(time.Minute, func() {
			w.disappeared()
			w.refusal.set(&informer.RefusedError{})
		})
		began := time.Now()
		require.True(t, w.untilGone(t.Context()))
		require.Equal(t, time.Minute, time.Since(began))
		require.True(t, w.untilGone(t.Context()), "it is gone already")
		w = newHeralds(saysMissing)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("patience"))
		defer cancel()
		require.False(t, w.untilGone(ctx))
	})
}

// Each watch of a removed kind ends before it would look for the kind.
func TestAWatchThatEndsDoesNotPutOffTheLookForARemovedKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := &removableKind{looked: began, ask: func(context.Context) (discovery, error) {
			if time.Since(began) < time.Minute {
				return saysMissing, nil
			}
			return saysServed, nil
		}}
		for _, patience := range []time.Duration{4 * time.Second, 5 * time.Second} {
			began = time.Now()
			err := io.EOF
			for ; err != nil; err = w.untilBack(t.Context(), nil, patience) {
				require.ErrorIs(t, err, io.EOF)
				require.Less(t, time.Since(began), time.Minute+lookForKind)
			}
		}
	})
}
