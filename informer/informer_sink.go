package informer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// informerSink is the informer as its reflector's Sink. Everything it does runs on the reflector's
// goroutine, which alone writes to the store: it compares new objects with those in the store,
// changes the store, and tells the listeners.
//
// client-go has a queue here, and a second goroutine. This package's reflector only decodes, and no
// listener makes it wait, so there's nothing to decouple.
type informerSink[T Object] struct{ *Informer[T] }

// Replace brings the store up to a whole list, in one step: a reader finds the old world or the new
// one. The new one is built beside the old one, so no reader waits for it.
func (i informerSink[T]) Replace(items []T, resourceVersion string) {
	first := !i.hasSynced()
	world, deltas := i.changesTo(items, first)
	during, after := i.keptInReplace()
	i.kept.Store(during)
	i.commit(deltas, func() {
		i.store.exchange(world)
		i.kept.Store(after)
	}, first)
	i.reached.replaced(resourceVersion)
}

// keptInReplace returns what the store has for sure while it's being replaced, and after that. A
// reader may find the old contents or the new ones until then, so it's what both have.
func (i informerSink[T]) keptInReplace() (during, after *keptShard) {
	if i.shards == nil {
		return nil, nil
	}
	old, reads := i.kept.Load(), i.shards.reads
	switch {
	case old == nil:
		return nil, &keptShard{[]Shard{reads}, reads}
	case old.listed == reads:
		return old, old
	}
	return old.without(reads), &keptShard{[]Shard{reads}, reads}
}

// renewed is called before a new view is requested. Another process may change what leaves the shard
// now, and it may come back before there's a view: so it goes at once.
func (i informerSink[T]) renewed() {
	if i.shards == nil {
		return
	}
	wanted := i.shards.wanted()
	if i.hasSynced() {
		i.leave(i.kept.Load().without(wanted))
	}
	i.shards.accept(wanted)
	i.reached.advance("")
}

// leave takes everything out of the store that isn't in rest.
func (i informerSink[T]) leave(rest *keptShard) {
	world, deltas := map[Key]T{}, []delta[T](nil)
	for object := range i.store.All() {
		if key := KeyOf(object); rest.Has(key.Namespace) {
			world[key] = object
		} else {
			deltas = append(deltas, delta[T]{kind: deltaLeft, object: object, old: object})
		}
	}
	slices.SortFunc(deltas, func(a, b delta[T]) int { return compareKeys(KeyOf(a.object), KeyOf(b.object)) })
	i.kept.Store(rest) // first: a reader who finds nothing asks whether that means anything
	if len(deltas) > 0 {
		i.commit(deltas, func() { i.store.exchange(world) }, false)
	}
}

// isKept reports whether the view that arrives has the objects of a namespace.
func (i informerSink[T]) isKept(namespace string) bool {
	return i.shards == nil || i.shards.reads.Has(namespace)
}

