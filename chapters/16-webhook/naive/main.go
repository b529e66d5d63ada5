// Command naive has a controller that repairs bad Websites after they were stored.
package main

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/chapters/16-webhook/typo"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

var story = typo.Story(add, act)

func main() { demo.Main("Chapter 16, naive: repair what is stored", story) }

func add(_ *typo.User, m *mini.Manager) error {
	c := mini.NewController("limits", &limits{m.Client})
	sites, err := m.Cache.Informer(&example.Website{})
	if err == nil {
		c.Watch(sites, mini.EnqueueObject)
		m.AddController(c)
	}
	return err
}

// limits makes the limit out of every number that is above it.
type limits struct{ client *mini.CachedClient }

func (l *limits) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	site, err := mini.Get[*example.Website](ctx, l.client, req)
	if apierrors.IsNotFound(err) {
		return mini.Result{}, nil
	}
	if err != nil || typo.Replicas(site) <= typo.Limit {
		return mini.Result{}, err
	}
	time.Sleep(50 * time.Millisecond) // it notes in another system that it had to act
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
