// Command 10-controller shows what a controller does with each answer of its reconciler:
// done, again later, failed, hopeless, waiting; and with a panic, a timeout and a stop.
//
// The reconciler is in reconciler.go, and what adds requests in source.go. stage.go sets the
// controller up and plays the users. The cloud in cloud.go is played, too; the rest is real.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

func main() { demo.Main("Chapter 10: reconciler and controller", story) }

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	s := &stage{Demo: d, cloud: newCloud()}
	if err := s.startController(ctx, "databases", d.Recorder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stopController()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Two workers, three databases", s.twoWorkers},
		{"2. The cloud refuses three times", s.retries},
		{"3. The cloud needs time", s.requeueAfter},
		{"4. A size that is no number", s.terminal},
		{"5. A bug", s.panics},
		{"6. The cloud does not answer", s.timesOut},
		{"7. The password is not there yet", s.waits},
		{"8. A stop in the middle of work", s.stops},
		{"9. The next controller", s.startsAgain},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	counters, err := measured("databases")
	if err != nil {
		return err
	}
	rows := [][]string{{"metric", "result", "value"}}
	for _, c := range counters {
		rows = append(rows, []string{c.metric, c.result, strconv.Itoa(c.value)})
	}
	d.Table("What the controller's metrics say", rows...)
	return nil
}

// twoWorkers holds the cloud's answers back until it has seen what the third database does.
func (s *stage) twoWorkers(ctx context.Context) error {
	for _, name := range []string{"apple", "banana"} {
		s.cloud.hold(name)
		if err := errors.Join(s.order(ctx, name, nil), s.cloud.asked(ctx, name)); err != nil {
			return err
		}
	}
	if err := errors.Join(s.order(ctx, "cherry", nil), s.happened(ctx, "cherry", trace.Enqueue)); err != nil {
		return err
	}
	s.Say("Both workers wait for the cloud. The cherry waits for a worker.")
	s.cloud.release("apple")
	if err := errors.Join(s.finished(ctx, "cherry", trace.Succeeded), s.correct(ctx, "banana", "size", "2"), s.happened(ctx, "banana", trace.Enqueue)); err != nil {
		return err
	}
	s.Say("The banana was changed, and a worker is free. But it is in work, and nobody else gets it meanwhile.")
	s.cloud.release("banana")
	return errors.Join(s.finished(ctx, "banana", trace.Succeeded), s.finished(ctx, "banana", trace.Succeeded))
}

func (s *stage) retries(ctx context.Context) error {
	s.cloud.refuse("date", 3)
	if err := errors.Join(s.order(ctx, "date", nil), s.finished(ctx, "date", trace.Succeeded)); err != nil {
		return err
	}
	s.Say("Each time, it waits twice as long. After a success, the failures are forgotten.")
	return nil
}

func (s *stage) requeueAfter(ctx context.Context) error {
	s.cloud.delay("elderberry", 200*time.Millisecond)
	if err := errors.Join(s.order(ctx, "elderberry", nil), s.finished(ctx, "elderberry", trace.Succeeded)); err != nil {
		return err
	}
	s.Say("This was no failure. The reconciler itself said when to look again.")
	return nil
}

func (s *stage) terminal(ctx context.Context) error {
	if err := errors.Join(s.order(ctx, "fig", map[string]string{"size": "huge"}), s.finished(ctx, "fig", trace.GivenUp)); err != nil {
		return err
	}
	s.Say("Nobody can retry this away, and nobody tries. A user corrects it, and this is an event:")
	return errors.Join(s.correct(ctx, "fig", "size", "3"), s.finished(ctx, "fig", trace.Succeeded))
}

func (s *stage) panics(ctx context.Context) error {
	if err := errors.Join(s.order(ctx, "grape", map[string]string{"copyOf": "raisin"}), s.finished(ctx, "grape", trace.GivenUp)); err != nil {
		return err
	}
	s.Say("The process is still there, and so are both workers. After %d retries, the controller gave the grape up.", maxRetries)
	s.Say("The next event starts over: a user says that it is a copy of the apple.")
	return errors.Join(s.correct(ctx, "grape", "copyOf", "apple"), s.finished(ctx, "grape", trace.Succeeded))
}

func (s *stage) timesOut(ctx context.Context) error {
	s.cloud.hold("honeydew")
	if err := errors.Join(s.order(ctx, "honeydew", nil), s.finished(ctx, "honeydew", trace.Failed), s.cloud.asked(ctx, "honeydew")); err != nil {
		return err
	}
	s.Say("Between the two tries, the worker was free. From now on, the cloud answers.")
	s.cloud.release("honeydew")
	return s.finished(ctx, "honeydew", trace.Succeeded)
}

func (s *stage) waits(ctx context.Context) error {
	if err := errors.Join(
		s.order(ctx, "kiwi", map[string]string{"secret": "password"}),
		s.finished(ctx, "kiwi", trace.Waiting), s.finished(ctx, "kiwi", trace.Waiting),
	); err != nil {
		return err
	}
	s.Say("It looked twice: the Secret might have come between the first look and its answer. Now it waits, without a retry.")
	if err := errors.Join(s.makeSecret(ctx, "password"), s.finished(ctx, "kiwi", trace.Succeeded)); err != nil {
		return err
	}
	s.Say("The Secret came, and its event woke the kiwi.")
	return nil
}

// stops has two databases in work and one in the queue, and lets the cloud answer for one only.
func (s *stage) stops(ctx context.Context) error {
	for _, name := range []string{"lemon", "mango"} {
		s.cloud.hold(name)
		if err := errors.Join(s.order(ctx, name, nil), s.cloud.asked(ctx, name)); err != nil {
			return err
		}
	}
	if err := errors.Join(s.order(ctx, "nectarine", nil), s.happened(ctx, "nectarine", trace.Enqueue)); err != nil {
		return err
	}
	s.Say("The lemon and the mango are in work, the nectarine waits. The controller is told to stop, and has a grace period of %s.", gracePeriod)
	began := time.Now()
	s.stop()
	if err := s.happened(ctx, "", trace.Stop); err != nil { // the queue's
		return err
	}
	s.cloud.release("lemon")
	err := s.stopController()
	if took := time.Since(began); err == nil && took < gracePeriod {
		err = fmt.Errorf("the controller stopped after %s, and the mango had no grace", took)
	}
	s.Say("The lemon was finished. The mango was cut off when the grace period was over, and the nectarine was not begun.")
	return err
}

// startsAgain is the next process: it finds in a list what the last one left undone. It looks at
// everything again, which is too much for the timeline.
func (s *stage) startsAgain(ctx context.Context) error {
	s.cloud.release("mango")
	before, err := s.services(ctx)
	if err != nil {
		return err
	}
	if err := s.startController(ctx, "databases, again", trace.New(0)); err != nil {
		return err
	}
	missing := map[string]bool{"mango": true, "nectarine": true}
	err = s.find(ctx, "the mango and the nectarine", func(e trace.Event) bool {
		if e.Kind == trace.ReconcileEnd && e.Outcome == trace.Succeeded {
			delete(missing, e.Name)
		}
		return len(missing) == 0
	})
	if err != nil {
		return err
	}
	after, err := s.services(ctx)
	if err != nil {
		return err
	}
	s.Say("It found all orders in a list. There were %d Services, now there are %d.", before, after)
	return s.stopController()
}
