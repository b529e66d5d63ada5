package replicaset

import (
	"sync"

	"github.com/loopwright/loopwright/manager/client"
)

// A client that reads its own writes waits in each list for all that it has written in the namespace: for other
// ReplicaSets, too. With five workers that write all the time, somebody would always be waited for. So a look waits only if
// the controller has written something for this ReplicaSet since the last look that waited.

// unseen are the ReplicaSets for which something was written that no look has waited for.
type unseen struct {
	mu   sync.Mutex // guards sets
	sets map[client.ObjectKey]bool
}

// mark is called before a write, so that no answer, and none that gets lost, comes before it.
func (u *unseen) mark(set client.ObjectKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sets == nil {
		u.sets = map[client.ObjectKey]bool{}
	}
	u.sets[set] = true
}

func (u *unseen) has(set client.ObjectKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sets[set]
}

// forget is called when a look has waited, and when a ReplicaSet is gone.
func (u *unseen) forget(set client.ObjectKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sets, set)
}
