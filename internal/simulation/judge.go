package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
				w.T.Error("a watch of the judge has ended")
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

// Broken is a promise that was broken.
type Broken struct {
	Promise Promise
	At      time.Time // zero: in the end
	What    string
}

// String says which promise was broken, when and how.
func (b Broken) String() string {
	if b.At.IsZero() {
		return fmt.Sprintf("%s: %s", b.Promise, b.What)
	}
	return fmt.Sprintf("%s: %s, %s", b.Promise, b.At.UTC().Format(clockFormat), b.What)
}

// Breaks notes that a promise was broken at some time, unless a mishap had bent it.
func (w *World) Breaks(p Promise, at time.Time, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	for _, span := range w.bent[p] {
		if span.has(at) {
			w.counts["bent: "+string(p)]++
			w.tellLocked(at, "bent: %s: %s", p, what)
			return
		}
	}
	w.broken = append(w.broken, Broken{p, at, what})
	w.tellLocked(at, "BROKEN: %s: %s", p, what)
}

// Broken returns the promises that were broken. The World has to be at its end.
func (w *World) Broken() []Broken { return w.broken }

// span is a time in which a promise was bent: to is zero until that's over.
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool {
	return !at.Before(s.from) && (s.to.IsZero() || at.Sub(s.to) < Memory)
}

func (w *World) bend(p Promise) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bent[p] = append(w.bent[p], span{from: time.Now()})
}

func (w *World) unbend(p Promise) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.bent[p] {
		if w.bent[p][i].to.IsZero() {
			w.bent[p][i].to = time.Now()
			return
		}
	}
}

// deeds are what users have done, or are about to do: the judge mustn't blame it on the controllers.
type deeds struct {
	deleted map[types.UID][]metav1.DeletionPropagation // how, and by users
	scaled  map[string]bool                            // ReplicaSets by UID and generation
	moved   History[moved]
	asked   History[struct{}] // the controllers asked the server for a ReplicaSet
}

// moved is how many Pods may have come and gone by what a user did.
type moved struct{ gone, came int32 }

// UserDeletes notes that a user is about to delete an object.
func (w *World) UserDeletes(uid types.UID, how metav1.DeletionPropagation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deeds.deleted == nil {
		w.deeds.deleted = map[types.UID][]metav1.DeletionPropagation{}
	}
	w.deeds.deleted[uid] = append(w.deeds.deleted[uid], how)
}

func (w *World) byUser(uid types.UID) bool { return len(w.deeds.deleted[uid]) > 0 }

// UserScaled notes that a user has scaled a ReplicaSet by hand.
func (w *World) UserScaled(rs *appsv1.ReplicaSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deeds.scaled == nil {
		w.deeds.scaled = map[string]bool{}
	}
	w.deeds.scaled[fmt.Sprint(rs.UID, rs.Generation)] = true
}

// UserMoves notes that this many of a Deployment's Pods may go and come by what a user is about to do.
func (w *World) UserMoves(gone, came int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deeds.moved.Add(time.Now(), moved{gone, came})
}

// NoteQuestions notes when the controllers read a ReplicaSet from the server itself.
func (w *World) NoteQuestions() {
	w.onRequest("get", "replicasets", func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deeds.asked.Add(time.Now(), struct{}{})
	})
}
