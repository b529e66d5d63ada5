// Command naive writes its part of a Service with a merge patch.
package main

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/16-apply/exposing"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 16, naive: a patch has no memory", exposing.Story(run, false))
}

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

// write patches the Service, or creates it if there's none.
func write(
	ctx context.Context, client *mini.CachedClient,
	service *corev1.Service, want mini.Fields,
) error {
	data, err := json.Marshal(want)
	if err != nil {
		return err
	}
	err = client.Patch(ctx, service, types.MergePatchType, data)
	if apierrors.IsNotFound(err) {
		return errors.Join(json.Unmarshal(data, service), client.Create(ctx, service))
	}
	return err
}
