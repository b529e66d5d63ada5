// Bug: after the new view the breaks in a row are not counted from zero, so a second event that cannot be read is never passed.
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
	if m.backoff, healthy = m.backoff.Lived(in.at - m.openAt); healthy && in.asked == 0 {
		m.brokenWatches = 0
		return m.connect(deliverNothing)
	}
	if m.brokenWatches++; m.brokenWatches == tries {
		return m.relist(in, deliverNothing, "")
	}
	return m.rest(in, doWatch, deliverNothing, "")
}
