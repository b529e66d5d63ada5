package gotest

import (
	"fmt"
	"strconv"
	"strings"
)

// mostPrinted is how many lines of a learner's own output are shown. A loop that
// prints must not push the explanation off the screen.
const mostPrinted = 40

// printed is what the code under test wrote, without what go test and the
// assertions write around it, and without stack traces. Of more lines than
// mostPrinted it keeps the last: they are what happened before the failure.
func printed(output string) string {
	var lines []string
	inCheck := false // the lines that continue a check's message are indented
	for line := range strings.Lines(withoutFrame(output)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "WARNING: DATA RACE") || strings.HasPrefix(line, "goroutine ") {
			break
		}
		if _, _, ok := checkLine(line); ok {
			inCheck = true
			continue
		}
		if inCheck = inCheck && strings.HasPrefix(line, "        "); inCheck {
			continue
		}
		switch line {
		case "PASS", "==================", "":
			continue
		}
		if strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "exit status ") {
			continue
		}
		lines = append(lines, Short(line))
	}
	if left := len(lines) - mostPrinted; left > 0 {
		lines = append([]string{fmt.Sprintf("... %d lines before these", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
}

// MarkLogs moves what tests log to the left edge, where it counts as printed: go
// test writes t.Log and t.Error alike, and only the source, which isLog reads, tells
// them apart.
func (l *Log) MarkLogs(isLog func(pkg, file string, line int) bool) {
	for _, p := range l.packages {
		for _, t := range p.tests {
			text := t.output.String()
			t.output.Reset()
			for line := range strings.Lines(text) {
				if at, _, ok := checkLine(strings.TrimRight(line, "\r\n")); ok {
					file, number, _ := strings.Cut(at, ":")
					if n, err := strconv.Atoi(number); err == nil && isLog(p.pkg, file, n) {
						line = strings.TrimLeft(line, " ")
					}
				}
				t.output.WriteString(line)
			}
		}
	}
}
