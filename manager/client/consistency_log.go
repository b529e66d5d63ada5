package client

import (
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
)

// writeLog is what a client remembers of its writes to one kind, in one form, until a read has
// waited for them.
type writeLog struct {
	endpointKey // the kind and the form

	mu      sync.Mutex // guards what follows
	entries map[ObjectKey]*logEntry
	pruneAt int // the number of entries at which those are dropped that nobody will wait for
}

// logEntry is what is remembered of one object.
type logEntry struct {
	// inFlight are writes that the server has not answered yet. Each channel is closed by the write.
	inFlight sets.Set[chan struct{}]
	// version is the newest one that the server has answered with; empty if there is none.
	version string
	// holds says whether the cache's selectors match the object in that version. If they do not, no
	// event will show it.
	holds bool
	// deleted are objects of this name that the server has deleted.
	deleted sets.Set[types.UID]
}

func (e *logEntry) isEmpty() bool {
	return len(e.inFlight) == 0 && e.version == "" && len(e.deleted) == 0
}

// begin notes that a write has begun. done must be called after the answer was recorded.
func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	entry.inFlight.Insert(write)
	return func() {
		close(write)
		l.mu.Lock()
		defer l.mu.Unlock()
		entry.inFlight.Delete(write)
		l.dropLocked(key)
	}
}

func (l *writeLog) entryLocked(key ObjectKey) *logEntry {
	entry := l.entries[key]
	if entry == nil {
		entry = &logEntry{inFlight: sets.Set[chan struct{}]{}, deleted: sets.Set[types.UID]{}}
		if l.entries == nil {
			l.entries = map[ObjectKey]*logEntry{}
		}
		l.entries[key] = entry
	}
	return entry
}

func (l *writeLog) dropLocked(key ObjectKey) {
	if l.entries[key].isEmpty() {
		delete(l.entries, key)
	}
}

// wrote records the version that a write has led to, and whether the cache will hold it.
//
// What the cache will not hold is recorded, too. The cache may still have the object as it was before, or
// be about to get it, and a read must not show that.
func (l *writeLog) wrote(key ObjectKey, version string, holds bool) {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return // a dry run of a create has no version, and nobody can wait for one that has no order
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	if entry.version == "" || isNewer(version, entry.version) {
		entry.version, entry.holds = version, holds
	}
}

// isNewer compares two versions that have an order.
func isNewer(version, than string) bool {
	order, _ := resourceversion.CompareResourceVersion(version, than)
	return order > 0
}

// removed records that the object with this UID is gone.
func (l *writeLog) removed(key ObjectKey, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entryLocked(key).deleted.Insert(uid)
}

// keys returns the objects of a namespace of which something is remembered, or of all namespaces. Objects
// without a namespace are always among them: their kind has none, and is read as a whole.
func (l *writeLog) keys(namespace string) []ObjectKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []ObjectKey
	for key := range l.entries {
		if namespace == "" || key.Namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}

// writesInFlight returns the writes to an object that have no answer yet.
func (l *writeLog) writesInFlight(key ObjectKey) []chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry := l.entries[key]; entry != nil {
		return entry.inFlight.UnsortedList()
	}
	return nil
}

// answered returns what the server has answered to writes of an object.
func (l *writeLog) answered(key ObjectKey) (version string, holds bool, deleted []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry := l.entries[key]; entry != nil {
		return entry.version, entry.holds, sets.List(entry.deleted)
	}
	return "", false, nil
}

// seen forgets what the cache has seen: a version, or "" for none, and ends. What was written since stays.
func (l *writeLog) seen(key ObjectKey, version string, deleted []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entries[key]
	if entry == nil {
		return
	}
	if entry.version == version {
		entry.version = ""
	}
	entry.deleted.Delete(deleted...)
	l.dropLocked(key)
}

// pruneFrom is the least number of entries for which it is worth while to look.
const pruneFrom = 64

// wantsPruning reports whether there are twice as many entries as pruning left the last time. Some
// objects are written and never read again; without pruning, they would be remembered forever.
func (l *writeLog) wantsPruning() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) < max(l.pruneAt, pruneFrom) {
		return false
	}
	l.pruneAt = math.MaxInt // nobody else begins before this is done
	return true
}

func (l *writeLog) pruned() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pruneAt = 2 * len(l.entries)
}
