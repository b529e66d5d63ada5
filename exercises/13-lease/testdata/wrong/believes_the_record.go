// Bug: the wait is counted from the time in the record, which is by another clock.
package leaderelection

import (
	"time"
)

func (e election) taken(now time.Time) bool {
	return e.record.HolderIdentity != "" && !e.ours() && now.Before(e.record.RenewTime.Add(e.patience()))
}
