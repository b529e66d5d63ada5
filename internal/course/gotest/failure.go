// Package gotest reads what a run of `go test -json` printed, and finds the first thing that went wrong.
//
//	output -> ReadLog -> Log -> Judge -> Failure -> Outcome or PlainCrash, in plain words
//
// It knows the words of go test, of testify and of Go's stack traces, but nothing about exercises. Neighbours: above
// it, internal/course runs the tests, and tells a learner what to change and what to read.
package gotest

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Status is how a run of an exercise's tests ended.
type Status string

const (
	Passed     Status = "passed"
	NoCompile  Status = "does not compile"
	Failing    Status = "fails a test"
	Panicked   Status = "panics"
	TimedOut   Status = "does not end"
	Deadlocked Status = "waits forever"
	Raced      Status = "has a data race"
	Flooding   Status = "prints without end"
	NoTests    Status = "runs no test"
	Broken     Status = "could not be run"
)

// Failure is the first thing that went wrong, taken out of a test run's
// output. It is data: Outcome and PlainCrash make prose of it.
type Failure struct {
	Status   Status
	Package  string // import path
	Test     string // "TestX/subtest"
	At       string // the check that failed: "cursor_test.go:41"
	Expected string
	Actual   string
	Detail   string // what happened, where it is not expected against actual
	Message  string // the test author's own words
	In       string // the file that was being run, if known: the learner's own or one that is given
	Line     int    // and its line
	Function string // the function there
	Printed  string // what the code printed, as far as it can be told from the test's own words

	Waits  []Waiting // what goroutines in the reader's files were doing when all waited, or the time was up
	Passed int       // how many tests pass
	Others []string  // the tests after Test that fail, too
	Ended  Status    // how the last of all these ended the run, so that no test after it was run; empty if it did not
}

// Judge finds the first failure of a run. packages is the order in which the
// exercise lists them, and files are those in which a reader may look for the
// reason.
func Judge(log *Log, packages, files []string) Failure {
	if log.build != "" {
		return Failure{Status: NoCompile, Detail: strings.TrimSpace(log.build)}
	}
	for _, want := range packages {
		for _, p := range log.packages {
			if p.failed && strings.HasSuffix("/"+p.pkg, strings.TrimPrefix(path.Clean(want), ".")) {
				return judgePackage(p, files)
			}
		}
	}
	for _, p := range log.packages {
		if p.failed {
			return judgePackage(p, files)
		}
	}
	switch {
	case len(log.packages) == 0:
		return Failure{Status: Broken, Detail: strings.TrimSpace(log.Other)}
	case log.ran() == 0:
		return Failure{Status: NoTests}
	default:
		return Failure{Status: Passed}
	}
}

func judgePackage(p *packageRun, files []string) Failure {
	f := Failure{Status: Failing, Package: p.pkg}
	p.count(&f, files)
	output := p.output.String()
	unfinished, checked := false, false
	if t := p.firstFailure(); t != nil {
		f.Test = t.name
		if !t.isPartOf(p.last()) {
			output = "" // it is about what came later
		}
		output = t.output.String() + output
		var own Failure
		if own.readChecks(output); own.At == "" {
			output += p.around(t)
		}
		checked = own.At != ""
		unfinished = t.state == ""
	}
	if checked && outlived(output) { // the check that failed has left its test's goroutines behind
		output, _, _ = strings.Cut(output, "\npanic: ")
	}
	f.readPlace(output, files)
	f.Printed = printed(output)
	if f.readCrash(output, files) {
		return f
	}
	if unfinished {
		f.Status, f.Detail = Panicked, "it ended the whole program (os.Exit or log.Fatal, or the system ran out of memory) before the test was over"
		return f
	}
	f.readChecks(output)
	if f.Detail == "" && f.Message == "" && f.Expected == "" {
		f.Detail = strings.TrimSpace(withoutFrame(output))
	}
	return f
}

// count says how many tests hold, which ones don't, and whether the last one ended the run. A
// crash ends it, and a data race doesn't.
func (p *packageRun) count(f *Failure, files []string) {
	var failed []string
	for _, t := range p.tests {
		switch {
		case strings.Contains(t.name, "/"):
		case t.state == "pass" || t.state == "skip":
			f.Passed++
		default:
			failed = append(failed, t.name)
		}
	}
	if len(failed) > 1 {
		f.Others = failed[1:]
	}
	last := p.last()
	if last == nil {
		return
	}
	var end Failure
	switch {
	case end.readEnd(p.inside(last)+last.output.String()+p.output.String(), files):
		f.Ended = end.Status
	case last.state == "":
		f.Ended = Panicked
	}
}

