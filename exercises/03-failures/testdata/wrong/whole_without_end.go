// Bug: a list in one piece whose token expires all the same is asked for again at once.
package informer

func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired:
		m.whole = true
		return m.snapshot(deliverDiscard, "")
	case m.paged && in.fault.isTemporary():
		if m.failedPages++; m.failedPages < tries {
			return m.rest(in, doPage, deliverNothing, "")
		}
	case !m.paged && m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	}
	return m.giveUpList(in)
}
