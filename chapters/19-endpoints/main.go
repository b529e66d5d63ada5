// Command 19-endpoints lets the Endpoints controller say where the Pods of a Service are.
//
// stage.go runs the controller and waits for it, users.go plays the users, and recorded.go puts the controller's
// writes into the timeline.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	log.SetLogger(logr.Discard()) // the timeline has what the caches log
	demo.Main("Chapter 19: Endpoints", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	s, err := newStage(d)
	if err != nil {
		return err
	}
	s.start(ctx, 0)
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. A Service and two Pods", s.serves},
		{"2. A Pod of the next version", s.servesTwoVersions},
		{"3. What is written, and what is not", s.writesWhatMatters},
		{"4. Somebody else writes", s.repairs},
		{"5. A storm", s.collects},
		{"6. The selector is removed, and then the Service", s.letsGo},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	rows := [][]string{{"change", "writes"}}
	for _, r := range s.results {
		rows = append(rows, []string{r.what, fmt.Sprint(r.writes)})
	}
	d.Table("What led to how many writes", rows...)
	return nil
}

func nothing(trace.Event) bool { return false }

func endpointsWrites(e trace.Event) bool { return e.Kind == trace.Write && e.Object == "Endpoints" }

func (s *stage) serves(ctx context.Context) error {
	s.Show(nothing) // how many writes it takes depends on the nodes
	defer s.Show(endpointsWrites)
	err := errors.Join(s.createService(ctx), s.createGatedPod(ctx, "red", 8080, 9090), s.createPod(ctx, "green", 8080, 9090))
	if err := errors.Join(err, s.become(ctx, "green, red: http=8080 metrics=9090")); err != nil {
		return err
	}
	s.tell()
	s.Say("Both Pods serve on both ports, so one subset says it all.")
	return nil
}

func (s *stage) servesTwoVersions(ctx context.Context) error {
	s.Show(nothing)
	defer s.Show(endpointsWrites)
	s.Say("The Pod blue calls another port http, and has no metrics.")
	err := errors.Join(s.createPod(ctx, "blue", 9000), s.become(ctx, "green, red: http=8080 metrics=9090", "blue: http=9000"), s.answered(ctx))
	if err == nil {
		s.tell()
	}
	return err
}

func (s *stage) writesWhatMatters(ctx context.Context) error {
	s.Say("A user adds an annotation and a label to the Pod red. Then red is not ready any more.")
	both := func() error {
		return errors.Join(s.annotate(ctx, "red"), s.setReady(ctx, "red", false),
			s.become(ctx, "green, (red): http=8080 metrics=9090", "blue: http=9000"))
	}
	if err := s.counted(ctx, "an annotation and a label of a Pod, and its readiness", both); err != nil {
		return err
	}
	s.tell()
	s.Say("A user deletes the Pod blue.")
	gone := func() error {
		return errors.Join(s.deletePod(ctx, "blue"), s.become(ctx, "green, (red): http=8080 metrics=9090"))
	}
	return s.counted(ctx, "a Pod is deleted, and gone a second later", gone)
}

func (s *stage) repairs(ctx context.Context) error {
	s.Say("A user writes the same in another form: one subset for each port. Then red is ready again.")
	other := func() error {
		return errors.Join(s.split(ctx), s.setReady(ctx, "red", true), s.become(ctx, "green, red: http=8080 metrics=9090"))
	}
	if err := s.counted(ctx, "the same in another form, and the readiness of a Pod", other); err != nil {
		return err
	}
	s.Say("A user writes an address that is none of a Pod.")
	return s.counted(ctx, "an address that is wrong", func() error {
		return errors.Join(s.misdirect(ctx), s.become(ctx, "green, red: http=8080 metrics=9090"))
	})
}

// storm is how many Pods come at a time.
const storm = 40

func (s *stage) collects(ctx context.Context) error {
	s.Say("The controller is started again, with a batch period of one second. Then %d Pods come at a time.", storm)
	if err := s.end(); err != nil {
		return err
	}
	s.start(ctx, time.Second)
	s.Show(nothing)
	defer s.Show(endpointsWrites)
	before, _ := s.requests.count()
	var err error
	for i := range storm {
		err = errors.Join(err, s.createPod(ctx, fmt.Sprintf("pod-%02d", i), 8080, 9090))
	}
	if err := errors.Join(err, s.have(ctx, storm+2), s.answered(ctx)); err != nil {
		return err
	}
	n, _ := s.requests.count()
	s.Say("All %d addresses are there. Fewer than ten writes: %t.", storm+2, n-before < 10)
	return nil
}

func (s *stage) letsGo(ctx context.Context) error {
	s.Say("The Service has no selector any more, and a Pod is deleted. Then the selector is back.")
	stays := func() error {
		return errors.Join(s.setSelector(ctx, nil), s.deletePod(ctx, "pod-00"), s.setSelector(ctx, map[string]string{"app": "web"}), s.have(ctx, storm+1))
	}
	if err := s.counted(ctx, "no selector, a Pod less, and the selector again", stays); err != nil {
		return err
	}
	s.Show(nothing)
	s.Say("A user deletes the Service. Its Endpoints go with it: the API server deletes them, or the controller, if it is faster.")
	return s.deleteService(ctx)
}
