// Command coda puts chapters 17 to 19 together: the controllers of Deployments, ReplicaSets and Endpoints run in one
// manager, and users create, update, break, repair and scale a Deployment.
//
// The controllers are run in stage.go, the users are played in users.go. world.go watches what comes of it, ledger.go
// counts Pods, and screen.go keeps the picture of package picture on a terminal.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/chapters/19-endpoints/coda/picture"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/log"
)

func main() {
	log.SetLogger(logr.Discard()) // the picture tells what happens
	demo.Main("Coda of chapters 17 to 19: a Deployment's life", story)
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Minute, errors.New("the demo took longer than 30 minutes"))
	defer cancel()
	rows := [][]string{{"", "took", "created", "deleted", "asked for", "fewest ready", "Endpoints written"}}
	err := play(ctx, d, func(ctx context.Context, s *stage) error {
		for _, step := range []struct {
			headline string
			play     func(context.Context) error
		}{
			{"1. The controllers start", s.start},
			{"2. A Deployment of 10 and a Service", s.create},
			{"3. An update", s.update},
			{"4. An update to an image that nobody has", s.updateBadly},
			{"5. Back", s.rollBack},
			{"6. Up to 100, and down to 0", s.scales},
		} {
			if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
				return err
			}
		}
		rows = append(rows, s.rows...)
		return nil
	})
	if err != nil {
		return err
	}
	d.Table("What became of the Pods", rows...)
	d.Print(whatNext)
	return nil
}

const whatNext = `
The controllers have stopped. To go on yourself:

  make controllers       runs them until you press Ctrl-C
  make cluster-status    shows how to point kubectl at the cluster, in another terminal; then, for instance:

    kubectl create deployment web --image=web:1 --replicas=3
    kubectl expose deployment web --port=80
    kubectl set image deployment web web=registry.invalid/web:2
    kubectl rollout status deployment web
    kubectl rollout undo deployment web

  make cluster-down      stops the cluster and removes it
`

func (s *stage) start(ctx context.Context) error {
	s.Say("This replica holds the lease %s. Another one would wait.", leaseName)
	answer, err := s.ready(ctx)
	if err != nil {
		return err
	}
	s.Say("GET /readyz: %s", answer)
	measured, err := s.measured(ctx)
	if err != nil {
		return err
	}
	s.Say("GET /metrics: those of the controllers %s", measured)
	return nil
}

// complete waits for the end of a rollout, and until the Endpoints have all Pods.
func (s *stage) complete(ctx context.Context, what string, replicas int) (picture.Facts, error) {
	return s.world.until(ctx, what, func(f picture.Facts, pods int) bool {
		return f.Complete() && int(f.Wanted) == replicas && pods == replicas && f.Serving == replicas && f.NotReady == 0
	})
}

func (s *stage) create(ctx context.Context) error {
	return s.step("2. creation", func() error {
		if err := errors.Join(s.applyDeployment(ctx, s.Image, "1"), s.applyService(ctx)); err != nil {
			return err
		}
		facts, err := s.complete(ctx, "10 Pods", replicas)
		if err != nil {
			return err
		}
		s.Say("%d Pods are available, and the Endpoints have their %d addresses.", facts.Available, facts.Serving)
		return nil
	})
}

func (s *stage) update(ctx context.Context) error {
	return s.step("3. an update", func() error {
		s.Say("A user changes an environment variable. That makes another template, and so another ReplicaSet.")
		if err := s.applyDeployment(ctx, s.Image, "2"); err != nil {
			return err
		}
		if _, err := s.until(ctx, "revision 2", 2); err != nil {
			return err
		}
		if _, err := s.complete(ctx, "the end of the rollout", replicas); err != nil {
			return err
		}
		s.Say("All Pods are new. The ReplicaSets may ask for a quarter more than 10, rounded up, and a quarter fewer may be ready, rounded down: 13 and 8.")
		return nil
	})
}

// until waits for a revision to be the newest.
func (s *stage) until(ctx context.Context, what string, revision int64) (picture.Facts, error) {
	return s.world.until(ctx, what, func(f picture.Facts, _ int) bool {
		return len(f.Sets) > 0 && f.Sets[len(f.Sets)-1].Revision == revision
	})
}

func (s *stage) updateBadly(ctx context.Context) error {
	return s.step("4. a bad update", func() error {
		s.Say("A user sets the image %s. The Deployment gives up on it after %d s without progress.", noImage, deadline)
		if err := s.applyDeployment(ctx, noImage, "3"); err != nil {
			return err
		}
		facts, err := s.world.until(ctx, "the rollout to be given up", func(f picture.Facts, pods int) bool {
			return f.Stalled == "ProgressDeadlineExceeded" && len(f.Sets) == 2 && f.Sets[1].Revision == 3 && f.Sets[1].Pods == 5 && f.Sets[0].Pods == 8 &&
				pods == 13 && f.Serving == 8 // the new ones may wait for the image, and have no addresses yet
		})
		if err != nil {
			return err
		}
		s.Say("%s: the rollout stands still. %d Pods of the old ReplicaSet serve; the %d new ones are not ready, and get no traffic.",
			facts.Stalled, facts.Serving, facts.Sets[1].Pods)
		return nil
	})
}

func (s *stage) rollBack(ctx context.Context) error {
	return s.step("5. back again", func() error {
		before := s.hashOf(2)
		if err := s.undo(ctx, 2); err != nil {
			return err
		}
		if _, err := s.until(ctx, "revision 4", 4); err != nil {
			return err
		}
		facts, err := s.complete(ctx, "the end of the rollback", replicas)
		if err != nil {
			return err
		}
		if after := facts.Sets[0].Hash; after != before {
			return fmt.Errorf("the rollback has made the ReplicaSet %s, and revision 2 was %s", after, before)
		}
		s.Say("The ReplicaSet of revision 2 is the newest again, as revision 4. Its 8 Pods are the same, and 2 were added.")
		return nil
	})
}

func (s *stage) hashOf(revision int64) string {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, set := range s.world.picture.Facts().Sets {
		if set.Revision == revision {
			return set.Hash
		}
	}
	return ""
}

func (s *stage) scales(ctx context.Context) error {
	for _, to := range []int{100, 0} {
		err := s.step(fmt.Sprintf("6. scaled to %d", to), func() error {
			if err := s.scale(ctx, int32(to)); err != nil {
				return err
			}
			facts, err := s.complete(ctx, fmt.Sprintf("%d Pods", to), to)
			if err != nil {
				return err
			}
			s.Say("%d Pods are available, and the Endpoints have %d addresses.", facts.Available, facts.Serving)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
