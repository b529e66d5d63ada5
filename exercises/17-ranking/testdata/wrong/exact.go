// Bug: times are compared exactly, so that the youngest Pod always goes.
package replicaset

import "time"

func logarithmOf(moment, now time.Time) int {
	switch passed := now.Sub(moment); {
	case moment.IsZero():
		return -2
	case passed <= 0:
		return -1
	default:
		return int(passed)
	}
}
