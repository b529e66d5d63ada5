package picture

import (
	"fmt"
	"strings"
)

// Log turns facts into lines, for an output that is no terminal. The zero value is ready to use.
//
// Guarantees: there is a line whenever the number of wanted Pods of a ReplicaSet changes, a rollout stalls, or another
// quarter of the Pods has become ready or serves. So how many lines there are depends on what happens, and hardly on
// how large it is or how often it is looked at.
type Log struct{ last string }

// Line returns the line for a change that matters, and false if nothing did.
func (l *Log) Line(f Facts) (string, bool) {
	matters := fmt.Sprint(f.Stalled, f.HasEndpoints, quarters(int32(f.Serving), f.Wanted))
	for _, s := range f.Sets {
		matters += fmt.Sprint(";", s.Name, s.Revision, s.Wanted, quarters(s.Ready, s.Wanted))
	}
	if matters == l.last || len(f.Sets) == 0 {
		return "", false
	}
	l.last = matters
	return f.String(), true
}

// quarters is 0 for none, 5 for all, and from 1 to 4 between.
func quarters(part, all int32) int32 {
	switch {
	case part <= 0:
		return 0
	case part >= all:
		return 5
	}
	return 1 + 4*part/all
}

// String returns the facts as one line.
func (f Facts) String() string {
	var parts []string
	for _, s := range f.Sets {
		parts = append(parts, fmt.Sprintf("revision %d: %s", s.Revision, s.counts()))
	}
	if f.HasEndpoints {
		serving := fmt.Sprintf("endpoints: %d", f.Serving)
		if f.NotReady > 0 {
			serving += fmt.Sprintf(" and %d not ready", f.NotReady)
		}
		parts = append(parts, serving)
	}
	if f.Stalled != "" {
		parts = append(parts, f.Stalled)
	}
	return strings.Join(parts, " | ")
}
