package mini

import (
	"context"

	"github.com/loopwright/loopwright/trace"
)

// Change says what happened to one object: its state before, and its state after.
//
//	Old == nil   the object is new
//	New == nil   the object is gone; Old is its last state
//	otherwise    the object has changed
type Change struct {
	Old, New Object
	// Tombstone is true if the watch missed the deletion, and a list without the object
	// showed it. Old is then the last state that was seen, and may not be the last one
	// that there was.
	Tombstone bool
}

// Object returns the new state, or the last one if the object is gone.
func (c Change) Object() Object {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Informer keeps a Store up to date, and tells one function what has changed.
//
// Guarantees: at the time of the call, the store already has the change. The changes of
// one object come in order: each Old is the New of the change before, except that a
// deletion shows the state at the end.
//
// Caveats: after a relist, one change may stand for many, and an object that was created
// and deleted in between causes none.
type Informer struct {
	*Store
	Source   ListerWatcher
	OnChange func(Change)    // gets one call at a time
	Trace    *trace.Recorder // nil records nothing
}

// NewInformer returns an informer. It does nothing until Run.
func NewInformer(
	source ListerWatcher, indexers Indexers, onChange func(Change),
) *Informer {
	return &Informer{Store: NewStore(indexers), Source: source, OnChange: onChange}
}

// Run keeps the store up to date until ctx ends, and then returns nil.
func (i *Informer) Run(ctx context.Context) error {
	return (&Reflector{Source: i.Source, Sink: i, Trace: i.Trace}).Run(ctx)
}

// Update makes the informer a Sink.
func (i *Informer) Update(obj Object) { i.notify(i.Store.Update(obj), obj) }

// Delete makes the informer a Sink.
func (i *Informer) Delete(obj Object) {
	if i.Store.Delete(KeyOf(obj)) != nil {
		i.OnChange(Change{Old: obj})
	}
}

// Replace makes the informer a Sink. An object that the list lacks was deleted while
// there was no watch.
func (i *Informer) Replace(items []Object, _ string) {
	old := i.Store.Replace(items)
	for _, obj := range items {
		key := KeyOf(obj)
		i.notify(old[key], obj)
		delete(old, key)
	}
	for _, obj := range sorted(old) { // what is left
		i.OnChange(Change{Old: obj, Tombstone: true})
	}
}

// notify reports the state that has taken the place of old. A list shows most objects
// unchanged, and those cause no change.
func (i *Informer) notify(old, obj Object) {
	switch {
	case old == nil:
		i.OnChange(Change{New: obj})
	case old.GetUID() != obj.GetUID(): // deleted, and created again under the same name
		i.OnChange(Change{Old: old, Tombstone: true})
		i.OnChange(Change{New: obj})
	case old.GetResourceVersion() != obj.GetResourceVersion():
		i.OnChange(Change{Old: old, New: obj})
	}
}
