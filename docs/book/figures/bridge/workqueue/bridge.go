//go:build figures

// This file lets the figures of the book use the cores of package workqueue, which are not exported. It is compiled
// into that package by an overlay (docs/book/figures/build), and is no part of any other build.

package workqueue

import (
	"cmp"
	"time"
)

// Cores are the pure parts of a PriorityQueue, put together as there, without the lock, the timer and the workers
// that wait.
type Cores struct {
	dedup  dedup[string]
	fifo   *fifo[string]
	levels *priorityLevels[string]

	grouped bool
	delays  delays[string]
}

// NewCores are those of a queue that is first-in first-out.
func NewCores() *Cores {
	order := &fifo[string]{}
	return &Cores{fifo: order, dedup: newDedup(order)}
}

// NewPriorityCores are those of a queue with priorities.
func NewPriorityCores(patience int, grouped bool) *Cores {
	levels := &priorityLevels[string]{patience: uint64(patience)}
	return &Cores{levels: levels, grouped: grouped, dedup: newDedup(levels)}
}

// What becomes of an add, and of a request for an alarm.
const (
	Queued   = "queued"
	Merged   = "merged"
	Deferred = "deferred"

	Started = "started"
	Moved   = "moved"
	Kept    = "kept"
)

func (c *Cores) Add(item, group string, priority int) string {
	if !c.grouped {
		group = ""
	}
	verdict := c.dedup.add(item, group, priority, Causes{Count: 1}, 0)
	return map[any]string{queued: Queued, merged: Merged, deferred: Deferred}[verdict]
}

// Get returns false if nothing is ready.
func (c *Cores) Get() (item string, adds int, ok bool) {
	if c.dedup.ready == 0 {
		return "", 0, false
	}
	e := c.dedup.take(0)
	return e.item, e.causes.Count, true
}

// Done returns false if no worker holds the item.
func (c *Cores) Done(item string) bool { return c.dedup.done(item) != nil }

// Entry is what a queue knows about an item.
type Entry struct {
	Known, Dirty, Processing bool
	Adds                     int // of the work that nobody has taken, or else of the work that was taken
	Priority                 int
}

func (c *Cores) Entry(item string) Entry {
	waiting, held := c.dedup.dirty[item], c.dedup.processing[item]
	e := Entry{Known: waiting != nil || held != nil, Dirty: waiting != nil, Processing: held != nil}
	if work := cmp.Or(waiting, held); work != nil {
		e.Adds, e.Priority = work.causes.Count, work.priority
	}
	return e
}

// Ready are the items that wait for a worker, in their order. It is for queues that are first-in first-out.
func (c *Cores) Ready() []string { return itemsOf(c.fifo) }

func itemsOf(list *fifo[string]) (items []string) {
	for e := list.first; e != nil; e = e.next {
		items = append(items, e.item)
	}
	return items
}

// Delay asks for an alarm, as DelayingQueue does: a delay of zero or less is an add.
func (c *Cores) Delay(item string, now, after time.Duration, replace bool) string {
	if after <= 0 {
		if replace {
			c.Cancel(item)
		}
		return c.Add(item, "", 0)
	}
	request := addRequest{after: after, replace: replace, causes: Causes{Count: 1}}
	_, outcome := c.delays.add(item, "", later(now, after), request)
	return map[delayOutcome]string{delayStarted: Started, delayMoved: Moved, delayKept: Kept}[outcome]
}

// Cancel returns false if there is no alarm.
func (c *Cores) Cancel(item string) bool { return c.delays.remove(item) != nil }

// Alarm is one that is pending.
type Alarm struct {
	Item string
	At   time.Duration
}

// Alarms are those that are pending, as they lie in the heap.
func (c *Cores) Alarms() (alarms []Alarm) {
	for _, a := range c.delays.heap {
		alarms = append(alarms, Alarm{a.item, a.at})
	}
	return alarms
}

// NextAlarm is the moment for which the timer is set; false if nothing is pending.
func (c *Cores) NextAlarm() (time.Duration, bool) { return c.delays.next() }

// GoOff adds one item whose alarm is due, and says what became of the add.
func (c *Cores) GoOff(now time.Duration) (item, verdict string, ok bool) {
	a := c.delays.pop(now)
	if a == nil {
		return "", "", false
	}
	return a.item, c.Add(a.item, "", 0), true
}

// Level is the items of one priority.
type Level struct {
	Priority int
	Waited   int // pops, at the next one
	Lanes    []Lane
}

// Lane is the items of one group, or of all.
type Lane struct {
	Group string
	Items []string
}

// Levels are those that are busy, the highest first. The lanes are in the order of their turns.
func (c *Cores) Levels() (levels []Level) {
	for _, busy := range c.levels.levels {
		if busy.n == 0 {
			continue
		}
		level := Level{Priority: busy.priority, Waited: int(c.levels.pops + 1 - busy.turn)}
		for place := busy.lanes.ring.Front(); place != nil; place = place.Next() {
			in := place.Value.(*lane[string])
			level.Lanes = append(level.Lanes, Lane{in.group, itemsOf(&in.fifo)})
		}
		levels = append(levels, level)
	}
	return levels
}

// NextLevel is the priority of the level whose turn it is, by the queue's own rule. Something must be ready.
func (c *Cores) NextLevel() int {
	c.levels.pops++ // a pop counts itself
	defer func() { c.levels.pops-- }()
	return c.levels.next().priority
}

// Pops is how many items were handed out.
func (c *Cores) Pops() int { return int(c.levels.pops) }
