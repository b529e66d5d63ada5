package trace

import "context"

// Cursor reads a recorder's events one after another while they're being recorded. Cursors are
// independent of each other, and one that waits costs the writers nothing until there's an event
// for it. A Cursor belongs to one goroutine.
type Cursor struct {
	rec  *Recorder
	next uint64 // the number of the first event that was neither returned nor counted as lost
}

// Cursor returns a cursor at the oldest event that the ring still holds.
func (r *Recorder) Cursor() *Cursor {
	c := &Cursor{rec: r}
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.next = r.oldestLocked()
	}
	return c
}

// Read returns, without waiting, the events that were recorded since the last Read, and how many
// more the ring has already overwritten.
func (c *Cursor) Read() (events []Event, lost uint64) {
	if c.rec == nil {
		return nil, 0
	}
	until := c.rec.Recorded()
	if n := until + 1 - c.next; n > 0 {
		events = make([]Event, 0, min(n, uint64(len(c.rec.ring))))
	}
	for c.next <= until {
		var missed uint64
		events, missed = c.readSome(events, until)
		lost += missed
	}
	return events, lost
}

// readSome reads a few events, up to number until. It holds the lock for as long as copying them
// takes, so "a few" bounds how much a reader of a large ring can cost a writer: about a
// microsecond.
func (c *Cursor) readSome(events []Event, until uint64) (more []Event, lost uint64) {
	const few = 64
	r := c.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if oldest := r.oldestLocked(); c.next < oldest {
		lost = oldest - c.next
		c.next = oldest
	}
	for end := min(until, c.next+few-1); c.next <= end; c.next++ {
		events = append(events, r.ring[c.next&r.mask])
	}
	return events, lost
}

// Wait blocks until there's something to Read, or until ctx ends. It returns the cause of ctx's
// end, and nil otherwise. The end of ctx comes first: a reader that lags behind always has
// something to Read, and must stop nevertheless. It gets the rest with a last Read.
func (c *Cursor) Wait(ctx context.Context) error {
	if c.rec == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		changed := c.rec.changedAfter(c.next)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// changedAfter returns a channel that is closed when the event with number next arrives, or nil if
// it has already. All waiting cursors share the channel.
func (r *Recorder) changedAfter(next uint64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next <= r.seq {
		return nil
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
