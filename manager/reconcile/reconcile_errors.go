package reconcile

import (
	"errors"
	"fmt"
)

// TerminalError is for a failure that no retry can cure, such as a spec that makes no sense.
// The request is not tried again until something adds it: somebody has to correct the spec, and
// this is an event. The error is still logged and counted.
//
// It may be wrapped; errors.Is(err, TerminalError(nil)) finds it.
func TerminalError(wrapped error) error { return &terminalError{wrapped} }

type terminalError struct{ err error }

func (t *terminalError) Error() string {
	if t.err == nil {
		return "nil terminal error"
	}
	return fmt.Sprint("terminal error: ", t.err) // which may be a nil pointer
}

func (t *terminalError) Unwrap() error { return t.err }

// Is makes all terminal errors equal to errors.Is. What is asked for may be wrapped, too.
func (t *terminalError) Is(target error) bool {
	_, terminal := errors.AsType[*terminalError](target)
	return terminal
}
