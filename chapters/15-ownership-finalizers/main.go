// Command 15-ownership-finalizers gives Deployments a Service, an Ingress and a DNS record, keeps them
// right, and removes them with the Deployment: two by owner references, one by a finalizer.
//
// The reconciler is in exposer.go, the DNS server in dns.go. stage.go starts and stops the controller,
// users.go plays the users, and recorded.go puts the controller's writes into the timeline.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	log.SetLogger(logr.Discard()) // the timeline has what the caches log
	demo.Main("Chapter 15: ownership and finalizers", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	d.Show(work)
	s, err := newStage(d)
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. A Deployment becomes reachable", s.exposes},
		{"2. Repairs", s.repairs},
		{"3. A name that is taken", s.waitsForAName},
		{"4. A deletion, and a DNS server that is down", s.deletes},
		{"5. The same name again", s.deletesAndMakesAgain},
		{"6. A deletion while the controller is not running", s.deletesWhileAway},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	made, left := s.dns.counts()
	services, ingresses, err := s.left(ctx)
	if err != nil {
		return err
	}
	d.Table("What the Deployments have left behind", []string{"", "made", "left"},
		[]string{"DNS records", strconv.Itoa(made), strconv.Itoa(left)},
		[]string{"Services", "3 or more", strconv.Itoa(services)},
		[]string{"Ingresses", "3 or more", strconv.Itoa(ingresses)})
	return nil
}

// work is what the timeline shows: what was written, in the cluster and outside, and what did not succeed.
func work(e trace.Event) bool {
	unfinished := e.Kind == trace.ReconcileEnd && (e.Outcome == trace.Failed || e.Outcome == trace.Waiting)
	return e.Kind == trace.Write || e.Layer == "dns" || unfinished
}

func nothing(trace.Event) bool { return false }

func (s *stage) exposes(ctx context.Context) error {
	if err := errors.Join(s.deploy(ctx, "web"), s.wrote(ctx, "patch of the status", "Service", "web")); err != nil {
		return err
	}
	s.Say("First the finalizer, then the record. Service and Ingress have an owner reference instead.")
	s.Say("The user adds an annotation to the Deployment. The controller looks, and finds nothing to do.")
	before := s.writes
	if err := s.annotate(ctx, "web"); err != nil {
		return err
	}
	s.Say("Writes since then: %d.", s.writes-before)
	return nil
}

func (s *stage) repairs(ctx context.Context) error {
	s.Say("A user deletes the Service.")
	if err := errors.Join(s.deleteService(ctx, "web"), s.wrote(ctx, "patch of the status", "Service", "web")); err != nil {
		return err
	}
	s.Say("A user writes another host into the Ingress.")
	return errors.Join(s.changeIngress(ctx, "web"), s.wrote(ctx, "update", "Ingress", "web"))
}

func (s *stage) waitsForAName(ctx context.Context) error {
	s.Say("There is a Service that is named fruit, and something else controls it. Then a user makes the Deployment fruit.")
	waits := func(e trace.Event) bool { return e.Kind == trace.ReconcileEnd && e.Outcome == trace.Waiting }
	seen := 0 // the controller looks twice before it waits; changed by the timeline alone
	s.Show(func(e trace.Event) bool {
		if waits(e) {
			seen++
			return seen == 1
		}
		return work(e)
	})
	defer s.Show(work)
	if err := errors.Join(s.occupy(ctx, "fruit"), s.deploy(ctx, "fruit"), s.find(ctx, "the controller to wait", waits)); err != nil {
		return err
	}
	s.Say("Both would change that Service forever. So the controller leaves it alone, and waits for its end. The user deletes it:")
	return errors.Join(s.deleteService(ctx, "fruit"), s.wrote(ctx, "patch of the status", "Service", "fruit"))
}

func (s *stage) deletes(ctx context.Context) error {
	s.dns.setDown(true)
	s.Say("A user deletes the Deployment web.")
	failed := func(e trace.Event) bool { return e.Kind == trace.ReconcileEnd && e.Outcome == trace.Failed }
	seen := 0 // changed by the timeline alone
	s.Show(func(e trace.Event) bool {
		if failed(e) {
			seen++
			return seen == 1
		}
		return work(e)
	})
	defer s.Show(work)
	if err := errors.Join(s.remove(ctx, "web"), s.find(ctx, "a cleanup that fails", failed), s.stays(ctx, "web")); err != nil {
		return err
	}
	s.Say("The Deployment is still there, and so are its Service and its Ingress. The controller tries again, with a growing delay.")
	s.Say("The DNS server is back.")
	s.dns.setDown(false)
	if err := errors.Join(s.wrote(ctx, "patch", "Deployment", "web"), s.collected(ctx, "web")); err != nil {
		return err
	}
	s.Say("The Deployment is gone, and the garbage collector has removed its Service and its Ingress.")
	return nil
}

func (s *stage) deletesAndMakesAgain(ctx context.Context) error {
	s.Say("A user deletes the Deployment fruit, and makes it again at once. What follows depends on who is faster,")
	s.Say("the controller or the garbage collector, so the timeline leaves it out.")
	s.Show(nothing)
	defer s.Show(work)
	old, err := s.deployment(ctx, "fruit")
	if err != nil {
		return err
	}
	if err := errors.Join(s.remove(ctx, "fruit"), s.gone(ctx, "fruit"), s.deploy(ctx, "fruit"), s.handedOver(ctx, "fruit", old.UID), s.end()); err != nil {
		return err
	}
	s.Say("In the end, Service and Ingress belong to the new Deployment, and have its UID.")
	s.Say("The record of the old one is gone: %t. The new one has its own: %t.", !s.dns.has(old), s.published(ctx, "fruit"))
	return nil
}

func (s *stage) deletesWhileAway(ctx context.Context) error {
	s.Say("The controller is stopped. A user deletes the Deployment fruit.")
	if err := errors.Join(s.remove(ctx, "fruit"), s.stays(ctx, "fruit")); err != nil {
		return err
	}
	s.Say("The Deployment stays, because of its finalizer: nobody has removed the record. The controller starts again.")
	if err := errors.Join(s.start(ctx), s.wrote(ctx, "patch", "Deployment", "fruit"), s.collected(ctx, "fruit")); err != nil {
		return err
	}
	s.Say("No event was needed: the Deployment is in the first list, and it says that it is being deleted.")
	return nil
}
