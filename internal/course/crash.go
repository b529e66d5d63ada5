package course

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// readCrash recognises the ways in which Go stops a whole test binary, and
// reports whether this was one.
func (f *Failure) readCrash(output string, files []string) bool {
	after := func(mark string) (string, bool) {
		_, rest, ok := strings.Cut("\n"+output, "\n"+mark)
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line), ok
	}
	if line, ok := after("panic: test timed out after "); ok {
		f.Status, f.Detail, f.Message = TimedOut, line, stateOf(output, files)
		return true
	}
	if strings.Contains(output, "WARNING: DATA RACE") {
		f.Status = Raced
		return true
	}
	line, ok := after("panic: ")
	if !ok {
		line, ok = after("fatal error: ")
	}
	if !ok {
		return false
	}
	line, _, _ = strings.Cut(line, " [recovered")
	f.Status, f.Detail = Panicked, line
	if strings.Contains(line, "deadlock") {
		f.Status = Deadlocked
	}
	return true
}

// plainCrash says in plain words what a crash means and, where one can tell,
// what to do. place is the line, or empty.
func (f Failure) plainCrash(place string) string {
	switch f.Status {
	case TimedOut:
		return fmt.Sprintf("the code was still running after %s and was stopped%s: %s", f.Detail, place, plainState(f.Message))
	case Raced:
		return fmt.Sprintf("two goroutines use the same data at the same time and at least one of them writes (a data race)%s: guard it with a mutex, or let one goroutine own it", place)
	case Deadlocked:
		if strings.Contains(f.Detail, "blocked goroutines remain") {
			return fmt.Sprintf("the test is over, but a goroutine that the code started still waits%s: whoever starts a goroutine must also end it", place)
		}
		return fmt.Sprintf("every goroutine waits for another, so nothing can go on%s: look for a channel that nobody sends to or closes, or a lock that is not released", place)
	default:
		return fmt.Sprintf("the code panics%s: %s", place, plainPanic(f.Detail))
	}
}

// plainState explains what a goroutine was doing when its time was up. The
// names are those of the runtime's stack traces.
func plainState(state string) string {
	for _, s := range []struct{ mark, plain string }{
		{"chan receive", "it waits to receive from a channel to which nobody sends"},
		{"chan send", "it waits to send to a channel from which nobody receives"},
		{"select", "none of the cases of a select ever comes"},
		{"Mutex", "it waits for a lock that is not released, perhaps one that it holds already"},
		{"WaitGroup", "it waits for goroutines that do not end"},
		{"Cond", "it waits for a signal that nobody gives"},
		{"run", "a loop never ends, or each write causes the next"},
	} {
		if strings.Contains(state, s.mark) {
			return s.plain
		}
	}
	return "a loop never ends, or something is waited for that never comes"
}

// plainPanic says in plain words what the usual panics of Go mean.
func plainPanic(text string) string {
	for _, p := range []struct{ mark, plain string }{
		{"nil pointer dereference", "it uses a pointer, or calls a method on something, that is nil"},
		{"assignment to entry in nil map", "it writes to a map that was never made (make it first)"},
		{"index out of range", "it reads beyond the end of a slice: " + strings.TrimPrefix(text, "runtime error: ")},
		{"close of closed channel", "it closes a channel a second time"},
		{"send on closed channel", "it sends on a channel that is closed"},
		{"concurrent map", "two goroutines use the same map without a lock"},
		{"stack overflow", "a function calls itself without end"},
		{"negative WaitGroup", "Done is called more often than Add"},
		{"unlock of unlocked mutex", "it unlocks a mutex that it has not locked"},
	} {
		if strings.Contains(text, p.mark) {
			return p.plain
		}
	}
	return text
}

// stateOf returns the state ("chan receive") of the first goroutine whose
// stack goes through one of files. On a busy machine the runtime may not get hold of
// a goroutine that runs without a pause, and has no stack of it.
func stateOf(output string, files []string) string {
	for _, stack := range strings.Split(output, "\ngoroutine ") {
		header, frames, _ := strings.Cut(stack, "\n")
		_, state, ok := strings.Cut(header, "[")
		if _, line := placeIn(frames, files); ok && line > 0 {
			state, _, _ = strings.Cut(state, "]")
			state, _, _ = strings.Cut(state, ",") // how many minutes
			return state
		}
	}
	// Those that wait are blocked. One that could go on at once is what keeps the test from ending.
	if strings.Contains(output, "goroutine running on other thread; stack unavailable") || strings.Contains(output, " [runnable") {
		return "running"
	}
	return ""
}

// placeIn finds the first line of one of files that a stack trace in output
// names: the innermost call that a reader can do something about.
func placeIn(output string, files []string) (file string, line int) {
	output = filepath.ToSlash(output)
	first := len(output)
	for _, f := range files {
		at := strings.Index(output, "/"+f+":")
		if at < 0 || at >= first {
			continue
		}
		rest := output[at+len(f)+2:]
		end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
		if n, err := strconv.Atoi(rest[:max(end, 0)]); err == nil {
			first, file, line = at, f, n
		}
	}
	return file, line
}
