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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// heralds is a removableKind whose discovery says what a test wants.
type heralds struct {
	*removableKind
	says  discovery
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
		ask: func(context.Context) discovery {
			h.asked++
			if !h.back.IsZero() && time.Now().After(h.back) {
				return saysServed
			}
			return h.says
		},
		move: func() error { h.moves++; return errMapperIsOld },
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

func TestA404IsADoubtAndThreeOfThemAreTheEndOfAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMissing)
		require.NoError(t, w.note(t.Context(), nil))
		require.Zero(t, w.asked, "there is no doubt")
		for i := range 3 {
			require.False(t, w.isGone(), "after %d", i)
			require.Equal(t, error(notFound), w.note(t.Context(), notFound))
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, 3, w.asked)
		require.True(t, w.isGone())
		require.True(t, w.removal.isGone)
		require.Equal(t, 1, w.logged("A kind is gone"))

		other := newHeralds(saysMissing)
		unavailable := apierrors.NewServiceUnavailable("later")
		require.Equal(t, error(unavailable), other.note(t.Context(), unavailable))
		require.Zero(t, other.asked, "no 404")
		for range 2 {
			_ = other.note(t.Context(), notFound)
		}
		time.Sleep(time.Hour)
		require.NoError(t, other.note(t.Context(), nil))
		require.Equal(t, removal{}, other.removal, "an answer proves that it is there")
		_ = other.note(t.Context(), notFound)
		require.False(t, other.isGone())
	})
}

// A kind with another scope may have the path of the old one, and answer.
func TestAnAnswerAfterADoubtMayBeAboutAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMoved)
		_ = w.note(t.Context(), notFound)
		require.False(t, w.isGone())
		require.True(t, apierrors.IsResourceExpired(w.note(t.Context(), nil)))
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

func TestAKindThatIsGoneIsShownAsEmptyUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMissing)
		w.disappeared()
		for _, version := range []string{"7", "", "0"} { // the last two are no version
			list, err := w.List(t.Context(), metav1.ListOptions{ResourceVersion: version})
			require.NoError(t, err)
			require.Equal(t, &informer.List[client.Object]{ResourceVersion: "7"}, list)
		}
		require.Zero(t, w.asked)

		began := time.Now()
		opened, err := w.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true), ResourceVersion: "8"})
		require.NoError(t, err)
		event, err := opened.Next()
		require.NoError(t, err)
		require.Equal(t, watch.Bookmark, event.Type)
		require.Equal(t, []string{"8", "8", "true"}, []string{event.ResourceVersion, event.Object.GetResourceVersion(), event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey]})
		require.Zero(t, time.Since(began))
		w.back = time.Now().Add(12 * time.Second)
		_, err = opened.Next()
		require.ErrorIs(t, err, errKindIsBack)
		var status apierrors.APIStatus
		require.ErrorAs(t, err, &status)
		require.Equal(t, metav1.StatusReasonExpired, status.Status().Reason, "so that the reflector lists")
		require.Equal(t, 15*time.Second, time.Since(began), "it looks every five seconds")
		require.Equal(t, 3, w.asked)
		require.Equal(t, removal{}, w.removal)

		// The informer asks for a stream only if it has no view that it could go on with.
		w.disappeared()
		w.newest = ""
		_, err = w.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
		require.True(t, apierrors.IsBadRequest(err), "%v", err)
		for _, streams := range []*bool{nil, new(false)} {
			opened, err = w.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: streams})
			require.NoError(t, err)
			w.removal.isGone = true
			_, err = opened.Next()
			require.ErrorIs(t, err, errKindIsBack, "there is nothing to begin with")
			w.removal.isGone = true
		}
	})
}

// There is no moment of which is known that the kind was empty then.
func TestAKindThatIsGoneAndWasNeverListedIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHeralds(saysMissing)
		w.disappeared()
		patience := errors.New("patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, patience)
		defer cancel()
		_, err := w.List(ctx, metav1.ListOptions{})
		require.ErrorIs(t, err, patience)
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
		require.ErrorIs(t, w.untilBack(t.Context(), nil, time.Minute+time.Second), io.EOF)
		require.Equal(t, 12, w.moves)
		require.Equal(t, 1, w.logged("A kind cannot be read"))
		w = newHeralds(saysMoved)
		w.move = func() error { return nil }
		require.ErrorIs(t, w.untilBack(t.Context(), nil, time.Minute), io.EOF)
		require.Zero(t, w.logged("A kind cannot be read"))
	})
}

// told is a watch with these events.
type told []informer.Event[client.Object]

func (t *told) Next() (event informer.Event[client.Object], err error) {
	if len(*t) == 0 {
		return event, io.EOF
	}
	event, *t = (*t)[0], (*t)[1:]
	return event, nil
}

func (t *told) Close() error { return nil }

// Reads wait for the version at which all objects have come.
func TestAKindIsBackWhenItsInitialEventsHaveCome(t *testing.T) {
	object := func(annotations map[string]string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
	}
	w := newHeralds(saysServed)
	w.listed("1")
	require.Nil(t, w.absent.Load(), "it was not gone")
	w.disappeared()
	end := map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	events := &told{
		{Type: watch.Added, Object: object(end), ResourceVersion: "2"},
		{Type: watch.Bookmark, Object: object(nil), ResourceVersion: "3"},
		{Type: watch.Bookmark, Object: object(end), ResourceVersion: "4"},
		{Type: watch.Bookmark, Object: object(end), ResourceVersion: "5"},
	}
	back := returningWatch{events, w.removableKind}
	for i := range 4 {
		require.Equal(t, i < 3, w.isGone(), "after %d", i)
		_, err := back.Next()
		require.NoError(t, err)
	}
	require.Equal(t, absence{isBack: true, listed: "4"}, *w.absent.Load())
	require.Equal(t, 1, w.logged("A kind is back"))
	_, err := back.Next()
	require.ErrorIs(t, err, io.EOF)
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
