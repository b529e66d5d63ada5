package controller

import (
	"context"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Source adds requests to a controller's queue.
type Source interface {
	// Start begins, and returns at once. The source ends when the context does. The queue that it
	// is given is a reconcile.Waker and a priorityqueue.PriorityQueue as well, and has the methods
	// GetLogger() logr.Logger and FlightRecorder() (recorder *trace.Recorder, layer string).
	Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error
}

// SyncingSource is a Source that is not ready when it has started: it has to list first. The
// controller's workers wait for it.
type SyncingSource interface {
	Source
	// WaitForSync returns nil when the source is ready, and an error when it never will be or the
	// context has ended. It is called after Start. The error is shown to somebody who wonders why
	// the controller does not start, so it should say what the source waits for.
	WaitForSync(ctx context.Context) error
}

// StoppingSource is a Source that has goroutines of its own.
type StoppingSource interface {
	Source
	// WaitForStop returns when all goroutines that Start began have ended. It is called when the
	// context of Start has ended, unless Start returned an error.
	WaitForStop()
}
