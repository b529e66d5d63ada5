//go:build !windows

package signals

import (
	"os"
	"syscall"
)

// stopSignals are Ctrl-C, and the signal that a kubelet sends before it kills a container.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}
