// Command coda closes part II: a controller made by hand from two shared informers, a
// queue and workers, and a demo that shows it at work.
//
// The controller is in controller.go, and what it wants in decide.go. The rest is the demo,
// which plays the users, restarts the API server, and reads the flight recorder.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() { demo.Main("Coda of part II: a controller by hand", story) }

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()
	s := newStage(d)
	stop := s.startLedger(ctx)
	defer stop()
	defer func() { err = errors.Join(err, s.stopController()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. A ConfigMap for each labelled Namespace", s.begin},
		{"2. Users delete one, and change one", s.meddle},
		{"3. The API server is killed in the middle of a write", s.restartServer},
		{"4. The controller restarts", s.restartController},
		{"5. A storm", s.storm},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	d.Table("What became of the events", s.rows...)
	return nil
}

func (s *stage) begin(ctx context.Context) error {
	for _, team := range []string{"shop", "blog", "bank"} {
		if err := s.makeNamespace(ctx, team); err != nil {
			return err
		}
	}
	s.ledger.begin(true)
	if err := errors.Join(s.startController(ctx), s.ledger.wrote(ctx, 3)); err != nil {
		return err
	}
	s.Say("3 Namespaces, 3 ConfigMaps. Each write came back over the watch, so each Namespace was looked at once more: nothing to do.")
	s.row("1. three Namespaces")
	return s.check(ctx, "shop", "blog", "bank")
}

func (s *stage) meddle(ctx context.Context) error {
	s.ledger.begin(true)
	if err := errors.Join(s.deleteConfigMap(ctx, "shop"), s.ledger.wrote(ctx, 1)); err != nil {
		return err
	}
	s.Say("The ConfigMap of shop was deleted. It is back.")
	if err := errors.Join(s.changeConfigMap(ctx, "bank"), s.ledger.wrote(ctx, 2)); err != nil {
		return err
	}
	s.Say("Somebody wrote another contact into the ConfigMap of bank. The controller wrote the right one again.")
	s.row("2. a deletion and a change by users")
	return s.check(ctx, "shop", "blog", "bank")
}

// restartServer has the controller about to write when the server goes away, and
// changes more while its watches are broken.
func (s *stage) restartServer(ctx context.Context) error {
	s.ledger.begin(true)
	if s.Cluster.Mode == cluster.Current {
		s.Say("This is your own cluster: its API server is left alone. There are only the changes.")
		if err := s.deleteConfigMap(ctx, "shop"); err != nil {
			return err
		}
	} else if err := s.killServer(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.callSomebodyElse(ctx, "bank"), s.makeNamespace(ctx, "club"), s.ledger.wrote(ctx, 3)); err != nil {
		return err
	}
	s.Say("The ConfigMap of shop is back, bank's has the new contact, and club, a new Namespace, has one.")
	s.row("3. a restart of the API server")
	return s.check(ctx, "shop", "blog", "bank", "club")
}

func (s *stage) killServer(ctx context.Context) error {
	s.gate.close()
	if err := errors.Join(s.deleteConfigMap(ctx, "shop"), s.gate.holds(ctx, 1)); err != nil {
		s.gate.open()
		return err
	}
	s.Say("The ConfigMap of shop was deleted, and the controller is about to write. Now the API server is killed.")
	restarted := make(chan error, 1) // the result of Restart; one, so that the goroutine ends even if nobody receives it
	// Even after Ctrl-C: a cluster without an API server cannot be cleaned up.
	go func() { restarted <- s.Cluster.Restart(context.WithoutCancel(ctx), cluster.APIServer, downtime) }()
	for s.ping(ctx) == nil { // it also ends when ctx has ended
		select {
		case err := <-restarted:
			s.gate.open()
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.gate.open()
	return <-restarted
}

// downtime is how long the API server stays away.
const downtime = time.Second

func (s *stage) restartController(ctx context.Context) error {
	s.ledger.begin(true)
	if err := errors.Join(s.stopController(), s.startController(ctx), s.ledger.looked(ctx, 8)); err != nil {
		return err
	}
	s.Say("It has looked at 4 Namespaces and 4 ConfigMaps, and has written nothing: all was as it should be.")
	s.row("4. a restart of the controller")
	s.ledger.begin(true)
	if err := errors.Join(s.stopController(), s.deleteConfigMap(ctx, "shop"), s.callSomebodyElse(ctx, "bank"), s.unlabel(ctx, "blog")); err != nil {
		return err
	}
	s.Say("It is stopped again. The ConfigMap of shop is deleted, bank gets another contact, and blog loses its label.")
	if err := errors.Join(s.startController(ctx), s.ledger.wrote(ctx, 3)); err != nil {
		return err
	}
	s.Say("It saw none of the three, and made up for all of them: it compares what is there with what should be.")
	s.row("   and another, with changes meanwhile")
	return s.check(ctx, "shop", "bank", "club")
}
