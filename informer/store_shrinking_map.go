package informer

import "iter"

// shrinkingMap is a map that gives its memory back. A Go map keeps the memory of
// the largest number of entries that it ever held.
//
// When three quarters of the entries have gone, a new map takes the place of the
// old one, and the entries move over a few at a time: at each write, the owner
// carries those of a few slots. So no single write pays for the move. The owner
// walks through its slots because a Go map cannot be walked a few entries at a time.
//
// An entry is in one of the two maps, never in both. The zero shrinkingMap must be
// given a map before the first set.
type shrinkingMap[K comparable, V any] struct {
	entries map[K]V
	leaving map[K]V // what has not moved yet; nil if no move is under way
	peak    int     // the most entries since the map was made
	next    int     // the first slot of the next step
}

const (
	// shrinkFrom is the smallest peak after which a map is replaced: below it, there
	// is little to give back.
	shrinkFrom = 256
	// slotsPerStep is how many slots a write carries over. If all writes are
	// deletions, the move ends when another seventeenth of the entries have gone.
	slotsPerStep = 16
)

func newShrinkingMap[K comparable, V any](size int) shrinkingMap[K, V] {
	return shrinkingMap[K, V]{entries: make(map[K]V, size)}
}

func (m *shrinkingMap[K, V]) get(key K) (value V, ok bool) {
	if value, ok = m.entries[key]; ok || m.leaving == nil {
		return value, ok
	}
	value, ok = m.leaving[key]
	return value, ok
}

func (m *shrinkingMap[K, V]) set(key K, value V) {
	if m.leaving != nil {
		delete(m.leaving, key)
	}
	m.entries[key] = value
	m.peak = max(m.peak, len(m.entries))
}

func (m *shrinkingMap[K, V]) delete(key K) {
	delete(m.entries, key)
	if m.leaving != nil {
		delete(m.leaving, key)
	}
}

func (m *shrinkingMap[K, V]) len() int { return len(m.entries) + len(m.leaving) }

func (m *shrinkingMap[K, V]) keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for _, part := range []map[K]V{m.entries, m.leaving} {
			for key := range part {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// due reports whether there is a step to take: a move is under way, or it is time for
// one. Mostly there is none, so callers check first; due is small enough to be inlined.
func (m *shrinkingMap[K, V]) due() bool {
	return m.leaving != nil || m.peak >= shrinkFrom && len(m.entries) <= m.peak/4
}

// step begins, continues or ends a move that is due. It returns the slots whose keys
// the owner must carry now. slots is how many there are.
func (m *shrinkingMap[K, V]) step(slots int) (from, to int) {
	if m.leaving == nil {
		m.entries, m.leaving = map[K]V{}, m.entries // grows as it is filled: to make it large at once takes time
		m.peak, m.next = 0, 0
	}
	if len(m.leaving) == 0 {
		m.leaving = nil
		return 0, 0
	}
	if m.next >= slots { // keys have gone to slots that were carried already
		m.next = 0
	}
	from, to = m.next, min(m.next+slotsPerStep, slots)
	m.next = to
	return from, to
}

// carry moves the key's entry to the new map.
func (m *shrinkingMap[K, V]) carry(key K) {
	if value, ok := m.leaving[key]; ok {
		m.set(key, value)
	}
}
