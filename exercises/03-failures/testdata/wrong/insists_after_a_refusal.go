// Bug: a watch that is refused with 410 asks for the same again, because it was never open.
package informer

func (m machine) watchFailed(in input) (machine, action) {
	if !m.open {
		return m.rest(in, doWatch, deliverNothing, "")
	}
	if !in.fault.isTemporary() {
		m.backoff, _ = m.backoff.Lived(in.at - m.viewAt)
		return m.relist(in, deliverNothing, "")
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy && in.asked == 0 {
		m.brokenWatches = 0
		return m.connect(deliverNothing)
	}
	if m.brokenWatches++; m.brokenWatches == tries {
		m.brokenWatches = 0
		return m.relist(in, deliverNothing, "")
	}
	return m.rest(in, doWatch, deliverNothing, "")
}
