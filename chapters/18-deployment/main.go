// Command 18-deployment rolls a Deployment out, badly and well, scales it in the middle, pauses it, and rolls it back.
//
// stage.go runs the controllers of Deployments and of ReplicaSets and waits for them, users.go plays the users, and
// recorded.go puts what happens to ReplicaSets into the timeline.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	log.SetLogger(logr.Discard()) // the timeline has what the caches log
	demo.Main("Chapter 18: Deployment", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("the demo took longer than 3 minutes"))
	defer cancel()
	d.Show(sizes)
	s, err := newStage(d)
	if err != nil {
		return err
	}
	s.start(ctx)
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. A first rollout", s.begins},
		{"2. Another template, one Pod at a time", s.rollsOut},
		{"3. A bad template", s.getsStuck},
		{"4. Back", s.goesBack},
		{"5. Scaled in the middle of a bad rollout", s.scalesInTheMiddle},
		{"6. Two changes and one rollout", s.pauses},
		{"7. Never two versions at a time", s.recreates},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	sets, err := s.sets(ctx)
	if err != nil {
		return err
	}
	d.Table("What was needed", []string{"templates that were rolled out", "ReplicaSets that were made", "ReplicaSets that are left"},
		[]string{s.web.Annotations["deployment.kubernetes.io/revision"], strconv.Itoa(s.requests.made()), strconv.Itoa(len(sets))})
	return s.remove(ctx)
}

// sizes is what the timeline shows.
func sizes(e trace.Event) bool { return e.Kind == trace.Note && e.Layer == "rollout" }

func (s *stage) begins(ctx context.Context) error {
	if err := errors.Join(s.create(ctx, 3), s.completes(ctx)); err != nil {
		return err
	}
	s.Say("One ReplicaSet, with all Pods: there is nobody to be careful about.")
	return nil
}

func (s *stage) rollsOut(ctx context.Context) error {
	s.Say("maxSurge is 1 and maxUnavailable 0. A user changes the template.")
	if err := errors.Join(s.change(ctx, version("2")), s.completes(ctx)); err != nil {
		return err
	}
	s.Say("One comes; when it serves, one goes.")
	return nil
}

func (s *stage) getsStuck(ctx context.Context) error {
	s.Say("A user asks for a node that does not exist. The new Pod stays Pending.")
	if err := s.change(ctx, version("3"), bad(true)); err != nil {
		return err
	}
	condition, err := s.reports(ctx, "ProgressDeadlineExceeded")
	if err != nil {
		return err
	}
	s.Say("After the two seconds that this Deployment allows: %s=%s, %s.", condition.Type, condition.Status, condition.Reason)
	s.Say("Available: %d of %d.", s.web.Status.AvailableReplicas, *s.web.Spec.Replicas)
	return nil
}

func (s *stage) goesBack(ctx context.Context) error {
	s.Say("A user runs kubectl rollout undo, which writes the template of revision 2 into the Deployment.")
	if err := errors.Join(s.change(ctx, version("2"), bad(false)), s.completes(ctx)); err != nil {
		return err
	}
	s.Say("No ReplicaSet was made: the old one was found by its template, and is revision %s now.", s.web.Annotations["deployment.kubernetes.io/revision"])
	return nil
}

func (s *stage) scalesInTheMiddle(ctx context.Context) error {
	s.Say("From now on, maxSurge is 2 and maxUnavailable 1. The Deployment gets 6 Pods.")
	s.Show(nothing)
	err := errors.Join(s.change(ctx, limits(2, 1), replicas(6)), s.completes(ctx))
	s.Show(sizes)
	if err != nil {
		return err
	}
	s.Say("A bad template again:")
	if err := errors.Join(s.change(ctx, version("4"), bad(true)), s.hasSizes(ctx, 5, 3)); err != nil {
		return err
	}
	s.Say("An autoscaler asks for 12:")
	if err := errors.Join(s.change(ctx, replicas(12)), s.hasSizes(ctx, 9, 5)); err != nil {
		return err
	}
	s.Say("5 of 8 and 9 of 14 are nearly the same share. Of the 6 that were added, the bad template got 2.")
	s.Say("The user goes back. How many steps that takes depends on how fast Pods become ready, so the timeline leaves it out.")
	s.Show(nothing)
	defer s.Show(sizes)
	return errors.Join(s.change(ctx, version("2"), bad(false)), s.completes(ctx), s.change(ctx, replicas(3)), s.completes(ctx))
}

func (s *stage) pauses(ctx context.Context) error {
	s.Say("A user pauses the Deployment, and changes the template twice.")
	if err := errors.Join(s.change(ctx, pause(true)), s.change(ctx, version("5")), s.change(ctx, version("6"))); err != nil {
		return err
	}
	condition, err := s.reports(ctx, "DeploymentPaused")
	if err != nil {
		return err
	}
	s.Say("%s=%s, %s. The user resumes it.", condition.Type, condition.Status, condition.Reason)
	before := s.requests.made()
	s.Show(nothing)
	defer s.Show(sizes)
	if err := errors.Join(s.change(ctx, pause(false)), s.completes(ctx)); err != nil {
		return err
	}
	s.Say("ReplicaSets made since then: %d.", s.requests.made()-before)
	return nil
}

func (s *stage) recreates(ctx context.Context) error {
	s.Say("The strategy is Recreate now. The user changes the template.")
	if err := errors.Join(s.change(ctx, recreate, version("7")), s.completes(ctx)); err != nil {
		return err
	}
	s.Say("Nobody came before the last one was gone.")
	return nil
}

func nothing(trace.Event) bool { return false }

// progress is the condition that says how far a rollout has come.
func progress(d *appsv1.Deployment) appsv1.DeploymentCondition {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing {
			return condition
		}
	}
	return appsv1.DeploymentCondition{}
}
