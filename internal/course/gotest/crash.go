package gotest

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// timedOut is how the panic begins with which Go stops tests that take too long.
const timedOut = "panic: test timed out after "

// Crash finds what Go says about a crash in what a program printed, and the innermost call in one of files.
func Crash(output string, files []string) (f Failure, crashed bool) {
	f.readPlace(output, files)
	crashed = f.readCrash(output, files)
	return f, crashed
}

// readCrash recognises what Go says about a crash, and reports whether there was one. What follows from
// a data race may be anything, so the race counts.
func (f *Failure) readCrash(output string, files []string) bool {
	if strings.Contains(output, "WARNING: DATA RACE") && !strings.Contains("\n"+output, "\n"+timedOut) {
		f.Status = Raced
		return true
	}
	return f.readEnd(output, files)
}

// readEnd recognises the ways in which Go stops a whole test binary, and
// reports whether this was one.
func (f *Failure) readEnd(output string, files []string) bool {
	after := func(mark string) (string, bool) {
		_, rest, ok := strings.Cut("\n"+output, "\n"+mark)
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line), ok
	}
	if line, ok := after(timedOut); ok {
		f.Status, f.Detail, f.Waits = TimedOut, line, waitsIn(output, files)
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
		f.Status, f.Waits = Deadlocked, waitsIn(output, files)
	}
	return true
}

// outlived reports whether goroutines still wait after their test.
func outlived(panics string) bool { return strings.Contains(panics, "blocked goroutines remain") }

// PlainCrash says in plain words what a crash means and, where one can tell,
// what to do.
func (f Failure) PlainCrash() string {
	switch f.Status {
	case TimedOut:
		return fmt.Sprintf("the code was still running after %s and was stopped: %s", f.Detail, plainWaits(f.Waits))
	case Raced:
		return fmt.Sprintf("two goroutines use the same data at the same time, and at least one of them writes (a data race)%s: guard it with a mutex, or let one goroutine own it", f.place())
	case Deadlocked:
		if outlived(f.Detail) {
			return fmt.Sprintf("the test is over, but a goroutine is still waiting: %s. If your code started it, your code has to end it", plainWaits(f.Waits))
		}
		return "all goroutines are waiting, so nothing can go on: " + plainWaits(f.Waits)
	default:
		return fmt.Sprintf("the code panics%s: %s", f.place(), plainPanic(f.Detail))
	}
}

// place is where a crash happened, if that is in one of the reader's files.
func (f Failure) place() string {
	switch {
	case f.Line == 0:
		return ""
	case f.Function == "":
		return fmt.Sprintf(" (%s:%d)", f.In, f.Line)
	}
	return fmt.Sprintf(" in %s (%s:%d)", f.Function, f.In, f.Line)
}

// plainPanic says in plain words what the usual panics of Go mean.
func plainPanic(text string) string {
	for _, p := range []struct{ mark, plain string }{
		{"nil pointer dereference", "it uses a nil pointer, or calls a method on something that's nil"},
		{"assignment to entry in nil map", "it writes to a map that was never made (make it first)"},
		{"index out of range", "it reads beyond the end of a slice: " + strings.TrimPrefix(text, "runtime error: ")},
		{"close of closed channel", "it closes a channel a second time"},
		{"send on closed channel", "it sends on a closed channel"},
		{"concurrent map", "two goroutines use the same map without a lock"},
		{"stack overflow", "a function calls itself without end"},
		{"negative WaitGroup", "Done is called more often than Add"},
		{"unlock of unlocked mutex", "it unlocks a mutex that isn't locked"},
	} {
		if strings.Contains(text, p.mark) {
			return p.plain
		}
	}
	return text
}

// readPlace finds the innermost call in one of files that a stack trace names.
func (f *Failure) readPlace(output string, files []string) {
	f.In, f.Line = placeIn(output, files)
	if f.Line > 0 {
		before, _, _ := strings.Cut(filepath.ToSlash(output), fmt.Sprintf("/%s:%d", f.In, f.Line))
		f.Function = calledIn(before)
	}
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

// notPartOfAName is what a stack trace adds to the names of functions: type arguments, what a
// closure or a wrapper is called, and which of several versions in one binary it is.
var notPartOfAName = regexp.MustCompile(`\[[^\]]*\]|[(*)]|\.(func|gowrap|deferwrap)\d.*$|-range\d.*$|__\d+\b`)

// calledIn names the function of the line above the last in a piece of a stack trace: "Queue.Get", where
// Go writes "example.com/x/mini.(*Queue[...]).Get.func1(0x1)".
func calledIn(trace string) string {
	lines := strings.Split(trace, "\n")
	if len(lines) < 2 {
		return ""
	}
	line := strings.TrimSpace(lines[len(lines)-2])
	arguments := strings.LastIndex(line, "(")
	if arguments < 0 {
		return ""
	}
	_, name, _ := strings.Cut(path.Base(line[:arguments]), ".") // without the package
	return notPartOfAName.ReplaceAllString(name, "")
}
