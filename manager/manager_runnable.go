package manager

import (
	"context"
)

// Runnable is what a manager starts and stops. Start runs until the context ends, or until there is
// nothing left to do. An error that it returns stops the manager, which returns it.
//
// It is an alias of an interface without a name, so that a package can have a method
// Add(Runnable) in an interface of its own and need not import this one; see controller.New.
type Runnable = interface {
	Start(ctx context.Context) error
}

// RunnableFunc is a function that is a Runnable.
type RunnableFunc func(ctx context.Context) error

// Start implements Runnable.
func (f RunnableFunc) Start(ctx context.Context) error { return f(ctx) }

// LeaderElectionRunnable is implemented by a Runnable that says whether it may run only while the
// manager leads. One that does not say waits for the lead.
type LeaderElectionRunnable interface {
	NeedLeaderElection() bool
}

// ReadyRunnable is implemented by a Runnable that others depend on: the manager does not start
// what comes after its group before WaitUntilReady has returned nil. An error stops the manager. Nothing waits for
// a runnable that is added while its group runs: an error is logged. The context ends when Start has returned.
//
// controller-runtime does this for caches alone, and there is no way to ask for it.
type ReadyRunnable interface {
	WaitUntilReady(ctx context.Context) error
}

// warmupRunnable is implemented by a Runnable that can prepare itself while it waits for the lead.
type warmupRunnable interface {
	Warmup(ctx context.Context) error
}

// BaseContextFunc returns the context whose values all runnables find in theirs.
type BaseContextFunc func() context.Context
