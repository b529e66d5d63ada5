// Command naive has a controller that repairs bad Websites after they were stored.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

var story = typo.Story(func(*typo.User) (typo.Run, error) { return run, nil }, act)

func main() { demo.Main("Chapter 17, naive: repair what is stored", story) }

// run gives the parts to a manager.
func run(ctx context.Context, p website.Process) error {
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
	second := m.NewController("limits", 1, &limits{m.Client})
	second.Watch(m.Informer(&example.Website{}), mini.EnqueueObject)
	m.AddController(second)
	return m.Run(ctx)
}

// limits makes the limit out of every number that is above it.
type limits struct{ client *mini.CachedClient }

func (l *limits) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	site, err := mini.Get[*example.Website](ctx, l.client, req)
	if err != nil {
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	if typo.Replicas(site) <= typo.Limit {
		return mini.Result{}, nil
	}
	time.Sleep(200 * time.Millisecond) // it notes in another system that it had to act
	site.Spec.Replicas = new(int32(typo.Limit))
	return mini.Result{}, l.client.Update(ctx, site)
}

func act(ctx context.Context, u *typo.User) error {
	u.Ask("what does kubectl answer? And how many Pods are created?")
	err := u.Step("1. shop is to have 3 Pods. The user types 30", func() error {
		return errors.Join(u.Apply(ctx, "shop", new(int32(30))), u.Show(ctx, "shop", 30))
	})
	if err != nil {
		return err
	}
	u.Ask("how many Pods have been created now?")
	return u.Step("2. A pipeline applies the same file again", func() error {
		return errors.Join(u.Apply(ctx, "shop", new(int32(30))), u.Show(ctx, "shop", 55))
	})
}
