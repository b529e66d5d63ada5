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

// Memory is how long controllers may act on an outdated state: they learn of other clients' writes
// from watches that are late and break. They must know their own writes at once.
const Memory = 4 * time.Minute

// Change is one change of an object.
type Change struct {
	At     time.Time
	Object client.Object
	IsGone bool
}

// Watch records all changes of objects of some kinds from now on, so that a test can judge them in
// the end.
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
				// otherwise it's an error, which ends the watch
				if object, ok := e.Object.(client.Object); ok {
					w.mu.Lock()
					w.changes = append(w.changes, Change{
						At: time.Now(), Object: object, IsGone: e.Type == watch.Deleted,
					})
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

// Changes ends the World, and returns the recorded changes in their order.
func (w *World) Changes() []Change {
	w.End()
	slices.SortStableFunc(w.changes, func(a, b Change) int { return a.version() - b.version() })
	return w.changes
}

func (c Change) version() int {
	version, _ := strconv.Atoi(c.Object.GetResourceVersion())
	return version
}

// History has the values of something, each with the time from which it held. The last one still
// holds.
type History[T any] []entry[T]

type entry[T any] struct {
	at    time.Time
	value T
}

// Add adds a value. Calls must be in the order of their times.
func (h *History[T]) Add(at time.Time, value T) { *h = append(*h, entry[T]{at, value}) }

// Lately returns the values that held at some time within the Memory.
func (h History[T]) Lately(now time.Time) (values []T) {
	for i := range h {
		if i == len(h)-1 || now.Sub(h[i+1].at) < Memory {
			values = append(values, h[i].value)
		}
	}
	return values
}

// Added returns the values that were added within the Memory.
func (h History[T]) Added(now time.Time) (values []T) {
	for _, e := range h {
		if since := now.Sub(e.at); since >= 0 && since < Memory {
			values = append(values, e.value)
		}
	}
	return values
}
