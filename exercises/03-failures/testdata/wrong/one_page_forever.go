// Bug: a page that fails is asked for again and again, for longer than the server keeps the pages.
package informer

func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired && !m.whole:
		m.whole = true
		return m.snapshot(deliverDiscard, "")
	case m.paged && in.fault.isTemporary():
		return m.rest(in, doPage, deliverNothing, "")
	case !m.paged && m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	}
	return m.giveUpList(in)
}
