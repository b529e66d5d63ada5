// Bug: a watch whose version is too large leads to the newest view at once, which costs the server a read of etcd.
package informer

func (m machine) watchFailed(in input) (machine, action) {
	if !in.fault.isTemporary() {
		m.backoff, _ = m.backoff.Lived(in.at - m.viewAt)
		m.newest = in.fault == faultTooLarge
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
