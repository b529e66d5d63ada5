// Bug: a follower that finds an old write of its own leads at once, with a deadline that is over.
package leaderelection

import (
	"time"
)

func (e election) took(now time.Time) election {
	if e.made && e.phase != leading && e.waitForMissing {
		// Whoever held the lock that was deleted has sent its last renewal before this moment.
		e.leadFrom = now.Add(e.lease)
	}
	late := !now.Before(e.sent.Add(e.renew))
	if late && e.phase == leading || e.phase == ended || e.holds() && !now.Before(e.deadline()) {
		return e // too late to rely on it; next gives up, or writes again
	}
	e.renewed, e.tryAt = e.sent, e.sent.Add(e.retry)
	switch {
	case e.phase == releasing:
		e.tryAt = now
	case now.Before(e.leadFrom) && e.phase != leading:
		e.phase = claiming
	default:
		e.phase, e.leadFrom = leading, time.Time{}
	}
	return e
}
