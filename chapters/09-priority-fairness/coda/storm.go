package main

import (
	"context"
	"errors"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// blows is how often each Namespace changes in a storm.
const blows = 100

var stormy = []string{"shop", "bank", "club"}

// storm changes three Namespaces again and again: first as fast as it can, and then while
// the controller's writes take as long as the storm.
func (s *stage) storm(ctx context.Context) error {
	s.ledger.begin(false)
	if err := errors.Join(s.blow(ctx, map[string]int{"shop": blows, "bank": blows, "club": blows}), s.ledger.looked(ctx, 1)); err != nil {
		return err
	}
	s.Say("%d changes of 3 Namespaces, as fast as they can be made. The table shows how many writes they took:", len(stormy)*blows)
	s.Say("the controller's client makes 10 at once and then %.0f a second, which is client-go's default.", rest.DefaultQPS)
	s.row("5. a storm")
	if err := s.check(ctx, stormy...); err != nil {
		return err
	}
	s.ledger.begin(false)
	if err := s.slowStorm(ctx); err != nil {
		return err
	}
	counts, events := s.ledger.step()
	s.Say("The same again, while the API server is slow: a write takes as long as the storm. %d changes, %d writes.", len(stormy)*blows, counts.writes)
	s.row("   a storm, and slow writes")
	if err := s.check(ctx, stormy...); err != nil {
		return err
	}
	s.tell(events, s.called("shop"))
	return nil
}

func (s *stage) slowStorm(ctx context.Context) error {
	s.gate.close()
	// Both workers are writing when the rest comes.
	err := errors.Join(s.blow(ctx, map[string]int{"shop": 1, "bank": 1}), s.gate.holds(ctx, 2))
	if err == nil {
		err = errors.Join(s.blow(ctx, map[string]int{"shop": blows - 1, "bank": blows - 1, "club": blows}), s.ledger.heard(ctx))
	}
	s.gate.open()
	if err != nil {
		return err
	}
	return s.ledger.looked(ctx, 1)
}

// blow changes each Namespace that many times, all of them at once.
func (s *stage) blow(ctx context.Context, times map[string]int) error {
	var writers sync.WaitGroup
	failed := make([]error, len(stormy))
	for i, team := range stormy {
		writers.Go(func() {
			for range times[team] {
				if failed[i] = s.callSomebodyElse(ctx, team); failed[i] != nil {
					return
				}
			}
		})
	}
	writers.Wait()
	return errors.Join(failed...)
}

// tell prints what the recorder knows about one Namespace.
func (s *stage) tell(events []trace.Event, namespace string) {
	timeline := trace.Timeline{LayerWidth: 9, ObjectWidth: 31}
	since := s.recorder.Started().Sub(s.Recorder.Started())
	var lines [][]string
	for _, event := range fold(events, namespace) {
		event.At += since
		lines = append(lines, []string{timeline.Line(event)})
	}
	s.Table("What the recorder knows about "+namespace+", in the second storm", lines...)
}
