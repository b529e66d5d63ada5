package stories

import (
	"context"
	"flag"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// trusting is an elector that reads the holder's clock. It's what people write first.
func trusting(ctx context.Context, c Candidate) {
	for ctx.Err() == nil {
		record, _, err := c.Lock.Get(ctx)
		isFree := err == nil && time.Since(record.RenewTime.Time) > 15*time.Second
		mine := resourcelock.LeaderElectionRecord{HolderIdentity: c.Lock.Identity()}
		mine.RenewTime.Time = time.Now()
		switch {
		case isFree && c.Lock.Update(ctx, mine) == nil, err != nil && c.Lock.Create(ctx, mine) == nil:
			lead(ctx, c, mine)
			return
		}
		sleep(ctx, 2*time.Second)
	}
}

// lead works until a renewal fails.
func lead(ctx context.Context, c Candidate, mine resourcelock.LeaderElectionRecord) {
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Lead(work)
	}()
	for ctx.Err() == nil {
		sleep(ctx, 2*time.Second)
		if mine.RenewTime.Time = time.Now(); c.Lock.Update(ctx, mine) != nil {
			break
		}
	}
	stop()
	<-ended
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// The clocks of the story differ by hours, so two electors that compare them lead at a time. An elector that
// never leads doesn't do that, and the story must not let it pass, either.
func TestTheStoryFindsElectorsThatAreWrong(t *testing.T) {
	if flag.Lookup("simulation.count").Value.String() != "0" {
		t.Skip("this is no test to play days with")
	}
	for _, c := range []struct {
		elect  func(context.Context, Candidate)
		breaks simulation.Promise
	}{
		{trusting, simulation.OneLeader},
		{func(ctx context.Context, _ Candidate) { <-ctx.Done() }, simulation.ActedOn},
	} {
		found := map[simulation.Promise]bool{}
		for seed := range uint64(5) {
			for _, broken := range Elector(c.elect).Play(t, seed) {
				found[broken.Promise] = true
			}
		}
		require.True(t, found[c.breaks], "%s: %v", c.breaks, found)
	}
}

// What a table says of a kept Lease would be said of one that's deleted.
func TestNobodyDeletesAKeptLease(t *testing.T) {
	if flag.Lookup("simulation.count").Value.String() != "0" {
		t.Skip("this is no test to play days with")
	}
	deleted, kept := 0, 0
	for seed := range uint64(5) {
		deleted += Elector(trusting).Happens(t, seed)[leaseDeleted]
		kept += ElectorOfAKeptLease(trusting).Happens(t, seed)[leaseDeleted]
	}
	require.NotZero(t, deleted)
	require.Zero(t, kept)
}

// What the goroutines of a process do after its exit isn't work: nobody sees it.
func TestAProcessThatHasExitedDoesNotLead(t *testing.T) {
	if flag.Lookup("simulation.count").Value.String() != "0" {
		t.Skip("this is no test to play days with")
	}
	late := func(ctx context.Context, c Candidate) {
		c.Exit()
		c.Lead(ctx)
	}
	broken := Elector(late).Play(t, 0)
	require.NotEmpty(t, broken, "nobody leads")
	for _, b := range broken {
		require.Equal(t, simulation.ActedOn, b.Promise, "%s", b)
	}
}

// With os.Exit, the work has no time to stop, so the next one may begin at once.
func TestTheWorkEndsWithItsProcess(t *testing.T) {
	if flag.Lookup("simulation.count").Value.String() != "0" {
		t.Skip("this is no test to play days with")
	}
	var held atomic.Bool
	exits := func(ctx context.Context, c Candidate) {
		for !held.CompareAndSwap(false, true) {
			if sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
				return
			}
		}
		work, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Lead(work)
		}()
		sleep(ctx, time.Minute)
		c.Exit()
		held.Store(false)
		stop()
		<-ended
	}
	for seed := range uint64(3) {
		for _, b := range Elector(exits).Play(t, seed) {
			require.NotEqual(t, simulation.OneLeader, b.Promise, "%s", b)
		}
	}
}
