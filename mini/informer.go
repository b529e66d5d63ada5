package mini

import (
	"context"

	"github.com/loopwright/loopwright/trace"
)

// Change says what happened to one object: its state before and its state after.
//
//	Old == nil   the object is new
//	New == nil   the object was deleted; Old is its last state
//	otherwise    the object has changed
type Change struct {
	Old, New Object
	// Tombstone is true if the watch missed the deletion and we only know of it because a
	// list lacks the object. Old is then the last state that we saw. There may have been
	// later ones.
	Tombstone bool
}

// Object returns the new state, or the last one if the object was deleted.
func (c Change) Object() Object {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Informer keeps a Store up to date and tells one function what has changed.
//
// Guarantees: when OnChange is called, the store already has the change. The changes of
// one object come in order: each Old is the New of the previous change, except that a
// deletion brings the object's last state.
//
// Caveats: after a relist, one change may stand for many, and you won't hear of an object
// that was both created and deleted in between.
type Informer struct {
	*Store
	Source   ListerWatcher
	OnChange func(Change)    // called with one change at a time
	Trace    *trace.Recorder // nil records nothing
}

// NewInformer returns an informer. It starts with Run.
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

// Replace makes the informer a Sink. An object that the list lacks was deleted while we
// had no watch.
func (i *Informer) Replace(items []Object, _ string) {
	old := i.Store.Replace(items)
	for _, obj := range items {
		key := KeyOf(obj)
		i.notify(old[key], obj)
		delete(old, key)
	}
	for _, obj := range sorted(old) { // not in the list
		i.OnChange(Change{Old: obj, Tombstone: true})
	}
}

// notify reports that obj has replaced old. After a list most objects are the same as
// before, and those aren't reported.
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
