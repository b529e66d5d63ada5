// Command 17-webhook has the API server ask before it stores a Website.
package main

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/loopwright/loopwright/chapters/17-webhook/registration"
	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 17: webhooks", story) }

func story(ctx context.Context, d *demo.Demo) error {
	s := &stage{}
	play := typo.Story(
		func(u *typo.User) (typo.Run, error) {
			w := newWebhook()
			r, err := registration.New(u, w)
			s.User, s.Registration = u, r
			return func(ctx context.Context, p website.Process) error {
				return run(ctx, p, w)
			}, err
		},
		func(ctx context.Context, _ *typo.User) error {
			return errors.Join(act(ctx, s), s.Remove(ctx))
		})
	return play(ctx, d)
}

// run gives the parts to a manager.
func run(ctx context.Context, p website.Process, w *mini.Webhook) error {
	m := mini.NewManager(p.Cluster)
	m.Elector = p.Elector
	r := p.Reconciler(m.Client)
	c, err := website.New(m.Cache, r)
	if err != nil {
		return err
	}
	c.Reconciler = &mini.Finalizing[*example.Website]{
		Client: m.Client, Finalizer: "web.example.com/cdn",
		Cleanup: r.Unpublish, Next: r,
	}
	m.AddController(c)
	m.AddServer(w)
	return m.Run(ctx)
}

// newWebhook returns the webhook of Websites, and of Deployments and what scales them.
func newWebhook() *mini.Webhook {
	w := &mini.Webhook{}
	w.Handle("/limit", mini.Validate(typo.Check))
	w.Handle("/deployments", mini.Validate(
		func(_ context.Context, _, now *appsv1.Deployment) error {
			return typo.AtMostLimit(*now.Spec.Replicas)
		}))
	w.Handle("/scales", mini.Validate(
		func(_ context.Context, _, now *autoscalingv1.Scale) error {
			return typo.AtMostLimit(now.Spec.Replicas)
		}))
	return w
}

// act is what users do.
func act(ctx context.Context, s *stage) error {
	steps := []struct {
		ask, title string
		play       func() error
	}{
		{"", "1. shop is to have 3 Pods. The user types 30", func() error {
			return errors.Join(s.register(ctx), s.Apply(ctx, "shop", new(int32(30))))
		}},
		{"", "2. The user reads the answer, and corrects the file", func() error {
			return errors.Join(s.Apply(ctx, "shop", new(int32(3))), s.Show(ctx, "shop", 3))
		}},
		{"a Deployment may have five. What happens?",
			"3. A user scales the Deployment web to 30", func() error {
				return errors.Join(s.deploy(ctx), s.Answer("deployment/web scaled", s.scale(ctx, 30)))
			}},
		{"", "4. The webhook is asked about deployments/scale, too", func() error {
			err := s.coverScales(ctx)
			return errors.Join(err, s.Answer("deployment/web scaled", s.scale(ctx, 40)))
		}},
		{"nothing answers for the webhook any more. What does kubectl print?",
			"5. The program stops. shop is to have 4 Pods", func() error {
				return errors.Join(s.Stop(), s.Apply(ctx, "shop", new(int32(4))))
			}},
		{"",
			"6. The failure policy becomes Ignore. The user types 30 again", func() error {
				return errors.Join(s.ignoreFailures(ctx), s.Apply(ctx, "shop", new(int32(30))))
			}},
	}
	for _, step := range steps {
		s.Ask(step.ask)
		if err := s.Step(step.title, step.play); err != nil {
			return err
		}
	}
	return nil
}
