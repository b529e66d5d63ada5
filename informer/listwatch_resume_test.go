package informer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/race"
)

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

func (h *history) watch(ctx context.Context, from ListerWatcher[*corev1.ConfigMap], cursor Cursor) (Cursor, error) {
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
	server.Inject(fakeapi.Fault{Match: reads, CutAfter: 3 * time.Second, Probability: 0.5, Seed: seed + 1})
	server.Inject(fakeapi.Fault{Match: reads, DelayEvents: 20 * time.Millisecond, Probability: 0.3, Seed: seed + 2})
	server.Inject(fakeapi.Fault{Match: reads, Status: fakeapi.TooManyRequests(1), Probability: 0.1, Seed: seed + 3})

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
		name := "object-" + strconv.Itoa(random.IntN(10))
		_, there := want[name]
		switch {
		case !there:
			w.create(t, name, nil)
			want[name] = ""
		case random.IntN(4) == 0:
			w.delete(t, name)
			delete(want, name)
		default:
			w.change(t, name, step)
			want[name] = strconv.Itoa(step)
		}
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
