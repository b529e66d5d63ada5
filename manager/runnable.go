package manager

import "context"

// Runnable is a part of the program that a manager starts and stops. Start runs until the context
// ends, or until its work is done. If it returns an error, the manager stops and returns that
// error.
//
// It's an alias of an unnamed interface, so that another package can declare an interface with a
// method Add(Runnable) without importing this one; see controller.New.
type Runnable = interface {
	Start(ctx context.Context) error
}

// RunnableFunc is a function that is a Runnable.
type RunnableFunc func(ctx context.Context) error

// Start implements Runnable.
func (f RunnableFunc) Start(ctx context.Context) error { return f(ctx) }

// LeaderElectionRunnable is a Runnable that says whether it runs only in the leader. A Runnable
// without this method does.
type LeaderElectionRunnable interface {
	NeedLeaderElection() bool
}

// ReadyRunnable is a Runnable that others depend on: the manager starts the next group only after
// WaitUntilReady has returned nil. If it returns an error, the manager stops. If the runnable is
// added while its group runs, nobody waits for it, and an error is only logged. The context ends
// when Start has returned.
//
// controller-runtime has no such interface: it waits for caches only.
type ReadyRunnable interface {
	WaitUntilReady(ctx context.Context) error
}

// BaseContextFunc returns a context with the values that all runnables find in theirs.
type BaseContextFunc func() context.Context
