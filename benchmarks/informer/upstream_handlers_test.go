package informer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
)

// told is what a handler was told, in both libraries' types.
type told struct{ lines []string }

func (d *told) add(obj any)               { d.note("add %v", obj) }
func (d *told) addFirst(obj any, in bool) { d.note("add %v, %v", obj, in) }
func (d *told) update(old, obj any)       { d.note("update %v to %v", old, obj) }
func (d *told) delete(obj any)            { d.note("delete %v", obj) }
func (d *told) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// handlerOfBoth is what the two interfaces have in common, which is everything.
type handlerOfBoth interface {
	cache.ResourceEventHandler
	informer.ResourceEventHandler
}

// funcs are handlers of functions, of which some are missing.
func (d *told) funcs(some int) (theirs, ours handlerOfBoth) {
	var add, update, remove = d.add, d.update, d.delete
	addFirst := d.addFirst
	if some&1 != 0 {
		add, addFirst = nil, nil
	}
	if some&2 != 0 {
		update = nil
	}
	if some&4 != 0 {
		remove = nil
	}
	if some&8 != 0 {
		return cache.ResourceEventHandlerDetailedFuncs{AddFunc: addFirst, UpdateFunc: update, DeleteFunc: remove},
			informer.ResourceEventHandlerDetailedFuncs{AddFunc: addFirst, UpdateFunc: update, DeleteFunc: remove}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: update, DeleteFunc: remove},
		informer.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: update, DeleteFunc: remove}
}

func accepts(level int) func(any) bool {
	return func(obj any) bool { return strings.Count(fmt.Sprint(obj), "x") >= level }
}

// call makes the same random call of a handler of either library.
func call(h handlerOfBoth, seed uint64, tombstone func(obj any) any) {
	random := rand.New(rand.NewPCG(seed, 0))
	object := func() any { return strings.Repeat("x", random.IntN(4)) }
	switch random.IntN(4) {
	case 0:
		h.OnAdd(object(), random.IntN(2) == 0)
	case 1:
		h.OnUpdate(object(), object())
	case 2:
		h.OnDelete(object())
	default:
		h.OnDelete(tombstone(object()))
	}
}

// A program that names client-go's handlers must be told the same by ours: the same calls, with
// any functions missing, and with filters around filters.
func TestHandlersWithClientGosNamesAreToldTheSame(t *testing.T) {
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var d told
		theirs, ours := d.funcs(random.IntN(16))
		for range random.IntN(3) {
			level := random.IntN(4)
			theirs = cache.FilteringResourceEventHandler{FilterFunc: accepts(level), Handler: theirs}
			ours = informer.FilteringResourceEventHandler{FilterFunc: accepts(level), Handler: ours}
		}
		call(theirs, seed, func(obj any) any { return cache.DeletedFinalStateUnknown{Key: "key", Obj: obj} })
		want := d.lines
		d.lines = nil
		call(ours, seed, func(obj any) any { return informer.DeletedFinalStateUnknown{Key: "key", Obj: obj} })
		if fmt.Sprint(want) != fmt.Sprint(d.lines) {
			t.Fatalf("seed %d: client-go's handler was told %q, ours %q", seed, want, d.lines)
		}
	}
}
