// Package deadline is what both programs of chapter 26 do: a user waits for a rollout, for one that
// hangs, and for another one, as kubectl rollout status does.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/25-scaling/rollouts"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story creates the Deployment web, and changes its template twice.
func Story(deployments rollouts.Controller) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		web, stop, err := rollouts.Begin(ctx, d, deployments)
		if err != nil {
			return err
		}
		defer stop()
		steps := []struct {
			headline string
			play     func() error
		}{
			{"1. Ten Pods; a rollout without progress for 10 s has failed", func() error {
				return web.Create(10, func(web *appsv1.Deployment) {
					web.Spec.ProgressDeadlineSeconds = new(int32(10))
					web.Spec.RevisionHistoryLimit = new(int32(1))
				})
			}},
			{"2. An image that doesn't exist", func() error { return web.Change(rollouts.Image(rollouts.BadImage)) }},
			{"3. A third template, which works", func() error {
				return web.Change(func(web *appsv1.Deployment) {
					web.Spec.Template.Spec.Containers[0].Image = d.Image
					web.Spec.Template.Annotations = map[string]string{"version": "3"}
				})
			}},
		}
		for _, step := range steps {
			err := d.Step(step.headline, func() error {
				return errors.Join(step.play(), wait(ctx, d), report(ctx, d, web))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// wait asks for the status of the rollout until it is over, and for 30 s at most.
func wait(ctx context.Context, d *demo.Demo) error {
	for range 60 {
		web, err := d.Client.AppsV1().Deployments(d.Namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if message, over := rolloutStatus(web); over {
			d.Say("kubectl rollout status: %s", message)
			return nil
		}
		demo.Sleep(ctx, 500*time.Millisecond)
	}
	web, err := d.Client.AppsV1().Deployments(d.Namespace).Get(ctx, "web", metav1.GetOptions{})
	message, _ := rolloutStatus(web)
	d.Say("kubectl rollout status, after 30 s: %s", message)
	return err
}

// rolloutStatus is what kubectl rollout status looks at.
func rolloutStatus(web *appsv1.Deployment) (message string, over bool) {
	status := web.Status
	if status.ObservedGeneration < web.Generation {
		return "waiting for the change to be observed", false
	}
	for _, c := range status.Conditions {
		if c.Reason == "ProgressDeadlineExceeded" {
			return "failed: the deadline has passed", true
		}
	}
	switch {
	case status.UpdatedReplicas < *web.Spec.Replicas:
		return "waiting for new Pods", false
	case status.Replicas > status.UpdatedReplicas:
		return "waiting for old Pods to go", false
	case status.AvailableReplicas < status.UpdatedReplicas:
		return "waiting for new Pods to be available", false
	}
	return "done", true
}

// report says what the status and the history are when all is quiet.
func report(ctx context.Context, d *demo.Demo, user *rollouts.Web) error {
	sets, err := user.Settle()
	if err != nil {
		return err
	}
	web, err := d.Client.AppsV1().Deployments(d.Namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	d.Say("%d Pods are available.", web.Status.AvailableReplicas)
	for _, c := range web.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			d.Say("Progressing is %s: %s.", c.Status, c.Reason)
		}
	}
	var revisions []string
	for _, rs := range sets {
		revisions = append(revisions, fmt.Sprint(mini.Revision(&rs)))
	}
	d.Say("ReplicaSets have the revisions %s.", strings.Join(revisions, ", "))
	return nil
}
