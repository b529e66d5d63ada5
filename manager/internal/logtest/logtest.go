// Package logtest shows a test what the program has logged.
//
// Neighbours: below it is package log. Above it are tests.
package logtest

import (
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/log"
)

// Lines are the lines that were logged, as slog's text handler writes them.
type Lines struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

// String returns all of them.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset forgets them.
func (l *Lines) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// reader is the program's only logger, because SetLogger takes one, and the test that reads it.
var reader struct {
	set sync.Once
	mu  sync.Mutex // guards now
	now *Lines     // nil if nobody reads
}

type toReader struct{}

func (toReader) Write(p []byte) (int, error) {
	reader.mu.Lock()
	now := reader.now
	reader.mu.Unlock()
	if now == nil {
		return len(p), nil
	}
	return now.Write(p)
}

// Read returns what is logged from now to the end of the test. One test at a time may read.
func Read(t testing.TB) *Lines {
	reader.set.Do(func() { log.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(toReader{}, nil))) })
	lines := &Lines{}
	turn := func(to *Lines) {
		reader.mu.Lock()
		defer reader.mu.Unlock()
		reader.now = to
	}
	turn(lines)
	t.Cleanup(func() { turn(nil) })
	return lines
}
