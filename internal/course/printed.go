package course

import (
	"fmt"
	"path"
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
		lines = append(lines, short(line))
	}
	if left := len(lines) - mostPrinted; left > 0 {
		lines = append([]string{fmt.Sprintf("... %d lines before these", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
}

// markLogs moves what tests log to the left edge, where it counts as printed: go
// test writes t.Log and t.Error alike, and only the source tells them apart.
func (r *Repo) markLogs(log *testLog, extra map[string]string) {
	source := map[string][]string{}
	isLog := func(dir, at string) bool {
		name, number, _ := strings.Cut(at, ":")
		file := path.Join(dir, name)
		if mine, ok := extra[file]; ok {
			file = mine
		}
		if _, known := source[file]; !known {
			text, _ := r.read(file) // a file that cannot be read has no lines
			source[file] = strings.Split(string(text), "\n")
		}
		n, err := strconv.Atoi(number)
		return err == nil && n <= len(source[file]) && strings.Contains(source[file][n-1], ".Log")
	}
	for _, p := range log.packages {
		for _, t := range p.tests {
			text := t.output.String()
			t.output.Reset()
			for line := range strings.Lines(text) {
				if at, _, ok := checkLine(strings.TrimRight(line, "\r\n")); ok && isLog(r.packageDir(p.pkg), at) {
					line = strings.TrimLeft(line, " ")
				}
				t.output.WriteString(line)
			}
		}
	}
}
