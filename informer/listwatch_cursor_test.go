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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/internal/tests/race"
)

// A reader that has seen nothing has no place in the history to watch from, and
// a watch from nowhere would repeat whatever it lists afterwards.
// Function: Cursor.Listed
func TestAReaderMustListBeforeItWatches(t *testing.T) {
	require.True(t, Cursor{}.MustList(), "the zero Cursor has seen nothing, so it must list")

	cursor := Cursor{}.Listed("100")
	require.False(t, cursor.MustList(),
		"after Listed(\"100\"), MustList() must be false: there is a place to watch from")
	require.Equal(t, "100", cursor.ResourceVersion(),
		"after a list the cursor stands at the list's resourceVersion")
}

// A watch must begin exactly where the list ended. Without a resourceVersion, or
// with "0", the server begins with ADDED events for what the list has shown.
// Function: Cursor.WatchOptions
func TestAWatchBeginsWhereTheListEnded(t *testing.T) {
	options := Cursor{}.Listed("100").WatchOptions()
	require.Equal(t, "100", options.ResourceVersion,
		"the watch must ask for what comes after the cursor")
}

// Without bookmarks the cursor of a quiet collection grows too old, and the next
// interruption costs a whole list.
// Function: Cursor.WatchOptions
func TestAWatchAsksForBookmarks(t *testing.T) {
	require.True(t, Cursor{}.Listed("100").WatchOptions().AllowWatchBookmarks,
		"the watch must set AllowWatchBookmarks, or the server sends none")
}

// A cursor that stays behind an event is shown it again after the next
// interruption.
// Function: Cursor.Saw
func TestAChangeMovesTheCursorAndIsPassedOn(t *testing.T) {
	for _, event := range []watch.EventType{watch.Added, watch.Modified} {
		cursor, deliver := Cursor{}.Listed("100").Saw(event, "101")
		require.Equal(t, "101", cursor.ResourceVersion(),
			"an event of type %s moves the cursor to its own resourceVersion", event)
		require.True(t, deliver, "an event of type %s is news about an object and must be passed on",
			event)
	}
}

// A resourceVersion is a name, and an aggregated API server may choose its own. A
// cursor that moves only to what looks larger, as a string or by its length,
// stays behind at some number, and is shown everything after it again.
// Function: Cursor.Saw
func TestAResourceVersionIsTakenNotCompared(t *testing.T) {
	for _, step := range [][2]string{{"9", "10"}, {"10", "9"}, {"99", "100"}, {"b", "a"}} {
		cursor, _ := Cursor{}.Listed(step[0]).Saw(watch.Modified, step[1])
		require.Equal(t, step[1], cursor.ResourceVersion(),
			"from %q, an event that has %q moves the cursor there, whatever looks larger", step[0], step[1])
	}
}

// A deletion that does not move the cursor comes again, and removes an object of the
// same name that was created since.
// Function: Cursor.Saw
func TestADeletionMovesTheCursorToo(t *testing.T) {
	cursor, deliver := Cursor{}.Listed("100").Saw(watch.Deleted, "101")
	require.Equal(t, "101", cursor.ResourceVersion(),
		"a deletion has a resourceVersion of its own, and the cursor moves there")
	require.True(t, deliver, "a deletion is news about an object and must be passed on")
}

// A bookmark's object is empty but for its resourceVersion. Passed on as a
// change, it would overwrite or create an object without a name.
// Function: Cursor.Saw
func TestABookmarkIsNotPassedOn(t *testing.T) {
	_, deliver := Cursor{}.Listed("100").Saw(watch.Bookmark, "140")
	require.False(t, deliver, "a bookmark is news about the resourceVersion only, and must not be "+
		"passed on")
}

// The bookmark's whole use is that the cursor keeps up with the server while
// nothing happens in the collection.
// Function: Cursor.Saw
func TestABookmarkMovesTheCursor(t *testing.T) {
	cursor, _ := Cursor{}.Listed("100").Saw(watch.Bookmark, "140")
	require.Equal(t, "140", cursor.ResourceVersion(), "a bookmark moves the cursor")
}

// An ERROR event carries a Status, which has no place in the history. A cursor
// that takes its empty resourceVersion has forgotten where it was.
// Function: Cursor.Saw
func TestAnErrorEventIsNoPlaceInTheHistory(t *testing.T) {
	cursor, deliver := Cursor{}.Listed("100").Saw(watch.Error, "109")
	require.Equal(t, "100", cursor.ResourceVersion(), "an ERROR event leaves the cursor where it is")
	require.False(t, deliver, "an ERROR event is not a change of an object, and must not be delivered")
}

// Some aggregated API servers send events without a resourceVersion.
// Function: Cursor.Saw
func TestAnEventWithoutResourceVersionDoesNotLoseThePlace(t *testing.T) {
	cursor, deliver := Cursor{}.Listed("100").Saw(watch.Modified, "")
	require.Equal(t, "100", cursor.ResourceVersion(),
		"an event without resourceVersion leaves the cursor where it is")
	require.True(t, deliver, "it is news about an object all the same")
}

