package simulation

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/manager/client"
)

// Memory is how long controllers may believe what is over: what others have done, they learn from watches that are
// late and break. What they have done themselves, they may not forget for a moment.
const Memory = 4 * time.Minute

// Change is something that has happened to an object.
type Change struct {
	At     time.Time
	Object client.Object
	IsGone bool
}

// Watch notes from now on what happens to all objects of some kinds, so that somebody can judge it in the end.
func (w *World) Watch(kinds ...client.ObjectList) {
	for _, list := range kinds {
		watching, err := w.Live.Watch(context.Background(), list)
		require.NoError(w.T, err)
		w.Go(func() {
			<-w.done
			watching.Stop()
		})
		w.Go(func() {
			for e := range watching.ResultChan() {
				if object, ok := e.Object.(client.Object); ok { // or it is an error, which ends the watch
					w.mu.Lock()
					w.changes = append(w.changes, Change{At: time.Now(), Object: object, IsGone: e.Type == watch.Deleted})
					w.mu.Unlock()
				}
			}
			select {
			case <-w.done:
			default:
				w.Breaks(time.Now(), "a watch of the judge has ended")
			}
		})
	}
}

// Changes ends the World, and returns what has happened in it, in its order.
func (w *World) Changes() []Change {
	w.End()
	slices.SortStableFunc(w.changes, func(a, b Change) int { return a.version() - b.version() })
	return w.changes
}

func (c Change) version() int {
	version, _ := strconv.Atoi(c.Object.GetResourceVersion())
	return version
}

// History are values, each with the time from which on it held. The last one holds.
type History[T any] []entry[T]

type entry[T any] struct {
	at    time.Time
	value T
}

// Add adds a value. What is added later may not be older.
func (h *History[T]) Add(at time.Time, value T) { *h = append(*h, entry[T]{at, value}) }

// Lately are the values that held at some moment of the time that may be remembered.
func (h History[T]) Lately(now time.Time) (values []T) {
	for i := range h {
		if i == len(h)-1 || now.Sub(h[i+1].at) < Memory {
			values = append(values, h[i].value)
		}
	}
	return values
}

// Added are the values that were added in that time.
func (h History[T]) Added(now time.Time) (values []T) {
	for _, e := range h {
		if since := now.Sub(e.at); since >= 0 && since < Memory {
			values = append(values, e.value)
		}
	}
	return values
}
