// Bug: the lock is taken when the holder is about to stop, and has not stopped yet.
package leaderelection

import (
	"time"
)

func (e election) taken(now time.Time) bool {
	return e.record.HolderIdentity != "" && !e.ours() && now.Before(e.since.Add(e.renew))
}
