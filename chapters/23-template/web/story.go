package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story creates the Deployment, changes its template, and goes back to the old one.
func Story(
	reconciler func(*mini.CachedClient) mini.Reconciler,
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		g, stop, err := Start(ctx, d, 0, reconciler)
		if err != nil {
			return err
		}
		defer stop()
		err = d.Step("1. The Deployment web wants 4 Pods of version 1", func() error {
			api := d.Client.AppsV1().Deployments(d.Namespace)
			_, err := api.Create(ctx, Deployment(d, 4), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			return report(ctx, d, g, "1")
		})
		if err != nil {
			return err
		}
		err = d.Step("2. A user changes the template to version 2", func() error {
			return rollOut(ctx, d, g, "2", ToVersion("2"))
		})
		if err != nil {
			return err
		}
		return d.Step("3. Version 2 has a bug: back to the previous template", func() error {
			return undo(ctx, d, g)
		})
	}
}

// rollOut changes the template, and prints how many Pods served on the way.
func rollOut(
	ctx context.Context, d *demo.Demo, g *Gauge, version string, change func(*appsv1.Deployment),
) error {
	g.Reset()
	if err := Change(ctx, d, change); err != nil {
		return err
	}
	if err := g.Wait(ctx, 4, version); err != nil {
		return err
	}
	_, fewest, dark := g.Counted()
	d.Say("At the lowest point, %d of 4 Pods were available.", fewest)
	d.Say("No Pod was available for %s.", dark.Round(time.Millisecond))
	return report(ctx, d, g, version)
}

// report waits for the Pods, and prints the ReplicaSets.
func report(ctx context.Context, d *demo.Demo, g *Gauge, version string) error {
	if err := g.Wait(ctx, 4, version); err != nil {
		return err
	}
	d.Say("4 Pods of version %s are available.", version)
	sets, err := replicaSets(ctx, d)
	for _, rs := range sets {
		revision := ""
		if n := mini.Revision(&rs); n > 0 {
			revision = fmt.Sprintf(", revision %d", n)
		}
		d.Say("ReplicaSet %s: version %s%s, %d Pods", rs.Name, rs.Spec.Template.Labels[Version], revision,
			*rs.Spec.Replicas)
	}
	return err
}

// undo does what kubectl rollout undo does: it looks for another template among the ReplicaSets, and
// writes it into the Deployment.
func undo(ctx context.Context, d *demo.Demo, g *Gauge) error {
	sets, err := replicaSets(ctx, d)
	if err != nil {
		return err
	}
	for _, rs := range sets {
		if rs.Spec.Template.Labels[Version] == "2" {
			continue
		}
		d.Say("ReplicaSet %s has it.", rs.Name)
		template := rs.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return rollOut(ctx, d, g, template.Labels[Version], func(web *appsv1.Deployment) {
			web.Spec.Template = *template
		})
	}
	d.Say("No ReplicaSet has another template.")
	return nil
}

func replicaSets(ctx context.Context, d *demo.Demo) ([]appsv1.ReplicaSet, error) {
	list, err := d.Client.AppsV1().ReplicaSets(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ReplicaSet) int {
		return strings.Compare(a.Spec.Template.Labels[Version], b.Spec.Template.Labels[Version])
	})
	return list.Items, nil
}
