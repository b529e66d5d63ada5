// Command naive is a Job controller that counts the Pods that it finds.
package main

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/31-job/letters"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	letters.Main("Chapter 31, naive: count the Pods that have succeeded", controllers,
		demo.Predict(2,
			"the other Pods are left alone. How many letters are sent?",
			"the number of letters in the last line").Until(4))
}

func controllers(m *mini.Manager) ([]*mini.Controller, error) {
	jobs := m.Informer(&batchv1.Job{})
	pods := m.Informer(&corev1.Pod{})
	c := m.NewController("job", 1, reconciler(m.Client))
	c.Watch(jobs, mini.EnqueueObject)
	c.Watch(pods, mini.EnqueueOwner(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind()))
	return []*mini.Controller{c}, m.Err()
}

// reconciler runs one Pod at a time until as many have succeeded as the Job wants.
func reconciler(client *mini.CachedClient) mini.ReconcilerFunc {
	return func(ctx context.Context, req mini.Request) (mini.Result, error) {
		job, err := mini.Get[*batchv1.Job](ctx, client, req)
		if err != nil {
			return mini.Result{}, mini.IgnoreNotFound(err)
		}
		if job.Status.CompletionTime != nil {
			return mini.Result{}, nil
		}
		pods, err := mini.OwnedBy[*corev1.Pod](ctx, client, job)
		if err != nil {
			return mini.Result{}, err
		}
		var succeeded, active int32
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodSucceeded {
				succeeded++
			} else {
				active++
			}
		}
		if active == 0 && succeeded < *job.Spec.Completions {
			if err := client.Create(ctx, podOf(job)); err != nil {
				return mini.Result{}, err
			}
		}
		return mini.Result{}, report(ctx, client, job, succeeded)
	}
}

// report writes the status. The API server refuses a number that gets smaller.
func report(ctx context.Context, client *mini.CachedClient, job *batchv1.Job, succeeded int32) error {
	if succeeded <= job.Status.Succeeded && job.Status.StartTime != nil {
		return nil
	}
	now := metav1.Now()
	if job.Status.StartTime == nil {
		job.Status.StartTime = &now
	}
	job.Status.Succeeded = succeeded
	if succeeded == *job.Spec.Completions {
		job.Status.CompletionTime = &now
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
		}
	}
	return client.UpdateStatus(ctx, job)
}

func podOf(job *batchv1.Job) *corev1.Pod {
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, GenerateName: job.Name + "-",
			Labels: job.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: job.Spec.Template.Spec,
	}
}
