// Command 11-events shows how a change in the cluster becomes a request in a queue: through a
// source, predicates and a handler; and which changes do not, and which should have.
//
// The controller's sources are in watches.go, its reconciler in reconciler.go. informers.go stands
// in for the cache of chapter 12. stage.go sets the controller up and plays the users.
package main

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/trace"
)

func main() { demo.Main("Chapter 11: events, predicates, handlers, sources", story) }

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	s, err := newStage(d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Four stalls, and a kind that is not installed", s.waitsForAKind},
		{"2. The kind is installed", s.startsToWork},
		{"3. One event, all the way", s.allTheWay},
		{"4. One list of prices, five stalls", s.maps},
		{"5. Two hundred heartbeats", s.heartbeats},
		{"6. A seller changes hands", s.changesOwner},
		{"7. A predicate that loses events", s.losesEvents},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	d.Show(nothing) // the story is over
	d.Table("What became of the events", s.counts.rows()...)
	return nil
}

// work is what the timeline shows unless the story is about something else.
func work(e trace.Event) bool {
	return e.Kind == trace.Start || e.Kind == trace.ReconcileStart || e.Kind == trace.Write
}

func nothing(trace.Event) bool { return false }

func (s *stage) waitsForAKind(ctx context.Context) error {
	s.Show(func(e trace.Event) bool { return e.Kind == trace.Enqueue })
	defer s.Show(work)
	if err := errors.Join(s.open(ctx, "apple", "banana", "cherry", "date"), s.start(ctx)); err != nil {
		return err
	}
	for _, stall := range []string{"apple", "banana", "cherry", "date"} {
		if err := s.happened(ctx, stall, trace.Enqueue); err != nil {
			return err
		}
	}
	log, err := s.complaint(ctx)
	if err != nil {
		return err
	}
	s.Say("All stalls are in the queue, and no worker takes them. The log says why:")
	s.Say("  %s", strings.ReplaceAll(log, "? ", "?\n  #   "))
	s.Say("Meanwhile, a user opens a fifth stall.")
	return errors.Join(s.open(ctx, "fig"), s.happened(ctx, "fig", trace.Enqueue))
}

func (s *stage) startsToWork(ctx context.Context) error {
	if err := errors.Join(s.install(ctx), s.happened(ctx, "", trace.Start), s.reconciled(ctx, "fig", "apple", "banana", "cherry", "date")); err != nil {
		return err
	}
	s.Say("The fig came last and is first: it is news. What was there at the beginning has low priority.")
	return nil
}

func (s *stage) allTheWay(ctx context.Context) error {
	s.Say("A user deletes the banana's seller.")
	s.Show(func(e trace.Event) bool {
		deletion := e.Name == "banana-seller" && strings.Contains(strings.ToLower(e.Op), "delete")
		return e.Kind >= trace.Enqueue || deletion
	})
	err := s.Client.CoreV1().Pods(s.Namespace).Delete(ctx, "banana-seller", metav1.DeleteOptions{})
	if err == nil {
		err = s.reconciled(ctx, "banana")
	}
	s.Show(work)
	return err
}

func (s *stage) maps(ctx context.Context) error {
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "prices"},
		Data:       map[string]string{"apple": "3", "banana": "2", "cherry": "9", "date": "6", "fig": "4"},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := s.reconciled(ctx, "apple", "banana", "cherry", "date", "fig"); err != nil {
		return err
	}
	s.Say("One event, five requests. Now a Discount for the cherry:")
	if err := errors.Join(s.discountFor(ctx, "cherry"), s.reconciled(ctx, "cherry")); err != nil {
		return err
	}
	s.Say("The same Discount is given to the date. The cherry must hear of it, too:")
	return errors.Join(s.moveDiscountTo(ctx, "date"), s.reconciled(ctx, "cherry", "date"))
}

func (s *stage) heartbeats(ctx context.Context) error {
	const beats, shown = 200, 3
	seen := 0 // changed by the timeline, and read when it shows something else
	s.Show(func(e trace.Event) bool {
		if e.Kind == trace.Predicate && e.Name == "apple-seller" {
			seen++
			return seen <= shown
		}
		return work(e)
	})
	var last string
	for number := range beats {
		version, err := s.beat(ctx, "apple-seller", number)
		if err != nil {
			return err
		}
		last = version
	}
	err := s.find(ctx, "the last heartbeat", func(e trace.Event) bool { return e.Kind == trace.Predicate && e.Version == last })
	s.Show(work)
	if err != nil {
		return err
	}
	s.Say("And so on: %d heartbeats, and the predicate has dropped %d updates. The queue heard of none.", beats, seen)
	return nil
}

func (s *stage) changesOwner(ctx context.Context) error {
	s.Say("A user makes the fig the owner of the date's seller.")
	if err := errors.Join(s.give(ctx, "date-seller", "fig"), s.reconciled(ctx, "date", "fig")); err != nil {
		return err
	}
	s.Say("One update, and both owners were looked at. Both sellers know their price, so there was nothing to write.")
	return nil
}

func (s *stage) losesEvents(ctx context.Context) error {
	s.Say("The user closes the apple's stall: the ConfigMap loses its label.")
	lost := func(e trace.Event) bool {
		return e.Kind == trace.Predicate && e.Name == "apple" && strings.HasPrefix(e.Reason, "LabelSelector")
	}
	s.Show(func(e trace.Event) bool { return work(e) || lost(e) })
	if err := errors.Join(s.closeStall(ctx, "apple"), s.find(ctx, "the predicate's verdict", lost)); err != nil {
		return err
	}
	s.Say("The predicate looked at the new object only, and that is no stall. The seller stays, and nobody looks.")

	s.Say("The source gets a better predicate, while the controller runs. It lists what is there, which the timeline leaves out.")
	s.Show(nothing)
	if err := s.controller.Unwatch(s.watches.stalls); err != nil {
		return err
	}
	s.watches.stalls = source.Kind(s.market, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}, stallBeforeOrAfter)
	if err := errors.Join(s.controller.Watch(s.watches.stalls), s.reconciledAll(ctx, "banana", "cherry", "date", "fig")); err != nil {
		return err
	}
	s.Show(work)
	s.Say("The user closes the cherry's stall.")
	if err := errors.Join(s.closeStall(ctx, "cherry"), s.reconciled(ctx, "cherry", "cherry")); err != nil {
		return err
	}
	s.Say("What a controller writes comes back to it. The second look found nothing to do.")
	s.Say("But what was lost stays lost, until something else happens. A visitor notices the apple's seller, and reports it to a website:")
	return errors.Join(s.visit(ctx, "apple"), s.reconciled(ctx, "apple", "apple"))
}
