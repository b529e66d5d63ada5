package sharding

import (
	"maps"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/trace"
)

// diary tells the flight recorder which replica has which namespace, and when this one works there.
// It writes about namespaces, not about ranges, because you look for red, and not for
// 8a3b4a56e22ab7e4.
type diary struct {
	recorder *trace.Recorder
	layer    string

	mu      sync.Mutex        // guards what follows
	names   []string          // of the namespaces that are known
	holders map[string]string // as they were recorded last
}

// knows says which namespaces there are.
func (d *diary) knows(names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = slices.Sorted(slices.Values(names))
}

// reads records what's new in a table.
func (d *diary) reads(t table) {
	if !d.recorder.On() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	holders := map[string]string{}
	for _, name := range d.names {
		holders[name] = holderOf(t.runs, hashOf(name))
		if holders[name] != d.holders[name] {
			d.recordLocked("held", name, holders[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.holders)) {
		if _, exists := holders[name]; !exists && d.holders[name] != "" {
			d.recordLocked("held", name, "")
		}
	}
	d.holders = holders
}

// works records what this replica does in some ranges.
func (d *diary) works(op string, ranges Set) {
	if ranges.IsEmpty() || !d.recorder.On() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.names {
		if ranges.Has(name) {
			d.recordLocked(op, name, "")
		}
	}
}

func (d *diary) recordLocked(op, name, reason string) {
	d.recorder.Record(trace.Event{
		Kind: trace.Shard, Layer: d.layer, Object: "Namespace", Name: name, Op: op, Reason: reason,
	})
}
