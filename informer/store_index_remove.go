package informer

import "slices"

// RemoveIndices removes indices, by name; a name that there is not is left out. It is for an informer that has
// several users, one of which leaves. An Index that was looked up before must not be used any more. Meanwhile writers
// wait, and readers do not.
//
// client-go's indices stay as long as their store.
func (s *Store[T]) RemoveIndices(names ...string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	indexFuncs, indices := slices.Clone(s.indexFuncs), slices.Clone(s.now.indices)
	for i, indexer := range indexFuncs {
		if slices.Contains(names, indexer.name) {
			// An Index is found by its place, so the others stay where they are.
			indexFuncs[i] = namedIndexFunc[T]{name: removedIndex, values: noValues[T]}
			indices[i] = s.now.index(noValues[T])
		}
	}
	for n := len(indexFuncs); n > 0 && indexFuncs[n-1].name == removedIndex; n-- {
		indexFuncs, indices = indexFuncs[:n-1], indices[:n-1]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexFuncs, s.now.indices = indexFuncs, indices
}

// removedIndex is a name that nobody gives.
const removedIndex = "\x00removed"

func noValues[T Object](values []string, _ T) []string { return values }

// RemoveIndices removes indices, see Store.RemoveIndices.
func (r StoreReader[T]) RemoveIndices(names ...string) { r.store.RemoveIndices(names...) }
