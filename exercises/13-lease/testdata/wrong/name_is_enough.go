// Bug: a record with our name is ours, whoever wrote it.
package leaderelection

import (
	"time"
)

func (e election) taken(now time.Time) bool {
	return e.record.HolderIdentity != "" && e.record.HolderIdentity != e.identity && now.Before(e.since.Add(e.patience()))
}
