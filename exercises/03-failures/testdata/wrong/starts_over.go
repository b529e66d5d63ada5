// Bug: a page that fails makes the whole list start over.
package informer

func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired && !m.whole:
		m.whole = true
		return m.snapshot(deliverDiscard, "")
	case m.paged && in.fault.isTemporary():
	case !m.paged && m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	}
	return m.giveUpList(in)
}
