package informer

import (
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// informerSink is the informer as its reflector's Sink. All that it does runs on the
// reflector's goroutine, which alone writes to the store: it compares what comes with
// what the store has, changes the store, and tells the listeners.
//
// client-go has a queue here, and a second goroutine. The reflector of this package only
// decodes, and no listener makes it wait, so there is nothing to decouple.
type informerSink[T Object] struct{ *Informer[T] }

// Replace brings the store up to a whole list.
func (i informerSink[T]) Replace(items []T, resourceVersion string) {
	first := !i.hasSynced()
	for _, object := range items {
		i.notePresent(i.transformed(object), first)
	}
	if !first {
		i.deleteMissing(items)
		i.store.rebuild()
	}
	i.reached.advance(resourceVersion)
	if first {
		i.becomeSynced()
	}
}

// deleteMissing deletes what a list no longer has.
func (i informerSink[T]) deleteMissing(items []T) {
	listed := make(map[Key]bool, len(items))
	for _, object := range items {
		listed[KeyOf(object)] = true
	}
	for object := range i.store.All() {
		if !listed[KeyOf(object)] {
			i.commit(delta[T]{kind: deltaDeleted, object: object, old: object, unseen: true})
		}
	}
}

// Apply takes in an event of the watch.
func (i informerSink[T]) Apply(event Event[T]) {
	object := i.transformed(event.Object)
	if event.Type == watch.Deleted {
		i.noteGone(object)
	} else {
		i.notePresent(object, false)
	}
	i.reached.advance(event.ResourceVersion)
}

// Progress notes that nothing else happened up to resourceVersion.
func (i informerSink[T]) Progress(resourceVersion string) { i.reached.advance(resourceVersion) }

// notePresent: the object is there. A watch may call an object new that the store has,
// and a list repeats every object that there is.
func (i informerSink[T]) notePresent(object T, initial bool) {
	known, has := i.store.Get(KeyOf(object))
	added := delta[T]{kind: deltaAdded, object: object, initial: initial}
	switch {
	case !has:
		i.commit(added)
	case known.GetUID() != object.GetUID():
		// Another object has the name: the UID proves that the first was deleted, even if
		// nobody saw it. To a handler it must not look like a change.
		i.commit(delta[T]{kind: deltaDeleted, object: known, old: known, unseen: true}, added)
	case !isSame(known, object):
		i.commit(delta[T]{kind: deltaUpdated, object: object, old: known})
	}
}

// noteGone: the object is no longer there.
func (i informerSink[T]) noteGone(last T) {
	known, has := i.store.Get(KeyOf(last))
	switch {
	case !has:
	case known.GetUID() != last.GetUID():
		i.commit(delta[T]{kind: deltaDeleted, object: known, old: known, unseen: true})
	default:
		i.commit(delta[T]{kind: deltaDeleted, object: last, old: known})
	}
}

// commit brings the store up to date, and then the listeners. In this order: a handler that
// looks into the store must find what it was told, or something newer. Of several deltas,
// which are about one key, the store gets the last, so that no reader finds neither object.
func (i informerSink[T]) commit(deltas ...delta[T]) {
	last := deltas[len(deltas)-1]
	key := KeyOf(last.object)
	i.detector.check(key) // it may call DetectMutations, and so needs the lock to be free
	i.mu.Lock()
	defer i.mu.Unlock()
	if last.kind == deltaDeleted {
		i.store.Delete(key)
		i.detector.forget(key)
	} else {
		i.store.Put(last.object)
		i.detector.keep(key, last.object)
	}
	for _, d := range deltas {
		if d.unseen && i.options.Recorder.On() {
			i.options.Recorder.Record(trace.Event{
				Kind: trace.Delta, Layer: "informer", Object: i.instruments.kind, Op: "tombstone",
				Version: d.object.GetResourceVersion(), Namespace: key.Namespace, Name: key.Name, Count: 1,
			})
		}
	}
	for _, l := range i.listeners {
		l.push(deltas, false)
	}
}

// becomeSynced says that the first list is in the store, and complete in each queue.
func (i informerSink[T]) becomeSynced() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.synced)
	initialComplete := true
	for _, l := range i.listeners {
		l.push(nil, initialComplete)
	}
	if i.options.Recorder.On() {
		i.options.Recorder.Record(trace.Event{
			Kind: trace.Synced, Layer: "informer", Object: i.instruments.kind, Count: i.store.Len(),
		})
	}
}

// isSame reports whether two objects say the same. A list repeats every object that
// there is, and most of them are what they were: 150,000 updates that change nothing
// would bury the one that does.
//
// The version decides, if it differs. If it does not, the content does: a server that
// was restored from a backup, or converts objects in another way than before, sends
// different content under the same version; and some servers send no versions at all
// (metrics.k8s.io).
func isSame[T Object](a, b T) bool {
	return a.GetResourceVersion() == b.GetResourceVersion() && reflect.DeepEqual(a, b)
}

var errTransformedToNothing = errors.New("it returned no object")

// transformed is the object after the transform, or as it was if that failed, which is
// reported. It runs before the object is stored, so no object waits at its full size.
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

// Transform changes an object before anybody sees it, to make it smaller, and
// returns it or another one. Name, namespace, UID and resourceVersion must stay.
//
// Errors: an object whose transform fails is stored as the transform left it, and
// InformerOptions.OnTransformError is called. An object that is too large does less
// harm than one that is missing: a controller takes a missing object for a deleted
// one, and makes it again. The price: it takes its full size, readers see fields
// that they expect to be gone, and it is half changed if the transform failed
// halfway. So check first and change afterwards. A transform that must not let
// something through, such as the data of Secrets, removes it and returns no error.
//
// client-go logs the error. A list fails as a whole and is repeated until the
// transform succeeds; a watch event is dropped and never comes again, so that the
// store keeps what was deleted and lacks what was added.
type Transform[T Object] func(T) (T, error)

// TransformError is what went wrong with one object.
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

// DropManagedFields drops what only the API server and kubectl need, and what is a
// third of many objects: who owns which field, and the object as kubectl applied
// it last.
func DropManagedFields[T Object](object T) (T, error) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
	return object, nil
}

// mutationDetector finds out who breaks the rule that cached objects are not changed. It
// keeps a copy of every object, so it is for tests. It is used by the
// reflector's goroutine only.
type mutationDetector[T Object] struct {
	report func(was, is T)
	kept   map[Key]keptObject[T]
}

type keptObject[T Object] struct{ object, copy T }

// keep notes an object that goes into the store.
func (m *mutationDetector[T]) keep(key Key, object T) {
	if m.report == nil {
		return
	}
	if m.kept == nil {
		m.kept = map[Key]keptObject[T]{}
	}
	m.kept[key] = keptObject[T]{object, object.DeepCopyObject().(T)}
}

// forget drops an object that has left the store.
func (m *mutationDetector[T]) forget(key Key) { delete(m.kept, key) }

// check reports an object that is not what it was.
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
