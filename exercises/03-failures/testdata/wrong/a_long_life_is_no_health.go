// Bug: a watch that breaks after a long life is followed by a pause, and does not make up for the failures before it.
package informer

func (m machine) watchFailed(in input) (machine, action) {
	if !in.fault.isTemporary() {
		m.backoff, _ = m.backoff.Lived(in.at - m.viewAt)
		return m.relist(in, deliverNothing, "")
	}
	if !m.open {
		return m.rest(in, doWatch, deliverNothing, "")
	}
	if m.brokenWatches++; m.brokenWatches == tries {
		m.brokenWatches = 0
		return m.relist(in, deliverNothing, "")
	}
	return m.rest(in, doWatch, deliverNothing, "")
}
