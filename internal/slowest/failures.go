package main

import (
	"bytes"
	"regexp"
	"strings"
)

// failures is a stream's part about tests that fail: the line that says so, and what follows.
type failures struct {
	text strings.Builder
	line []byte // that isn't complete
	left int    // how many lines still follow
}

const (
	failureLines = 25      // kept of each
	failureBytes = 1 << 15 // and of all
)

var failure = regexp.MustCompile(`^\s*--- FAIL: |^panic: |^fatal error: |^WARNING: DATA RACE`)

// Write takes everything.
func (f *failures) Write(p []byte) (int, error) {
	f.line = append(f.line, p...)
	for {
		end := bytes.IndexByte(f.line, '\n') + 1
		if end == 0 {
			return len(p), nil
		}
		f.take(f.line[:end])
		f.line = f.line[end:]
	}
}

func (f *failures) take(line []byte) {
	if failure.Match(line) {
		f.left = failureLines
	}
	if f.left > 0 && f.text.Len()+len(line) <= failureBytes {
		f.text.Write(line)
		f.left--
	}
}
