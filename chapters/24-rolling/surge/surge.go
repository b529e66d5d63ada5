// Package surge is what both programs of the chapter do: 20 Pods get a new template.
package surge

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/chapters/23-template/web"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// What a quarter above and below 20 Pods allows.
const (
	Desired      = 20
	MostPods     = 25
	MinAvailable = 15
)

// busy is how long the controller of ReplicaSets takes for each of them.
const busy = 500 * time.Millisecond

// Story creates the Deployment, changes its template, and counts.
func Story(
	reconciler func(*mini.CachedClient) mini.Reconciler,
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		g, stop, err := web.Start(ctx, d, busy, reconciler)
		if err != nil {
			return err
		}
		defer stop()
		err = d.Step("1. The Deployment web wants 20 Pods, give or take 25%", func() error {
			api := d.Client.AppsV1().Deployments(d.Namespace)
			_, err := api.Create(ctx, deployment(d), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			return report(ctx, d, g, "1")
		})
		if err != nil {
			return err
		}
		return d.Step("2. A user changes the template to version 2", func() error {
			demo.Sleep(ctx, 5*time.Second) // until all controllers have nothing to do
			g.Reset()
			if err := web.Change(ctx, d, web.ToVersion("2")); err != nil {
				return err
			}
			began := time.Now()
			if err := report(ctx, d, g, "2"); err != nil {
				return err
			}
			took := time.Since(began).Round(time.Second / 10)
			most, fewest, _ := g.Counted()
			d.Say("The rollout was complete after %s.", took)
			d.Say("On the way there were up to %d Pods: %d are allowed.", most, MostPods)
			d.Say("At least %d were available: %d are promised.", fewest, MinAvailable)
			return nil
		})
	}
}

func deployment(d *demo.Demo) *appsv1.Deployment {
	web := web.Deployment(d, Desired)
	quarter := intstr.FromString("25%")
	web.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: &quarter, MaxUnavailable: &quarter,
		},
	}
	return web
}

func report(ctx context.Context, d *demo.Demo, g *web.Gauge, version string) error {
	if err := g.Wait(ctx, Desired, version); err != nil {
		return err
	}
	d.Say("%d Pods of version %s are available.", Desired, version)
	return nil
}

// ReplicaSet returns a ReplicaSet for the Deployment's template, without Pods.
func ReplicaSet(d *appsv1.Deployment) *appsv1.ReplicaSet {
	const label = appsv1.DefaultDeploymentUniqueLabelKey
	hash := mini.ComputeHash(&d.Spec.Template, nil)
	template, selector := d.Spec.Template.DeepCopy(), d.Spec.Selector.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, label, hash)
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + hash, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(0)), MinReadySeconds: d.Spec.MinReadySeconds,
			Selector: metav1.AddLabelToSelector(selector, label, hash), Template: *template,
		},
	}
}
