package informer

import "k8s.io/apimachinery/pkg/api/equality"

// mutationDetector finds out who breaks the rule that cached objects are not changed. It
// keeps a copy of every object, so it is for tests. It is used by the informer's
// loop only.
type mutationDetector[T Object] struct {
	report func(was, is T)
	kept   map[Key]keptObject[T]
}

type keptObject[T Object] struct{ object, copy T }

func (m *mutationDetector[T]) on() bool { return m.report != nil }

// keep notes an object that goes into the store.
func (m *mutationDetector[T]) keep(key Key, object T) {
	m.check(key)
	if m.kept == nil {
		m.kept = map[Key]keptObject[T]{}
	}
	m.kept[key] = keptObject[T]{object, object.DeepCopyObject().(T)}
}

// drop forgets an object that has left the store.
func (m *mutationDetector[T]) drop(key Key) {
	m.check(key)
	delete(m.kept, key)
}

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
