package rollouts

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story is what the programs of chapter 25 do: a rollout hangs at a bad image, and a user scales
// the Deployment from 10 to 20 and then takes the image back.
func Story(deployments Controller) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		web, stop, err := Begin(ctx, d, deployments)
		if err != nil {
			return err
		}
		defer stop()
		steps := []struct {
			headline string
			play     func() error
		}{
			{"1. The Deployment web wants ten Pods", func() error { return web.Create(10) }},
			{"2. An image that doesn't exist", func() error { return web.Change(Image(BadImage)) }},
			{"3. A user scales from 10 to 20", func() error {
				return web.Change(func(web *appsv1.Deployment) { web.Spec.Replicas = new(int32(20)) })
			}},
			{"4. kubectl rollout undo", web.undo},
		}
		for _, step := range steps {
			err := d.Step(step.headline, func() error {
				return errors.Join(step.play(), web.report())
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// report says how many Pods the ReplicaSets have when all is quiet.
func (w *Web) report() error {
	sets, err := w.Settle()
	for _, rs := range sets {
		kind := "good image"
		if rs.Spec.Template.Spec.Containers[0].Image == BadImage {
			kind = "bad image"
		}
		w.d.Say("Revision %d, %s, %s: %d Pods, %d available.",
			mini.Revision(&rs), rs.Name, kind, rs.Status.Replicas, rs.Status.AvailableReplicas)
	}
	return err
}

// undo does what kubectl rollout undo does: it writes the template of the last revision.
func (w *Web) undo() error {
	sets, err := w.Sets()
	if err != nil {
		return err
	}
	if len(sets) < 2 {
		return errors.New("there is no revision before this one")
	}
	template := sets[len(sets)-2].Spec.Template
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return w.Change(func(web *appsv1.Deployment) { web.Spec.Template = template })
}
