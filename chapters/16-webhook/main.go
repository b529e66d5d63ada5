// Command 16-webhook has the API server ask before it stores a Website.
package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/loopwright/loopwright/chapters/16-webhook/typo"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 16: webhooks", story) }

func story(ctx context.Context, d *demo.Demo) error {
	r := &registration{}
	play := typo.Story(
		func(u *typo.User) (typo.Run, error) {
			w, err := r.listen(u)
			return func(ctx context.Context, p website.Process) error {
				return run(ctx, p, w)
			}, err
		},
		func(ctx context.Context, u *typo.User) error {
			return errors.Join(act(ctx, u, r), r.remove(ctx))
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
	w.Handle("/default", mini.Default(fill))
	w.Handle("/limit", mini.Validate(limit))
	w.Handle("/deployments", mini.Validate(
		func(_ context.Context, _, now *appsv1.Deployment) error {
			return atMost(typo.Limit, *now.Spec.Replicas)
		}))
	w.Handle("/scales", mini.Validate(
		func(_ context.Context, _, now *autoscalingv1.Scale) error {
			return atMost(typo.Limit, now.Spec.Replicas)
		}))
	return w
}

// fill gives a Website one Pod if its user does not say how many.
func fill(_ context.Context, site *example.Website) error {
	if site.Spec.Replicas == nil {
		site.Spec.Replicas = new(int32(1))
	}
	return nil
}

// limit refuses a Website that wants too many Pods, unless it wanted as many before.
func limit(_ context.Context, old, site *example.Website) error {
	if old != nil && typo.Replicas(site) <= typo.Replicas(old) {
		return nil
	}
	return atMost(typo.Limit, typo.Replicas(site))
}

func atMost(limit, replicas int32) error {
	if replicas > limit {
		return fmt.Errorf("want at most %d replicas, got %d", limit, replicas)
	}
	return nil
}

// act is what users do.
func act(ctx context.Context, u *typo.User, r *registration) error {
	steps := []struct {
		ask, title string
		play       func() error
	}{
		{"", "1. shop is to have 3 Pods. The user types 30", func() error {
			if err := r.register(ctx); err != nil {
				return err
			}
			return u.Apply(ctx, "shop", new(int32(30)))
		}},
		{"", "2. The user reads the answer, and corrects the file", func() error {
			return errors.Join(u.Apply(ctx, "shop", new(int32(3))), u.Show(ctx, "shop", 3))
		}},
		{"how many Pods does blog get?",
			"3. blog does not say how many. Its file is applied twice", func() error {
				return errors.Join(
					u.Apply(ctx, "blog", nil), u.Show(ctx, "blog", 4), u.Apply(ctx, "blog", nil))
			}},
		{"a Deployment may have five. What happens?",
			"4. A user scales the Deployment web to 30", func() error {
				return errors.Join(r.deploy(ctx), u.Answer("deployment/web scaled", r.scale(ctx, 30)))
			}},
		{"", "5. The webhook is asked about deployments/scale, too", func() error {
			err := r.coverScales(ctx)
			return errors.Join(err, u.Answer("deployment/web scaled", r.scale(ctx, 40)))
		}},
		{"nothing answers for the webhook any more. What does kubectl print?",
			"6. The program stops. shop is to have 4 Pods", func() error {
				return errors.Join(u.Stop(), u.Apply(ctx, "shop", new(int32(4))))
			}},
		{"",
			"7. The failure policy becomes Ignore. The user types 30 again", func() error {
				return errors.Join(r.ignoreFailures(ctx), u.Apply(ctx, "shop", new(int32(30))))
			}},
	}
	for _, step := range steps {
		u.Ask(step.ask)
		if err := u.Step(step.title, step.play); err != nil {
			return err
		}
	}
	return nil
}
