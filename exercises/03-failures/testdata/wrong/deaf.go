// Bug: after a watch that lived it comes back at once, even if the server said when to come back.
package informer

func (m machine) watchFailed(in input) (machine, action) {
	if !in.fault.isTemporary() {
		m.backoff, _ = m.backoff.Lived(in.at - m.viewAt)
		return m.relist(in, deliverNothing, "")
	}
	if !m.open {
		return m.rest(in, doWatch, deliverNothing, "")
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy {
		m.brokenWatches = 0
		return m.connect(deliverNothing)
	}
	if m.brokenWatches++; m.brokenWatches == tries {
		m.brokenWatches = 0
		return m.relist(in, deliverNothing, "")
	}
	return m.rest(in, doWatch, deliverNothing, "")
}
