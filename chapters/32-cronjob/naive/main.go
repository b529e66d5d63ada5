// Command naive is a CronJob controller that creates a Job for each start.
package main

import (
	"context"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/32-cronjob/nights"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	nights.Main("Chapter 32, naive: a Job for each start", controller,
		demo.Predict(1,
			"how many backups begin in step 1?",
			"the number of Jobs in the line above"),
		demo.Predict(2,
			"how many Jobs does the one start of step 2 get?",
			"the last line"))
}

func controller(m *mini.Manager) (*mini.Controller, error) {
	c := m.NewController("cronjob", 1, reconciler(m.Client))
	c.Watch(m.Informer(&batchv1.CronJob{}), mini.EnqueueObject)
	return c, m.Err()
}

// reconciler creates a Job for each start since the last one in the status.
func reconciler(client *mini.CachedClient) mini.ReconcilerFunc {
	return func(ctx context.Context, req mini.Request) (mini.Result, error) {
		cj, err := mini.Get[*batchv1.CronJob](ctx, client, req)
		if err != nil {
			return mini.Result{}, mini.IgnoreNotFound(err)
		}
		if *cj.Spec.Suspend {
			return mini.Result{}, nil
		}
		schedule, err := cron.ParseStandard(cj.Spec.Schedule)
		if err != nil {
			return mini.Result{}, mini.TerminalError(err)
		}
		last, now := cj.Status.LastScheduleTime.UTC(), time.Now()
		next := schedule.Next(last)
		for ; !next.After(now); next = schedule.Next(next) {
			if err := client.Create(ctx, jobOf(cj, next)); err != nil {
				return mini.Result{}, err
			}
			last = next
		}
		if !last.Equal(cj.Status.LastScheduleTime.Time) {
			cj.Status.LastScheduleTime = &metav1.Time{Time: last}
			err = client.UpdateStatus(ctx, cj)
		}
		return mini.Result{RequeueAfter: next.Sub(now)}, err
	}
}

func jobOf(cj *batchv1.CronJob, start time.Time) *batchv1.Job {
	owner := metav1.NewControllerRef(cj, batchv1.SchemeGroupVersion.WithKind("CronJob"))
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cj.Namespace, GenerateName: cj.Name + "-",
			Annotations: map[string]string{
				batchv1.CronJobScheduledTimestampAnnotation: start.Format(time.RFC3339),
			},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: cj.Spec.JobTemplate.Spec,
	}
}
