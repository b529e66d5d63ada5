// Command 16-apply applies the fields of a Service that the Website controller means.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/16-apply/exposing"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 16: server-side apply", exposing.Story(run, true)) }

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
	m.AddController(exposing.NewController(m, write))
	return m.Run(ctx)
}

// write applies what we want of the Service, unless it's there already.
func write(
	ctx context.Context, client *mini.CachedClient,
	service *corev1.Service, want mini.Fields,
) error {
	owner := mini.FieldOwner{Name: "websites", Force: true}
	if mini.HasApplied(service, owner.Name, want) {
		return nil
	}
	return client.Apply(ctx, service, want, owner)
}
