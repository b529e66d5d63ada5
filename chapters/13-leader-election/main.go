// Command 13-leader-election runs several processes of one program, and kills, suspends and stops the
// one that leads.
//
// The program is in replica.go, and pays invoices (invoices.go). process.go starts it, and stage.go
// waits for what happens.
package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	if name := os.Getenv(replicaName); name != "" {
		os.Exit(replicaMain(name))
	}
	demo.Main("Chapter 13: leader election", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("the demo took longer than 3 minutes"))
	defer cancel()
	d.Show(nothing)
	s := &stage{Demo: d, events: d.Recorder.Cursor(), processes: map[string]*process{}}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Two replicas, and no election", s.withoutElection},
		{"2. The first leader", s.elects},
		{"3. The leader is killed", s.killed},
		{"4. The leader is suspended in the middle of a payment", s.suspended},
		{"5. The leader is stopped in good order", s.stopped},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	return s.tables(ctx)
}

func nothing(trace.Event) bool { return false }

// turns is what the timeline shows: who gets and loses the lock, and what is paid.
func turns(e trace.Event) bool {
	return e.Kind == trace.Write || e.Kind == trace.Lease && e.Op != "renewed" && e.Op != "observed"
}

func (s *stage) withoutElection(ctx context.Context) error {
	if err := errors.Join(s.send(ctx, "first", "second"), s.run("x", noElection), s.run("y", noElection)); err != nil {
		return err
	}
	for range 4 {
		if err := s.find(ctx, "a payment", func(e trace.Event) bool { return e.Kind == trace.Write && e.Outcome == 0 }); err != nil {
			return err
		}
	}
	s.Say("Two invoices are sent, and both replicas see them.")
	for _, invoice := range []string{"first", "second"} {
		paid, err := s.payments(ctx, invoice)
		if err != nil {
			return err
		}
		s.Say("The invoice %q has been paid %d times.", invoice, len(paid))
	}
	return errors.Join(s.signal("x", syscall.SIGKILL), s.signal("y", syscall.SIGKILL))
}

func (s *stage) elects(ctx context.Context) error {
	s.Show(turns)
	if err := errors.Join(s.run("a", ""), s.lease(ctx, "a", "acquired")); err != nil {
		return err
	}
	s.Say("It waited before it began: the Lease was missing, and a leader might have been left over. Now an invoice:")
	return errors.Join(s.send(ctx, "apple"), s.paid(ctx, "a", "apple"), s.run("b", ""), s.lease(ctx, "b", "observed"))
}

func (s *stage) killed(ctx context.Context) error {
	if err := s.signal("a", syscall.SIGKILL); err != nil {
		return err
	}
	s.since = time.Now()
	s.Say("kill -9 to a. An invoice comes, and nobody pays it until b has waited for LeaseDuration.")
	return errors.Join(s.send(ctx, "banana"), s.lease(ctx, "b", "acquired"), s.paid(ctx, "b", "banana"),
		s.run("c", ""), s.lease(ctx, "c", "observed"))
}

func (s *stage) suspended(ctx context.Context) error {
	if err := errors.Join(s.send(ctx, "cherry"), s.begins(ctx, "b", "cherry"), s.signal("b", syscall.SIGSTOP)); err != nil {
		return err
	}
	s.since = time.Now()
	s.Say("b has decided to pay the cherry, and is suspended before it does.")
	if err := errors.Join(s.lease(ctx, "c", "acquired"), s.paid(ctx, "c", "cherry")); err != nil {
		return err
	}
	s.Say("c has paid the cherry. Now b wakes up, in the middle of its payment:")
	return errors.Join(s.signal("b", syscall.SIGCONT), s.refused(ctx, "b", "cherry"))
}

func (s *stage) stopped(ctx context.Context) error {
	err := errors.Join(s.run("d", ""), s.lease(ctx, "d", "observed"), s.send(ctx, "date"), s.begins(ctx, "c", "date"))
	if err != nil {
		return err
	}
	s.Say("c is told to stop, in the middle of a payment. d waits for the Lease.")
	if err := errors.Join(s.tell("c", stopCommand), s.paid(ctx, "c", "date"), s.lease(ctx, "c", "released")); err != nil {
		return err
	}
	s.since = time.Now()
	return errors.Join(s.lease(ctx, "d", "acquired"), s.send(ctx, "elder"), s.paid(ctx, "d", "elder"))
}
