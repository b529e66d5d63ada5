// Bug: an uncertain lock is released as if what we know of it were true.
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
		e.phase, e.renewed, e.tryAt, e.current = releasing, e.sent, time.Time{}, e.current
	default:
		// A claim is not released: whoever came next would work at once.
		e.phase, e.why = ended, "no longer wanted"
	}
	return e
}
