package gotest

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

// testEvent is one line of `go test -json`.
type testEvent struct {
	Action     string
	Package    string
	Test       string
	Output     string
	ImportPath string
}

// packageRun is what happened to one package's tests.
type packageRun struct {
	pkg    string
	tests  []*testRun      // in the order in which they started
	output strings.Builder // what belongs to no test
	failed bool
}

// testRun is what happened to one test or subtest.
type testRun struct {
	name   string
	state  string // "", "pass", "fail" or "skip"; "" is a test that never ended
	output strings.Builder
}

// Log is the whole of a `go test -json` run.
type Log struct {
	packages []*packageRun
	build    string          // what the compiler or vet said
	Other    string          // lines that are not JSON: the go command's own errors
	Raw      strings.Builder // what go test prints without -json
}

// ReadLog never fails: a line that is not JSON is kept in Other.
func ReadLog(r io.Reader) *Log {
	log := &Log{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var e testEvent
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil || e.Action == "" {
			log.Other += sc.Text() + "\n"
			continue
		}
		log.add(e)
	}
	return log
}

func (l *Log) add(e testEvent) {
	l.Raw.WriteString(e.Output)
	if e.Action == "build-output" {
		if !strings.HasPrefix(e.Output, "# ") {
			l.build += e.Output
		}
		return
	}
	if e.Package == "" {
		return
	}
	p := l.pkg(e.Package)
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output.WriteString(e.Output)
		case "fail":
			p.failed = true
		}
		return
	}
	t := p.test(e.Test)
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.state = e.Action
	}
}

func (l *Log) pkg(name string) *packageRun {
	for _, p := range l.packages {
		if p.pkg == name {
			return p
		}
	}
	p := &packageRun{pkg: name}
	l.packages = append(l.packages, p)
	return p
}

func (p *packageRun) test(name string) *testRun {
	for _, t := range p.tests {
		if t.name == name {
			return t
		}
	}
	t := &testRun{name: name}
	p.tests = append(p.tests, t)
	return t
}

// firstFailure returns the first test that failed, the innermost of its
// subtests, or nil. A test that never ended is what a crash leaves behind.
func (p *packageRun) firstFailure() *testRun {
	var found *testRun
	for _, t := range p.tests {
		failed := t.state == "fail" || t.state == "" && p.failed
		if failed && (found == nil || strings.HasPrefix(t.name, found.name+"/")) {
			found = t
		}
	}
	return found
}

// last is the test that was run last, with its subtests.
func (p *packageRun) last() (last *testRun) {
	for _, t := range p.tests {
		if !strings.Contains(t.name, "/") {
			last = t
		}
	}
	return last
}

// isPartOf reports whether t is a test or one of its subtests.
func (t *testRun) isPartOf(test *testRun) bool {
	return t == test || strings.HasPrefix(t.name, test.name+"/")
}

// inside returns what the subtests of a test printed.
func (p *packageRun) inside(t *testRun) string {
	var text strings.Builder
	for _, inner := range p.tests {
		if strings.HasPrefix(inner.name, t.name+"/") {
			text.WriteString(inner.output.String())
		}
	}
	return text.String()
}

// around returns what the tests around a subtest printed. If the subtest panics, test2json takes the
// words of the panic for theirs.
func (p *packageRun) around(t *testRun) string {
	var text strings.Builder
	for _, outer := range p.tests {
		if strings.HasPrefix(t.name, outer.name+"/") {
			text.WriteString(outer.output.String())
		}
	}
	return text.String()
}

// Finish makes of a failed binary's log what go test would have made of it.
// test2json alone says nothing about the package after a crash, and counts the test
// that was interrupted as failed.
func (l *Log) Finish() {
	for _, p := range l.packages {
		p.failed = true
		for _, t := range p.tests {
			if t.state == "fail" && !strings.Contains(t.output.String(), "--- FAIL: "+t.name+" ") {
				t.state = ""
			}
		}
	}
}

// ran counts the tests that were run and not skipped.
func (l *Log) ran() int {
	n := 0
	for _, p := range l.packages {
		for _, t := range p.tests {
			if t.state != "skip" {
				n++
			}
		}
	}
	return n
}
