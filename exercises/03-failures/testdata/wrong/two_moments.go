// Bug: after a token expired, it goes on with the pages of another moment.
package informer

func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired && !m.whole:
		return m.rest(in, doPage, deliverNothing, "")
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
