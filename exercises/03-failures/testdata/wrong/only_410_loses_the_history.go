// Bug: after 404, or after a refusal, it asks for the same again.
package informer

func (m machine) watchFailed(in input) (machine, action) {
	if in.fault == faultExpired || in.fault == faultTooLarge {
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
		m.brokenWatches = 0
		return m.relist(in, deliverNothing, "")
	}
	return m.rest(in, doWatch, deliverNothing, "")
}
