// Bug: an answer that comes after the deadline prolongs the lead.
package leaderelection

import (
	"time"
)

func (e election) took(now time.Time) election {
	if e.made && e.phase != leading && e.waitForMissing {
		// Whoever held the lock that was deleted has sent its last renewal before this moment.
		e.leadFrom = now.Add(e.lease)
	}
	if e.phase == ended {
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
