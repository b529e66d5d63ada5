// Bug: a lock that may be ours is looked at only after the usual pause.
package leaderelection

import (
	"time"
)

func (e election) stops(release bool) election {
	unsure := e.phase == following && !e.sent.IsZero() && !e.made && e.leadFrom.IsZero()
	switch {
	case release && e.phase == leading:
		e.phase, e.tryAt = releasing, time.Time{}
	case release && unsure: // the lock may have our name, and nobody who works
		e.phase, e.renewed, e.current = releasing, e.sent, false
	default:
		// A claim is not released: whoever came next would work at once.
		e.phase, e.why = ended, "no longer wanted"
	}
	return e
}
