package gotest

import (
	"fmt"
	"slices"
	"strings"
)

// Waiting is what a goroutine was doing in one of the reader's files when the tests were stopped.
type Waiting struct {
	Function string // "Queue.Get"
	In       string
	Line     int
	State    string // the runtime's word: "sync.Cond.Wait"
}

// waitsIn reads the stacks of all goroutines, and returns those that are in one of files. If one of
// these could go on at once, it alone keeps the test from ending, whatever the others wait for.
func waitsIn(output string, files []string) (waits []Waiting) {
	for _, stack := range strings.Split(output, "\ngoroutine ")[1:] {
		header, frames, _ := strings.Cut(stack, "\n")
		_, state, _ := strings.Cut(header, "[")
		state, _, _ = strings.Cut(state, "]")
		state, _, _ = strings.Cut(state, ",") // how many minutes, and in which bubble
		frames, _, _ = strings.Cut(frames, "\ncreated by ")
		var f Failure
		f.readPlace("\n"+frames, files)
		w := Waiting{f.Function, f.In, f.Line, state}
		if f.Line > 0 && !slices.Contains(waits, w) {
			waits = append(waits, w)
		}
	}
	if i := slices.IndexFunc(waits, Waiting.runs); i >= 0 {
		return waits[i : i+1]
	}
	// On a busy machine the runtime may not get hold of a goroutine that runs without a pause, and has
	// no stack of it.
	if strings.Contains(output, "goroutine running on other thread; stack unavailable") || strings.Contains(output, " [runnable") {
		return []Waiting{{State: "running"}}
	}
	return waits
}

func (w Waiting) runs() bool { return strings.HasPrefix(w.State, "run") }

const (
	endlessLoop = "a loop never ends, or each write causes the next"
	manyWaits   = 3 // goroutines are worth naming: of more, a learner learns nothing
)

// plainWaits explains what goroutines were doing. If none of them is in the reader's files, it says what
// may be missing.
func plainWaits(waits []Waiting) string {
	if len(waits) == 0 {
		return "the test waits for something that never happens. Look for a channel that no goroutine sends to or closes, " +
			"a Cond without Signal or Broadcast, a WaitGroup without Done, and a mutex that stays locked"
	}
	var all []string
	for _, w := range waits[:min(len(waits), manyWaits)] {
		all = append(all, w.plain())
	}
	return strings.Join(all, "; ")
}

// plain explains the states of the runtime's stack traces.
func (w Waiting) plain() string {
	if w.In == "" {
		return endlessLoop
	}
	place := fmt.Sprintf("%s (%s:%d)", w.Function, w.In, w.Line)
	for _, s := range []struct{ state, does string }{
		{"chan receive", "waits to receive from a channel; no goroutine sends to it or closes it"},
		{"chan send", "waits to send to a channel, and no goroutine receives from it"},
		{"select", "waits in a select, and none of its cases ever becomes ready"},
		{"Mutex", "waits for a mutex that stays locked: an Unlock is missing, or this goroutine holds it already"},
		{"WaitGroup", "waits in WaitGroup.Wait: a Done is missing, or a goroutine doesn't end"},
		{"Cond", "waits in Cond.Wait: a Signal or Broadcast is missing, or its condition never becomes true"},
		{"sleep", "sleeps again and again"},
		{"run", "does not end: " + endlessLoop},
	} {
		if strings.Contains(w.State, s.state) {
			return place + " " + s.does
		}
	}
	return place + " waits for something that never happens"
}
