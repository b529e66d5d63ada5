// Bug: a page is asked for again after every failure, even after one that another try cannot mend.
package informer

func (m machine) listFailed(in input) (machine, action) {
	switch {
	case m.paged && in.fault == faultExpired && !m.whole:
		m.whole = true
		return m.snapshot(deliverDiscard, "")
	case m.paged:
		if m.failedPages++; m.failedPages < tries {
			return m.rest(in, doPage, deliverNothing, "")
		}
	case !m.paged && m.cannotBeHad(in.fault):
		m.newest = true
		return m.snapshot(deliverDiscard, "")
	}
	return m.giveUpList(in)
}
