package sharding

import (
	"maps"
	"slices"
	"time"
)

// lease is what a member's Lease says.
type lease struct {
	version  string        // changes with each renewal
	released bool          // by the member, or for it: it's gone, and doesn't come back
	duration time.Duration // how long the member relies on a renewal
}

// members are all members that this replica knows of, and since when each has looked as it does. The
// times are ours, so it doesn't matter what the members' clocks show.
type members map[string]sighting

type sighting struct {
	lease
	since time.Time
}

// sees handles a list of the Leases. A member that's named in the table and has no Lease may have
// lost it by accident: it creates it again, so it's as silent as one that doesn't renew.
func (m members) sees(leases map[string]lease, holders []string, now time.Time) members {
	next := members{}
	for name, l := range leases {
		next[name] = sighting{l, now}
	}
	for _, name := range holders {
		if _, is := next[name]; !is {
			next[name] = sighting{lease{duration: m[name].duration}, now}
		}
	}
	for name, s := range next {
		if before, is := m[name]; is && before.lease == s.lease {
			next[name] = before
		}
	}
	return next
}

// alive returns those that may be given ranges.
func (m members) alive(now time.Time, patience time.Duration) []string {
	return m.those(func(s sighting) bool {
		return !s.released && s.version != "" && now.Before(s.silentAt(patience))
	})
}

// gone returns those whose ranges may be taken.
func (m members) gone() []string { return m.those(func(s sighting) bool { return s.released }) }

// forgotten is how long the Lease of a member that's gone is kept. Nobody waits for it longer: a
// process that wakes after a day has stopped by its own clock.
const forgotten = 24 * time.Hour

// goneFor returns those that have been gone for some time, as far as this replica knows.
func (m members) goneFor(d time.Duration, now time.Time) []string {
	return m.those(func(s sighting) bool { return s.released && now.Sub(s.since) >= d })
}

// silent returns those whose Leases may be released for them, if they are still as we've seen them.
func (m members) silent(now time.Time, patience time.Duration) []string {
	return m.those(func(s sighting) bool { return !s.released && !now.Before(s.silentAt(patience)) })
}

// silentAt is when the member must have stopped: by what it relies on, or by our own configuration
// if that's longer.
func (s sighting) silentAt(patience time.Duration) time.Time {
	return s.since.Add(max(patience, s.duration))
}

func (m members) those(are func(sighting) bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if are(m[name]) {
			names = append(names, name)
		}
	}
	return names
}
