// Package syscall takes the place of Go's in package demo, whose signals and network errors a page has
// not.
package syscall

import "errors"

type signal string

func (signal) Signal() {}

func (s signal) String() string { return string(s) }

// The signals that end a demo.
const (
	SIGTERM signal = "terminated"
	SIGHUP  signal = "hangup"
)

// What a connection says whose other end is gone.
var (
	ECONNREFUSED = errors.New("connection refused")
	ECONNRESET   = errors.New("connection reset by peer")
)
