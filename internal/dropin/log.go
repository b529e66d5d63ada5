package dropin

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// testLog is what the tests of a package did.
type testLog struct {
	tests  []*test // in the order in which they started
	output string  // what belongs to no test
}

// test is what one test did, or one subtest.
type test struct {
	name   string
	state  string // pass, fail, skip, or "" if it never ended
	output string
}

// readLog reads the events that `go tool test2json` writes.
func readLog(r io.Reader) (*testLog, error) {
	log := &testLog{}
	tests := map[string]*test{}
	outputs := map[string]*strings.Builder{"": {}} // one test may print 100 MB
	for decoder := json.NewDecoder(r); decoder.More(); {
		var event struct{ Action, Test, Output string }
		if err := decoder.Decode(&event); err != nil {
			return nil, err
		}
		if outputs[event.Test] == nil {
			outputs[event.Test], tests[event.Test] = &strings.Builder{}, log.start(event.Test)
		}
		outputs[event.Test].WriteString(event.Output)
		ended := event.Action == "pass" || event.Action == "fail" || event.Action == "skip"
		if ended && event.Test != "" {
			tests[event.Test].state = event.Action
		}
	}
	for name, t := range tests {
		t.output = outputs[name].String()
	}
	log.output = outputs[""].String()
	return log, nil
}

func (l *testLog) start(name string) *test {
	l.tests = append(l.tests, &test{name: name})
	return l.tests[len(l.tests)-1]
}

// get returns a test, or nil if it didn't start.
func (l *testLog) get(name string) *test {
	for _, t := range slices.Backward(l.tests) { // most questions are about the test that started last
		if t.name == name {
			return t
		}
	}
	return nil
}

// count counts the tests that ended in one of these states.
func (l *testLog) count(states ...string) (n int) {
	for _, t := range l.tests {
		for _, state := range states {
			if t.state == state {
				n++
			}
		}
	}
	return n
}
