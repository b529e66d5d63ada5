// Bug: the first request writes a lock that nobody has looked at.
package leaderelection

import (
	"time"
)

func (e election) next(now time.Time) step {
	switch {
	case e.phase == ended:
		return step{do: finish}
	case e.holds() && !now.Before(e.deadline()):
		return step{do: giveUp}
	case e.asking || now.Before(e.tryAt):
		return step{do: wait}
	case e.phase == releasing:
		return step{do: update, record: e.released(now)}
	case e.sight == missing && e.waitForMissing && !e.holds() && now.Before(e.since.Add(e.retry)):
		return step{do: pause} // it may have been deleted, and a holder that lives makes it again
	case e.sight == missing:
		return step{do: create, record: e.taking(now), why: "nobody has it"}
	case e.taken(now):
		return step{do: pause}
	default:
		return step{do: update, record: e.taking(now), why: e.excuse()}
	}
}
