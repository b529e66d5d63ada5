// Bug: a copy is not noted as one, so a list is copied again each time a slot leaves it.
package informer

import "slices"

func (l *postingList) own(epoch uint64) {
	if l.born < epoch {
		l.slots = slices.Clone(l.slots)
	}
}