// Function: Cursor.Failed
func TestAfter410TheReaderListsAgain(t *testing.T) {
	for reason, err := range inorder.Map(map[string]error{
		"Expired": apierrors.NewResourceExpired("too old resource version: 100 (500)"),
		"Gone": apierrors.NewGenericServerResponse(410, "get", schema.GroupResource{}, "", "",
			0, true),
		"in an event": Event[*metav1.PartialObjectMetadata]{Type: watch.Error,
			Status: &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired}}.Err(),
		"wrapped twice": errors.Join(errors.New("watching pods"),
			apierrors.NewResourceExpired("too old")),
	}) {
		require.True(t, Cursor{}.Listed("100").Failed(err).MustList(),
			"after 410 (%s) the server knows nothing of what came since the cursor: the reader must list, "+
				"or it asks for the same forever", reason)
	}
}

// A broken connection, an overloaded server or a lost right says nothing about
// the history. A reader that lists after every hiccup helps to bring the server down
// when it comes back and everybody lists at once.
// Function: Cursor.Failed
func TestAfterAnyOtherErrorTheReaderGoesOnWhereItWas(t *testing.T) {
	for name, err := range inorder.Map(map[string]error{
		"a broken connection": errors.New("connection reset by peer"),
		"429":                 apierrors.NewTooManyRequests("slow down", 1),
		"403": apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "",
			errors.New("no")),
		"500": apierrors.NewInternalError(errors.New("etcd is away")),
		"504": apierrors.NewTimeoutError("took too long", 1),
	}) {
		require.Equal(t, "100", Cursor{}.Listed("100").Failed(err).ResourceVersion(),
			"after %s the cursor is as good as before", name)
	}
}

// history is what a reader that follows a collection with a Cursor noted.
type history struct {
	lists int
	// copy holds the value of each object.
	copy map[string]string
	// versions are those of the changes since the last list, in order.
	versions []string
}

// follow lists and watches until the context ends, whatever goes wrong.
func follow(ctx context.Context, from ListerWatcher[*corev1.ConfigMap], h *history) {
	var cursor Cursor
	for ctx.Err() == nil {
		var err error
		if cursor.MustList() {
			cursor, err = h.list(ctx, from)
		} else {
			cursor, err = h.watch(ctx, from, cursor)
		}
		if err != nil {
			cursor = cursor.Failed(err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (h *history) list(ctx context.Context, from ListerWatcher[*corev1.ConfigMap]) (Cursor, error) {
	list, err := from.List(ctx, metav1.ListOptions{})
	if err != nil {
		return Cursor{}, err
	}
	h.lists++
	h.versions, h.copy = nil, map[string]string{}
	for _, object := range list.Items {
		h.copy[object.Name] = object.Data["value"]
	}
	return Cursor{}.Listed(list.ResourceVersion), nil
}

func (h *history) watch(
	ctx context.Context, from ListerWatcher[*corev1.ConfigMap], cursor Cursor,
) (Cursor, error) {
	watching, err := from.Watch(ctx, cursor.WatchOptions())
	if err != nil {
		return cursor, err
	}
	defer func() { _ = watching.Close() }()
	for {
		event, err := watching.Next()
		if err == nil {
			err = event.Err()
		}
		if err != nil {
			return cursor, err
		}
		var deliver bool
		if cursor, deliver = cursor.Saw(event.Type, event.ResourceVersion); !deliver {
			continue
		}
		h.versions = append(h.versions, event.ResourceVersion)
		if event.Type == watch.Deleted {
			delete(h.copy, event.Object.Name)
		} else {
			h.copy[event.Object.Name] = event.Object.Data["value"]
		}
	}
}

// A reader is interrupted in every way there is, hundreds of times. In the end
// its copy must equal the server's, and no change may have come twice.
func TestAReaderThatIsInterruptedAllTheTimeLosesAndRepeatsNothing(t *testing.T) {
	for seed := range race.Fewer(uint64(25)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { interrupt(t, seed) })
		})
	}
}

func interrupt(t *testing.T, seed uint64) {
	server := fakeapi.New(fakeapi.Options{Seed: seed, BookmarkInterval: 5 * time.Second, History: 40})
	defer server.Close()
	random := rand.New(rand.NewPCG(seed, 1))
	reads := fakeapi.Match{Resource: "configmaps", Verb: "watch"}
	server.Inject(fakeapi.Fault{Match: reads, CutAfterEvents: 7, Probability: 0.5, Seed: seed})
	server.Inject(fakeapi.Fault{Match: reads, CutAfter: 3 * time.Second, Probability: 0.5,
		Seed: seed + 1})
	server.Inject(fakeapi.Fault{Match: reads, DelayEvents: 20 * time.Millisecond, Probability: 0.3,
		Seed: seed + 2})
	server.Inject(fakeapi.Fault{Match: reads, Status: fakeapi.TooManyRequests(1), Probability: 0.1,
		Seed: seed + 3})

	w := newWorld(t, server.Config(), metav1.NamespaceDefault)
	var seen history
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(ctx, w.listWatch(t, ListWatchOptions{}), &seen)
	}()

	want := map[string]string{}
	for step := range 300 {
		w.writeAtRandom(t, random, 4, step, want)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		if step%100 == 99 {
			server.CompactAll()
		}
	}
	time.Sleep(time.Minute) // let the reader catch up
	cancel()
	<-done

	require.Equal(t, want, seen.copy, "the reader's copy must equal what the server has")
	times := map[string]int{}
	for _, version := range seen.versions {
		times[version]++
		require.Equal(t, 1, times[version], "the change with resourceVersion %s came again", version)
	}
}
