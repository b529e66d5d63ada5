package logtest

import (
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// Collected are the lines of one logger, for tests that may run beside others. The zero value is ready.
type Collected struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// Logger returns a logger that adds its lines. They begin with its name.
func (c *Collected) Logger(verbosity int) logr.Logger {
	return funcr.New(func(name, line string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, strings.TrimPrefix(name+" "+line, " "))
	}, funcr.Options{Verbosity: verbosity})
}

// With returns the lines that have all these parts.
func (c *Collected) With(parts ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.lines), func(line string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	})
}

// String returns all of them.
func (c *Collected) String() string { return strings.Join(c.With(), "\n") }
