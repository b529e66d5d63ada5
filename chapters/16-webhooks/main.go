// Command 16-webhooks lets a real API server ask a program before it stores an object: a defaulter fills in, a
// validator refuses and warns, and a converter turns one version into another, all over TLS. Then the CA is renewed
// while users write.
//
// The two versions are in stall.go, the rules in rules.go, and the manifests in market.go. stage.go runs the
// manager, address.go finds out at which address the API server reaches it, and recorded.go puts the decisions into the
// timeline.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/log"
)

func main() {
	log.SetLogger(logr.Discard()) // the demo tells what happens
	demo.Main("Chapter 16: webhooks", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	s, err := newStage(ctx, d)
	if err != nil {
		return err
	}
	end := s.start(ctx)
	defer func() { err = errors.Join(err, s.leave(ctx), end()) }()
	if err := s.install(ctx, s.address); err != nil {
		return err
	}
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. A certificate that the API server does not trust", s.untrusted},
		{"2. The CA is announced", s.announced},
		{"3. What is left out is filled in", s.defaults},
		{"4. Refusals and warnings", s.validates},
		{"5. Two versions", s.converts},
		{"6. A new CA, while users write", s.renews},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	d.Table("What became of the stalls", []string{"", "how many"},
		[]string{"stored", number(s.counts.stored)},
		[]string{"refused by the validator", number(s.counts.refused)},
		[]string{"refused because of the certificate", number(s.counts.untrusted)},
		[]string{"tried during the renewal", "100 or more"},
		[]string{"of these, failed", number(s.counts.failed)})
	return nil
}

// leave removes the market, even after an interruption.
func (s *stage) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return s.uninstall(ctx)
}

func (s *stage) untrusted(ctx context.Context) error {
	s.Say("The webhook server runs, and the API server is told where. A user creates the stall web.")
	var answer error
	soon, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("it took longer than 30 seconds"))
	defer cancel()
	err := s.until(soon, "the API server to call the webhook", func(ctx context.Context) error {
		answer = s.users.Create(ctx, s.stall("web", "plums", 0, 0), client.DryRunAll)
		if answer == nil || !strings.Contains(answer.Error(), "certificate") {
			return fmt.Errorf("the webhook was not called: %w", answer)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if answer = s.users.Create(ctx, s.stall("web", "plums", 0, 0)); answer == nil {
		return errors.New("the stall was stored, though the API server cannot have asked")
	}
	s.counts.untrusted++
	s.Say("Error from server (%s): %s", reason(answer), answer)
	return nil
}

// announced adds the CA to the manager. It writes its certificate into the configurations, and the API server reads them when
// it gets to it.
func (s *stage) announced(ctx context.Context) error {
	if err := s.manager.Add(s.ca); err != nil {
		return err
	}
	s.Say("The CA writes its certificate into the field caBundle of both configurations and of the definition.")
	err := errors.Join(
		s.until(ctx, "the defaulter", func(ctx context.Context) error {
			return s.users.Create(ctx, s.stall("probe", "plums", 0, 0), client.DryRunAll)
		}),
		s.until(ctx, "the validator", func(ctx context.Context) error {
			return onlyIf(refused, s.users.Create(ctx, s.stall("probe", "plums", 9, 9), client.DryRunAll))
		}),
		s.until(ctx, "the conversion", func(ctx context.Context) error {
			return s.users.Create(ctx, s.stallV1("probe", "plums", "9-17"), client.DryRunAll)
		}))
	if err == nil {
		s.said.take()
		s.Say("Now the API server calls all three webhooks.")
	}
	return err
}

// onlyIf returns nil for an error of the wanted kind.
func onlyIf(wanted func(error) bool, err error) error {
	if wanted(err) {
		return nil
	}
	return fmt.Errorf("the answer was: %w", err)
}

func (s *stage) defaults(ctx context.Context) error {
	s.Say("A user creates the stall web, and says only what is sold there: plums.")
	web := s.stall("web", "plums", 0, 0)
	if err := s.apply(ctx, s.create, web); err != nil {
		return err
	}
	s.Say("What is stored: %+v", web.Spec)
	return nil
}

func (s *stage) validates(ctx context.Context) error {
	s.Say("A user creates a stall that closes before it opens.")
	if err := s.apply(ctx, s.create, s.stall("early", "apples", 18, 8)); err != nil {
		return err
	}
	s.Say("Another one is open for a long time.")
	if err := s.apply(ctx, s.create, s.stall("late", "pears", 6, 22)); err != nil {
		return err
	}
	s.Say("The stall web is to sell figs.")
	web := s.stall("web", "", 0, 0)
	if err := s.users.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
		return err
	}
	web.Spec.Fruit = "figs"
	return s.apply(ctx, s.update, web)
}

func (s *stage) converts(ctx context.Context) error {
	s.Say("A user has manifests of version v1, and creates the stall old with the hours 9-17.")
	old := s.stallV1("old", "quinces", "9-17")
	if err := s.apply(ctx, s.create, old); err != nil {
		return err
	}
	v2 := s.stall("old", "", 0, 0)
	if err := s.users.Get(ctx, client.ObjectKeyFromObject(v2), v2); err != nil {
		return err
	}
	s.Say("Read as v2: %+v", v2.Spec)
	web := s.stallV1("web", "", "")
	if err := s.users.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
		return err
	}
	s.Say("The stall web, read as v1: %+v", web.Spec)
	s.Say("The rules are for v2. A user changes the stall old, as v1, to the hours 17-9.")
	old.Spec.Hours = "17-9"
	return s.apply(ctx, s.update, old)
}

// renews has users write all the time while the CA and the certificate are renewed. They make dry runs, which
// take the same way through the webhooks and leave nothing behind.
func (s *stage) renews(ctx context.Context) error {
	certificates := s.served.count()
	renewed, stop := context.WithCancel(ctx)
	defer stop()
	var (
		users sync.WaitGroup
		mu    sync.Mutex // guards tried and failures
		tried int
		fails []error
	)
	for i := range 3 {
		users.Go(func() {
			for after := 0; after < 20; { // and 20 more when the new CA signs
				if renewed.Err() != nil {
					after++
				}
				stall := client.Object(s.stall("busy", "plums", 0, 0))
				if i == 0 {
					stall = s.stallV1("busy", "plums", "9-17")
				}
				err := s.users.Create(ctx, stall, client.DryRunAll)
				mu.Lock()
				tried++
				if err != nil {
					fails = append(fails, err)
				}
				mu.Unlock()
			}
		})
	}
	s.Say("Three users write all the time. A new CA is announced beside the old one, and signs ten seconds later.")
	err := s.ca.Renew(ctx)
	stop()
	users.Wait()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return errors.Join(append(fails, err)...)
	}
	s.counts.failed = len(fails)
	if tried < 100 {
		return fmt.Errorf("the users have written %d times, which shows nothing", tried)
	}
	s.Say("Certificates that were served before: %d, and meanwhile: %d more.", certificates, s.served.count()-certificates)
	s.Say("The API server trusts %d CAs now. Requests that failed: %d.", strings.Count(string(s.ca.Bundle()), "BEGIN"), len(fails))
	return errors.Join(fails...)
}

func (s *stage) create(ctx context.Context, stall client.Object) error {
	return s.users.Create(ctx, stall)
}
func (s *stage) update(ctx context.Context, stall client.Object) error {
	return s.users.Update(ctx, stall)
}

// reason is what kubectl writes in brackets.
func reason(err error) string { return string(apierrors.ReasonForError(err)) }
