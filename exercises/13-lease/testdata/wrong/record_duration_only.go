// Bug: the holder is given what the record says, even if that is less than our LeaseDuration.
package leaderelection

import (
	"time"
)

func (e election) taken(now time.Time) bool {
	return e.record.HolderIdentity != "" && !e.ours() && now.Before(e.since.Add(time.Duration(e.record.LeaseDurationSeconds)*time.Second))
}
