// Bug: the holder is given our own LeaseDuration, even if it relies on more.
package leaderelection

import (
	"time"
)

func (e election) taken(now time.Time) bool {
	return e.record.HolderIdentity != "" && !e.ours() && now.Before(e.since.Add(e.lease))
}
