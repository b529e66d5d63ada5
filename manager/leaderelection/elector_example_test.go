package leaderelection_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/fake"
)

// The work blocks until its context ends. In a program, the lock is a resourcelock.LeaseLock, and
// the context that of signals.
func ExampleLeaderElectionConfig() {
	lock, _ := fake.NewResourceLock(nil, nil, leaderelection.Options{})
	ctx, stop := context.WithCancel(context.Background())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: "prices", ReleaseOnCancel: true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				fence, _ := leaderelection.FenceFrom(ctx)
				fmt.Println("working in term", fence.Transitions)
				stop()
				<-ctx.Done()
			},
			OnStoppedLeading: func() { fmt.Println("the work has ended") },
		},
	})
	if err == nil {
		err = elector.Elect(ctx)
	}
	fmt.Println("error:", err)
	// Output:
	// working in term 0
	// the work has ended
	// error: <nil>
}

// A store remembers the newest token, and refuses what an older leader writes.
func ExampleFence() {
	var newest leaderelection.Fence
	write := func(ctx context.Context, text string) {
		fence, _ := leaderelection.FenceFrom(ctx)
		if err := fence.Check(newest); err != nil {
			fmt.Println("refused:", err)
			return
		}
		newest = fence
		fmt.Println(text)
	}
	first := leaderelection.WithFence(context.Background(),
		leaderelection.Fence{Identity: "a", Transitions: 1})
	second := leaderelection.WithFence(context.Background(),
		leaderelection.Fence{Identity: "b", Transitions: 2})
	write(first, "a writes")
	write(second, "b writes")
	write(first, "a has slept")
	// Output:
	// a writes
	// b writes
	// refused: the leader a of term 1 was replaced: b of term 2 has written
}
