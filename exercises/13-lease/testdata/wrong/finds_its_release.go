// Bug: the record without a name, with which the lock was released, is taken for a lead.
package leaderelection

import (
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

func (e election) saw(record resourcelock.LeaderElectionRecord, raw string, now time.Time) election {
	if e.sight != present || raw != e.raw || !same(record, e.record) {
		e.since = now
	}
	e.asking, e.sight, e.record, e.raw, e.current, e.read = false, present, record, raw, true, true
	switch {
	case e.wroteIt(record):
		return e.took(now) // the answer got lost, and the write did not
	case record.HolderIdentity == e.identity && e.holds():
		return e // one of our earlier writes, or somebody has edited another field
	default:
		e.leadFrom = time.Time{}
		return e.lose(fmt.Sprintf("%q has it", record.HolderIdentity))
	}
}
