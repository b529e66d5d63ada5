// Command naive removes the page of a Website when it finds that the Website was deleted.
package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/chapters/15-finalizer/closing"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 15, naive: gone is gone", closing.Story(run)) }

// run gives the parts to a manager.
func run(ctx context.Context, p website.Process) error {
	m := mini.NewManager(p.Cluster)
	m.Elector = p.Elector
	r := p.Reconciler(m.Client)
	c, err := website.New(m.Cache, r)
	if err != nil {
		return err
	}
	c.Reconciler = &tidy{r}
	m.AddController(c)
	return m.Run(ctx)
}

// tidy makes the controller of Websites clean up after them.
type tidy struct{ *website.Reconciler }

// Reconcile removes the page if the Website was deleted.
func (t *tidy) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	_, err := mini.Get[*example.Website](ctx, t.Client, req)
	if apierrors.IsNotFound(err) {
		return mini.Result{}, t.CDN.Remove(ctx, t.Name, req)
	}
	return t.Reconciler.Reconcile(ctx, req)
}
