// Bug: a list that was copied once is never copied again, though another reader has come.
package informer

import "slices"

func (l *postingList) own(epoch uint64) {
	if l.born == 0 && epoch > 0 {
		l.slots, l.born = slices.Clone(l.slots), epoch
	}
}
