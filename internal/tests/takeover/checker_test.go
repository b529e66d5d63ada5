package takeover

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// checker hears what the replicas do, and notes what they mustn't.
//
// A replica says that a reconcile begins, and goes on when the checker has heard it. It says that a
// reconcile ends, and returns from it when the checker has heard that. So what's inside for the
// checker is inside for the replica, and two that overlap here do overlap. A report can't be in a
// pipe while its sender is believed to be elsewhere.
//
// The rules:
//
//	begins   nobody else is inside the object, except a process that was paused there
//	writes   the process is inside the object
//	retired  others have taken over what the process had: it writes nothing, and begins nothing
//	         that it hadn't begun before it was paused
//	ends     its write met no conflict, unless users write, too: whoever takes over has seen all that
//	         others have written, and the client waits until its cache has its own writes
type checker struct {
	mu       sync.Mutex // guards what follows
	inside   map[string]*visit
	retired  map[string]bool
	pausedAt map[string]time.Time // of each process, by its own clock, which is the test's
	problems []string
	done     map[string]map[string]int // successful reconciles, by object and process
	wrote    map[string]string         // the process that has written last, by object
	results  map[string]int            // of all reconciles, by what the replica said
	users    bool                      // they write, too
}

// visit is one reconcile.
type visit struct {
	process, object string
	works           bool // it was told to go on, and hasn't ended
	paused          bool // its process was paused meanwhile
}

func newChecker() *checker {
	return &checker{inside: map[string]*visit{}, retired: map[string]bool{},
		pausedAt: map[string]time.Time{}, done: map[string]map[string]int{}, wrote: map[string]string{},
		results: map[string]int{}}
}

func (c *checker) problemLocked(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// begins hears that a reconcile has begun, at some time. A process may be paused before it can say so.
func (c *checker) begins(process, object string, at time.Time) *visit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired[process] {
		if at.After(c.pausedAt[process]) {
			c.problemLocked("%s begins to reconcile %s, and others have taken over what it had", process, object)
		}
		return &visit{process: process, object: object, paused: true}
	}
	if other := c.inside[object]; other != nil && !other.paused {
		c.problemLocked("%s begins to reconcile %s, and %s is inside", process, object, other.process)
	}
	v := &visit{process: process, object: object}
	c.inside[object] = v
	return v
}

// goesOn notes that a visit is told so.
func (c *checker) goesOn(v *visit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.works = true
}

func (c *checker) writes(process, object string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch v := c.inside[object]; {
	case c.retired[process]:
		c.problemLocked("%s writes %s, and others have taken over what it had", process, object)
	case v == nil:
		c.problemLocked("%s writes %s, and isn't inside", process, object)
	case v.process != process:
		c.problemLocked("%s writes %s, and %s is inside", process, object, v.process)
	}
}

func (c *checker) ends(v *visit, result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.works = false
	c.leaveLocked(v)
	c.results[result]++
	switch {
	case result == conflict && !c.users:
		c.problemLocked("%s hasn't seen the last write to %s, by %q", v.process, v.object, c.wrote[v.object])
	case result == succeeded:
		c.wrote[v.object] = v.process
		if c.done[v.object] == nil {
			c.done[v.object] = map[string]int{}
		}
		c.done[v.object][v.process]++
	}
}

// usersWrite notes that from now on, not only the replicas write.
func (c *checker) usersWrite() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = true
}

func (c *checker) leaveLocked(v *visit) {
	if c.inside[v.object] == v {
		delete(c.inside, v.object)
	}
}

// pauses notes that a process doesn't run any more. Where it's inside, others may come.
func (c *checker) pauses(process string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedAt[process] = time.Now()
	for _, v := range c.inside {
		v.paused = v.paused || v.process == process
	}
}

// dies notes that a process has ended.
func (c *checker) dies(process string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.inside {
		if v.process == process {
			c.leaveLocked(v)
		}
	}
}

// retires notes that others have taken over what a process had.
func (c *checker) retires(process string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired[process] = true
}

// isWorking reports whether a process is between an answer to begin and an end.
func (c *checker) isWorking(process string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.inside {
		if v.process == process && v.works {
			return true
		}
	}
	return false
}

// times returns how often each object was reconciled by some processes; by all if none is named.
func (c *checker) times(by ...string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]int{}
	for object, processes := range c.done {
		for process, times := range processes {
			if len(by) == 0 || slices.Contains(by, process) {
				all[object] += times
			}
		}
	}
	return all
}

// ended returns how many reconciles have had each result.
func (c *checker) ended() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.results)
}

func (c *checker) found() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.problems)
}
