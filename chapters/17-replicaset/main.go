// Command 17-replicaset lets the ReplicaSet controller make, delete, adopt and release Pods, and run into a quota.
//
// stage.go runs the controller and waits for it, users.go plays the users, and recorded.go puts the controller's
// requests into the timeline.
package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	log.SetLogger(logr.Discard()) // the timeline has what the caches log
	demo.Main("Chapter 17: ReplicaSet", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	d.Show(podWrites)
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
		{"1. Three Pods", s.makes},
		{"2. From 3 to 10, with a slow start", s.scalesUp},
		{"3. From 10 to 2: which Pods go?", s.scalesDown},
		{"4. Whose is a Pod?", s.releasesAndAdopts},
		{"5. A quota", s.runsIntoAQuota},
		{"6. A second controller", s.startsAnother},
		{"7. The ReplicaSet is replaced, and its Pods stay", s.isReplaced},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	if err := s.gone(ctx, metav1.DeletePropagationBackground); err != nil {
		return err
	}
	left, err := s.pods(ctx)
	if err != nil {
		return err
	}
	counted := s.requests.counts()
	d.Table("What the controller has done with Pods", []string{"created", "deleted", "adopted or released", "left, when the ReplicaSet was deleted"},
		[]string{strconv.Itoa(counted["create"]), strconv.Itoa(counted["delete"]), strconv.Itoa(counted["patch"]), strconv.Itoa(len(left))})
	return nil
}

// podWrites is what the timeline shows. How often the status is written depends on the nodes.
func podWrites(e trace.Event) bool { return e.Kind == trace.Write && e.Object == "Pod" }

func (s *stage) makes(ctx context.Context) error {
	if err := errors.Join(s.create(ctx, 3), s.becomes(ctx, 3)); err != nil {
		return err
	}
	s.Say("The first alone, then the other two at a time. All three are ready now.")
	return nil
}

func (s *stage) scalesUp(ctx context.Context) error {
	if err := errors.Join(s.scale(ctx, 10), s.becomes(ctx, 10)); err != nil {
		return err
	}
	s.Say("1, 2 and 4 at a time.")
	return nil
}

func (s *stage) scalesDown(ctx context.Context) error {
	s.Say("A user gives two of the Pods a deletion cost of 100.")
	dear, err := s.makeDear(ctx, 2)
	if err != nil {
		return err
	}
	if err := errors.Join(s.scale(ctx, 2), s.becomes(ctx, 2)); err != nil {
		return err
	}
	left, err := s.pods(ctx)
	if err != nil {
		return err
	}
	s.Say("Left are these two: %t.", sameNames(dear, left))
	return nil
}

func (s *stage) releasesAndAdopts(ctx context.Context) error {
	s.Say("A user gives a Pod the label app=debug.")
	debugged, err := s.relabel(ctx, "debug", 3, "create")
	if err != nil {
		return err
	}
	s.Say("It has lost its controller and runs on: %t. Another one was made in its place.", len(debugged.OwnerReferences) == 0)
	s.Say("The user gives it the label app=web again.")
	if _, err := s.relabel(ctx, "web", 2, "delete"); err != nil {
		return err
	}
	s.Say("It was adopted, and one of three was too many.")
	return nil
}

func (s *stage) runsIntoAQuota(ctx context.Context) error {
	s.Say("A quota allows three Pods in this namespace. The user asks for fifty.")
	refused := 0 // changed by the timeline alone
	s.Show(func(e trace.Event) bool {
		if e.Outcome == trace.Failed {
			refused++
		}
		return podWrites(e) && (e.Outcome != trace.Failed || refused == 1)
	})
	defer s.Show(podWrites)
	if err := errors.Join(s.limit(ctx, 3), s.scale(ctx, 50)); err != nil {
		return err
	}
	condition, err := s.fails(ctx)
	if err != nil {
		return err
	}
	s.Say("The status says: %s=%s, %s.", condition.Type, condition.Status, condition.Reason)
	s.Say("Requests that were refused until now: fewer than ten, %t.", s.requests.counts()["refused create"] < 10)
	s.Say("The user asks for three.")
	if err := errors.Join(s.scale(ctx, 3), s.becomes(ctx, 3)); err != nil {
		return err
	}
	s.Say("The status has no condition any more: %t.", len(s.set.Status.Conditions) == 0)
	return s.lift(ctx)
}

func (s *stage) startsAnother(ctx context.Context) error {
	s.Say("Somebody starts the controller in another program, without a leader election. It ends with this error:")
	err := s.another(ctx)
	if err == nil {
		return errors.New("two controllers run")
	}
	_, reason, _ := strings.Cut(err.Error(), "probe of the replicaset-controller: ")
	for line := range strings.SplitSeq(strings.NewReplacer(": ", ":\n", ". ", ".\n", ", so ", ",\nso ", ", and ", ",\nand ").Replace(reason), "\n") {
		s.Say("  %s", line)
	}
	return nil
}

func (s *stage) isReplaced(ctx context.Context) error {
	s.Say("A user deletes the ReplicaSet with --cascade=orphan, and makes it again.")
	before, err := s.pods(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.gone(ctx, metav1.DeletePropagationOrphan), s.create(ctx, 3), s.becomes(ctx, 3)); err != nil {
		return err
	}
	after, err := s.pods(ctx)
	if err != nil {
		return err
	}
	s.Say("The new one has the same Pods: %t. None was made, and none was deleted.", sameNames(before, after))
	s.Say("The user deletes it for good. The garbage collector deletes its Pods, and not the controller.")
	return nil
}