// changesTo returns the world that a list shows, and the deltas that lead there from the store's
// contents: first the new and changed objects, in the list's order, and then the missing ones,
// sorted by key. If the list only repeats an object, the known one stays.
func (i informerSink[T]) changesTo(
	items []T, initial bool,
) (world map[Key]T, deltas []delta[T]) {
	world = make(map[Key]T, len(items))
	for n, item := range items {
		items[n] = i.transformed(item)
		world[KeyOf(items[n])] = items[n]
	}
	if len(world) < len(items) {
		items = lastOfEachKey(items)
	}
	for _, object := range items {
		before := len(deltas)
		if deltas = i.appendPresent(deltas, object, initial); len(deltas) == before {
			key := KeyOf(object)
			world[key], _ = i.store.Get(key)
		}
	}
	var gone []T
	for object := range i.store.All() {
		if _, stays := world[KeyOf(object)]; !stays {
			gone = append(gone, object)
		}
	}
	slices.SortFunc(gone, func(a, b T) int { return compareKeys(KeyOf(a), KeyOf(b)) })
	for _, object := range gone {
		d := delta[T]{kind: deltaDeleted, object: object, old: object, unseen: true}
		if !i.isKept(object.GetNamespace()) {
			d.kind, d.unseen = deltaLeft, false
		}
		deltas = append(deltas, d)
	}
	return world, deltas
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Apply processes an event of the watch.
func (i informerSink[T]) Apply(event Event[T]) {
	object := i.transformed(event.Object)
	var room [2]delta[T]
	deltas := room[:0]
	write := func() { i.store.Put(object) }
	if event.Type == watch.Deleted {
		deltas = i.appendGone(deltas, object)
		write = func() { i.store.Delete(KeyOf(object)) }
	} else {
		deltas = i.appendPresent(deltas, object, false)
	}
	if len(deltas) > 0 {
		i.commit(deltas, write, false)
	}
	i.reached.advance(event.ResourceVersion)
}

// Progress notes that nothing else happened up to resourceVersion.
func (i informerSink[T]) Progress(resourceVersion string) { i.reached.advance(resourceVersion) }

// appendPresent appends the delta of an object that exists: none if the store has the same object.
// A watch may call an object new that the store has, and a list repeats every existing object.
func (i informerSink[T]) appendPresent(deltas []delta[T], object T, initial bool) []delta[T] {
	known, has := i.store.Get(KeyOf(object))
	added := delta[T]{kind: deltaAdded, object: object, initial: initial}
	switch {
	case !has:
		return append(deltas, added)
	case known.GetUID() != object.GetUID():
		// Another object has the name: the UID proves that the first one was deleted, even if the
		// watch missed it. The handler mustn't take it for a change.
		return append(deltas,
			delta[T]{kind: deltaDeleted, object: known, old: known, unseen: true}, added)
	case !isSame(known, object):
		return append(deltas, delta[T]{kind: deltaUpdated, object: object, old: known})
	}
	return deltas
}

// appendGone appends the delta of an object that no longer exists.
func (i informerSink[T]) appendGone(deltas []delta[T], last T) []delta[T] {
	known, has := i.store.Get(KeyOf(last))
	switch {
	case !has:
		return deltas
	case known.GetUID() != last.GetUID():
		return append(deltas,
			delta[T]{kind: deltaDeleted, object: known, old: known, unseen: true})
	}
	return append(deltas, delta[T]{kind: deltaDeleted, object: last, old: known})
}

// commit calls write, which brings the store to where the deltas lead, and then tells the
// listeners. The order matters: a handler that looks into the store must find what it was told, or
// something newer. And write is one step: if two objects have a name one after another, every
// reader finds one of them. first says that this is the first list.
func (i informerSink[T]) commit(deltas []delta[T], write func(), first bool) {
	for _, d := range deltas {
		i.detector.follow(d) // it may call DetectMutations, and so needs the lock to be free
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	write()
	if i.options.Recorder.On() {
		i.recordTombstones(deltas)
		i.recordStalled(deltas)
	}
	if first {
		close(i.synced)
	}
	for _, l := range i.listeners {
		l.push(deltas, first)
	}
	if first && i.options.Recorder.On() {
		i.options.Recorder.Record(trace.Event{
			Kind: trace.Synced, Layer: "informer", Object: i.instruments.kind, Count: i.store.Len(),
		})
	}
}

// recordTombstones records the deletions that the watch missed, and the objects that left the
// shard.
func (i informerSink[T]) recordTombstones(deltas []delta[T]) {
	for _, d := range deltas {
		kind, op := trace.Delta, "tombstone"
		switch {
		case d.kind == deltaLeft:
			kind, op = trace.Left, ""
		case !d.unseen:
			continue
		}
		key := KeyOf(d.object)
		i.options.Recorder.Record(trace.Event{
			Kind: kind, Layer: "informer", Object: i.instruments.kind, Op: op,
			Version: d.object.GetResourceVersion(), Namespace: key.Namespace, Name: key.Name, Count: 1,
		})
	}
}

// recordStalled records objects that don't make progress, according to their status.
func (i informerSink[T]) recordStalled(deltas []delta[T]) {
	for _, d := range deltas {
		var old, now any = d.old, d.object
		switch d.kind {
		case deltaAdded:
			old = nil
		case deltaDeleted, deltaLeft:
			now = nil
		}
		key := KeyOf(d.object)
		i.options.Recorder.RecordStalled(trace.Event{
			Layer: "informer", Object: i.instruments.kind, Version: d.object.GetResourceVersion(),
			Namespace: key.Namespace, Name: key.Name,
		}, old, now)
	}
}

// isSame reports whether two objects say the same. A list repeats every existing object, and most
// of them haven't changed: 150,000 updates that change nothing would bury the one that does.
//
// If the versions differ, that decides. If they don't, the content does: a server that was restored
// from a backup, or now converts objects differently, sends different content under the same
// version. And some servers send no versions at all (metrics.k8s.io).
func isSame[T Object](a, b T) bool {
	return a.GetResourceVersion() == b.GetResourceVersion() && sameContent(a, b)
}

var errTransformedToNothing = errors.New("it returned no object")

// transformed returns the object after the transform. If that failed, it reports the error and
// returns the object as the transform left it. It runs before the object is stored, so no object
// waits at its full size.
func (i informerSink[T]) transformed(object T) T {
	if i.options.Transform == nil {
		return object
	}
	var nothing T
	result, err := i.options.Transform(object)
	if err == nil && any(result) == any(nothing) {
		err = errTransformedToNothing
	}
	if err == nil {
		return result
	}
	i.options.OnTransformError(&TransformError{
		Kind: i.instruments.kind, Key: KeyOf(object),
		ResourceVersion: object.GetResourceVersion(), Err: err,
	})
	return object
}

// Transform changes an object before anybody sees it, to make it smaller, and returns it or another
// one. Name, namespace, UID and resourceVersion must stay.
//
// Errors: if an object's transform fails, the object is stored as the transform left it, and
// InformerOptions.OnTransformError is called. An object that is too large does less harm than one
// that is missing: a controller takes a missing object for a deleted one, and creates it again. The
// price: it takes its full size, readers see fields that they expect to be dropped, and it's half
// changed if the transform failed halfway. So check first and change afterwards. A transform that
// must not let something through, such as the data of Secrets, removes it and returns no error.
//
// client-go logs the error. A list fails as a whole and is repeated until the transform succeeds. A
// watch event is dropped and never comes again, so the store keeps deleted objects and lacks new
// ones.
type Transform[T Object] func(T) (T, error)

// TransformError is the error of one object's transform.
type TransformError struct {
	Kind            string
	Key             Key
	ResourceVersion string
	Err             error
}

func (e *TransformError) Error() string {
	return fmt.Sprintf("transforming %s %s at resourceVersion %s: %v", e.Kind, e.Key,
		e.ResourceVersion, e.Err)
}

func (e *TransformError) Unwrap() error { return e.Err }

// DropManagedFields drops what only the API server and kubectl need, and what is a third of many
// objects: who owns which field, and the object as kubectl last applied it.
func DropManagedFields[T Object](object T) (T, error) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
	return object, nil
}

// mutationDetector finds out who breaks the rule that cached objects aren't changed. It keeps a
// copy of every object, so it's for tests. Only the reflector's goroutine uses it.
type mutationDetector[T Object] struct {
	report func(was, is T)
	kept   map[Key]keptObject[T]
}

type keptObject[T Object] struct{ object, copy T }

// follow checks the object that a delta takes out of the store, and keeps a copy of the one that it
// puts there, before anybody can read it.
func (m *mutationDetector[T]) follow(d delta[T]) {
	if m.report == nil {
		return
	}
	key := KeyOf(d.object)
	m.check(key)
	delete(m.kept, key)
	if d.kind == deltaDeleted || d.kind == deltaLeft {
		return
	}
	if m.kept == nil {
		m.kept = map[Key]keptObject[T]{}
	}
	m.kept[key] = keptObject[T]{d.object, d.object.DeepCopyObject().(T)}
}

// check reports an object that has been changed.
func (m *mutationDetector[T]) check(key Key) {
	if kept, ok := m.kept[key]; ok && !equality.Semantic.DeepEqual(kept.object, kept.copy) {
		m.report(kept.copy, kept.object)
	}
}

func (m *mutationDetector[T]) checkAll() {
	for key := range m.kept {
		m.check(key)
	}
}