// readChecks reads what the first failed assertion printed: either testify's
// table of labels or the plain words of t.Error.
func (f *Failure) readChecks(output string) {
	labels := map[string]*string{}
	var errorText, messages, plain string
	labels["Error"], labels["Messages"] = &errorText, &messages
	var current *string
	for line := range strings.Lines(withoutFrame(output)) {
		line = strings.TrimRight(line, " \n")
		if at, text, ok := checkLine(line); ok {
			if f.At != "" {
				break // the second assertion: the first is what counts
			}
			f.At, plain, current = at, text, &plain
			continue
		}
		if label, text, ok := testifyLine(line); ok {
			if label != "" {
				current = labels[label]
			}
			if current != nil {
				*current += text + "\n"
			}
			continue
		}
		if current == &plain {
			plain += "\n" + strings.TrimSpace(line)
		}
	}
	f.Message = OneLine(messages)
	if errorText == "" {
		f.Message = OneLine(plain)
		return
	}
	f.readError(errorText)
}

// checkLine recognises "    cursor_test.go:41: text".
func checkLine(line string) (at, text string, ok bool) {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) < 4 || strings.HasPrefix(trimmed, "\t") {
		return "", "", false
	}
	file, rest, ok := strings.Cut(trimmed, ".go:")
	if !ok || strings.ContainsAny(file, " \t") {
		return "", "", false
	}
	number, text, ok := strings.Cut(rest, ":")
	if _, err := strconv.Atoi(number); !ok || err != nil {
		return "", "", false
	}
	return file + ".go:" + number, strings.TrimSpace(text), true
}

// testifyLine recognises "\tLabel:   \ttext"; a continuation has no label.
func testifyLine(line string) (label, text string, ok bool) {
	line = strings.TrimLeft(line, " ")
	if !strings.HasPrefix(line, "\t") {
		return "", "", false
	}
	label, text, ok = strings.Cut(line[1:], "\t")
	label = strings.TrimSpace(label)
	if !ok || label != "" && !strings.HasSuffix(label, ":") {
		return "", "", false
	}
	return strings.TrimSuffix(label, ":"), text, true
}

// readError splits testify's "Not equal" into its two sides, and keeps other
// errors as they are: they are sentences already.
func (f *Failure) readError(text string) {
	side := func(name string) string {
		_, rest, ok := strings.Cut("\n"+text, "\n"+name)
		if !ok {
			return ""
		}
		for _, end := range []string{"\nactual", "\nDiff:", "\n\n"} {
			rest, _, _ = strings.Cut(rest, end)
		}
		return inUnits(OneLine(strings.TrimPrefix(strings.TrimLeft(rest, " "), ":")))
	}
	f.Expected, f.Actual = side("expected"), side("actual")
	switch first := OneLine(text); {
	case f.Expected != "" && f.Actual != "":
	case first == "Should be true":
		f.Expected, f.Actual = "true", "false"
	case first == "Should be false":
		f.Expected, f.Actual = "false", "true"
	case first == "Both arguments must be pointers": // require.Same with a nil interface
		f.Expected, f.Actual, f.Detail = "", "", "got nil"
	default:
		f.Expected, f.Actual, f.Detail = "", "", first
	}
}

var durations = regexp.MustCompile(`\[\]time\.Duration\{([\d, -]*)\}`)

// inUnits writes lists of durations as a person would: Go prints nanoseconds.
func inUnits(text string) string {
	return durations.ReplaceAllStringFunc(text, func(list string) string {
		var out []string
		for number := range strings.SplitSeq(durations.FindStringSubmatch(list)[1], ", ") {
			nanoseconds, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return list
			}
			out = append(out, time.Duration(nanoseconds).String())
		}
		return "[" + strings.Join(out, " ") + "]"
	})
}

// withoutFrame drops the lines that go test writes around a test.
func withoutFrame(output string) string {
	var out strings.Builder
	for line := range strings.Lines(output) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") || trimmed == "FAIL" || strings.HasPrefix(line, "FAIL\t") {
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}

// OneLine joins the lines of a text.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
