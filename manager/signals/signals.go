// Package signals cancels a context when the process gets SIGTERM or Ctrl-C.
//
// When the context ends, the manager stops, and with it everything else, in order. A second signal
// ends the process at once, for users who don't want to wait.
//
// Neighbours: below it is os/signal. Above it is main, which hands the context to the manager.
package signals

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
)

// Signaled is the cause with which the context of SetupSignalHandler ends.
type Signaled struct{ Signal os.Signal }

// Error implements error.
func (s Signaled) Error() string { return fmt.Sprintf("received signal %q", s.Signal) }

var installed atomic.Bool

// SetupSignalHandler returns a context that ends with the first SIGTERM or SIGINT. At the second
// one, the process exits with code 1.
//
// context.Cause tells you which signal it was. A process has one signal handler: a second call
// panics.
func SetupSignalHandler() context.Context {
	if !installed.CompareAndSwap(false, true) {
		panic("signals: SetupSignalHandler was called twice; " +
			"call it once in main, and pass the context on")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	// Sent by the runtime, received below, never closed. Two signals may come before the first is
	// received, and the runtime drops what doesn't fit.
	received := make(chan os.Signal, 2)
	signal.Notify(received, stopSignals...)
	go func() { // runs until the process ends, like the signal handler
		cancel(Signaled{<-received})
		<-received
		os.Exit(1)
	}()
	return ctx
}
