package signals

import "os"

// stopSignals are Ctrl-C; Windows has no SIGTERM.
var stopSignals = []os.Signal{os.Interrupt}
