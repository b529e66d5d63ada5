// Package alone keeps mini's controllers from working beside others of the same kinds, with the
// library's probe.
//
//	program -> Story or Check -> controllers.Probe -> a refusal, or the program's controllers
//
// Two controllers for one kind fight: a chapter's rolling update had 28 Pods where 25 are allowed,
// because `make mini` ran beside it. mini itself has no probe, so that its files stay short; its
// programs call this package.
package alone

import (
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/garbagecollector"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/client"
)

var labels = map[string]string{"loopwright.dev/probe": "mini"}

// probes are those of the library, and some for kinds that only mini has. The others have none: a
// controller doesn't answer a suspended CronJob, and namespaces and nodes would be real ones.
var probes = []controllers.Probe{
	replicaset.Probe, deployment.Probe, endpoints.Probe, garbagecollector.Probe,
	{
		Original: "daemonset-controller", Optional: true,
		Object: &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: onNoNode(),
		}},
		IsAnswered: func(o client.Object) bool {
			return o.(*appsv1.DaemonSet).Status.ObservedGeneration > 0
		},
	},
	{
		Original: "statefulset-controller", Optional: true,
		Object: &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: onNoNode(),
		}},
		IsAnswered: func(o client.Object) bool {
			return o.(*appsv1.StatefulSet).Status.ObservedGeneration > 0
		},
	},
	{
		Original: "job-controller", Optional: true,
		Object: &batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true), Template: once()}},
		IsAnswered: func(o client.Object) bool {
			return len(o.(*batchv1.Job).Status.Conditions) > 0
		},
	},
}

// onNoNode is a template whose Pods fit on no node.
func onNoNode() corev1.PodTemplateSpec {
	template := controllers.ProbeTemplate(labels)
	template.Spec.NodeSelector = map[string]string{"loopwright.dev/probe": "no-node"}
	return template
}

// once is a template that a Job may have.
func once() corev1.PodTemplateSpec {
	template := controllers.ProbeTemplate(nil)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return template
}

// Check returns an error if another controller does the work of one of these, which have the names of
// Kubernetes' own. It probes for all of them at once, and says nothing about those without a probe.
func Check(
	ctx context.Context, config *rest.Config, options controllers.ProbeOptions, originals ...string,
) error {
	failures := make([]error, len(originals))
	var probing sync.WaitGroup
	for i, original := range originals {
		for _, probe := range probes {
			if probe.Original == original {
				probing.Go(func() { failures[i] = probe.Check(ctx, config, options) })
			}
		}
	}
	probing.Wait()
	return errors.Join(failures...)
}

// Story is a story that begins only if no other controller does the work of these. Main gets it, so
// that the tests of a story, whose API server nothing else uses, don't wait for an answer.
//
// It takes the probes' three seconds. The embedded cluster knows which of Kubernetes' own controllers
// it runs, but not whether you have `make mini` open in another terminal, and on a busy machine that
// has taken 929 ms to answer.
func Story(
	story func(context.Context, *demo.Demo) error, originals ...string,
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		options := controllers.ProbeOptions{Namespace: d.Namespace} // what it leaves goes with the namespace
		if err := Check(ctx, d.Cluster.RESTConfig(), options, originals...); err != nil {
			return fmt.Errorf("this program's controllers must be alone: %w", err)
		}
		return story(ctx, d)
	}
}
