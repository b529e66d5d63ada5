package mini

import (
	"context"

	"github.com/loopwright/loopwright/trace"
)

// Change is what happened to one object: the state before and the state after.
//
//	Old == nil   the object is new
//	New == nil   the object is gone
//	otherwise    it has changed
type Change struct {
	Old, New Object
	// Tombstone: nobody saw the deletion. It was found out by a list, and Old is the last
	// state that is known, which may be older than the object's end.
	Tombstone bool
}

// Object returns the new state, or the last one if the object is gone.
func (c Change) Object() Object {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Informer keeps a Store up to date and tells one function what has changed.
//
// Guarantees: when it is told, the store has the change already. Changes of one object
// come in order, and the New of one is the Old of the next. Two changes may have been
// merged into one, if the watch was broken between them.
type Informer struct {
	*Store
	Source   ListerWatcher
	OnChange func(Change)    // gets one call at a time
	Trace    *trace.Recorder // nil records nothing
}

// NewInformer returns an informer. It does nothing until Run.
func NewInformer(source ListerWatcher, indexers Indexers, onChange func(Change)) *Informer {
	return &Informer{Store: NewStore(indexers), Source: source, OnChange: onChange}
}

// Run keeps the store up to date until ctx ends.
func (i *Informer) Run(ctx context.Context) error {
	return (&Reflector{Source: i.Source, Sink: i, Trace: i.Trace}).Run(ctx)
}

// Update is called by the reflector.
func (i *Informer) Update(obj Object) { i.tell(i.Store.Update(obj), obj) }

// Delete is called by the reflector.
func (i *Informer) Delete(obj Object) {
	if i.Store.Delete(KeyOf(obj)) != nil {
		i.OnChange(Change{Old: obj})
	}
}

// Replace is called by the reflector. What the list lacks has been deleted while nobody
// watched.
func (i *Informer) Replace(items []Object, _ string) {
	gone := i.Store.Replace(items)
	for _, obj := range items {
		key := KeyOf(obj)
		i.tell(gone[key], obj)
		delete(gone, key)
	}
	for _, obj := range sorted(gone) {
		i.OnChange(Change{Old: obj, Tombstone: true})
	}
}

// tell tells of a new state, unless it is the old one again, as in a list.
func (i *Informer) tell(old, obj Object) {
	switch {
	case old == nil:
		i.OnChange(Change{New: obj})
	case old.GetUID() != obj.GetUID(): // deleted, and another one created under its name
		i.OnChange(Change{Old: old, Tombstone: true})
		i.OnChange(Change{New: obj})
	case old.GetResourceVersion() != obj.GetResourceVersion():
		i.OnChange(Change{Old: old, New: obj})
	}
}
