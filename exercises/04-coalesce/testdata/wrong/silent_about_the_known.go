// Bug: if the consumer has another object than the one that is gone, it is told nothing.
package informer

func (c *coalesced[T]) deltas(to []Delta[T], key Key, known T, has bool) []Delta[T] {
	added := Delta[T]{Type: DeltaAdded, Key: key, Object: c.now, Initial: c.initial}
	switch {
	case !has && c.exists:
		return append(to, added)
	case !has:
		return to
	case c.ended || c.now.GetUID() != known.GetUID():
		gone := Delta[T]{Type: DeltaDeleted, Key: key, Object: known, Old: known, FinalStateUnknown: true}
		if c.ended && c.last.GetUID() == known.GetUID() {
			if c.changed && !isSame(known, c.last) {
				to = append(to, Delta[T]{Type: DeltaUpdated, Key: key, Object: c.last, Old: known})
				gone.Old = c.last
			}
			gone.Object, gone.FinalStateUnknown = c.last, c.unseen
		}
		if !c.exists && c.last.GetUID() != known.GetUID() {
			return to
		}
		if to = append(to, gone); c.exists {
			to = append(to, added)
		}
		return to
	case !isSame(known, c.now):
		return append(to, Delta[T]{Type: DeltaUpdated, Key: key, Object: c.now, Old: known, Initial: c.initial})
	case c.sync:
		return append(to, Delta[T]{Type: DeltaSync, Key: key, Object: known, Old: known})
	default:
		return to
	}
}
