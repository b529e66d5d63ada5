// Bug: a lock that was released is waited for.
package leaderelection

import (
	"time"
)

func (e election) taken(now time.Time) bool {
	return !e.ours() && now.Before(e.since.Add(e.patience()))
}
