package mini

import (
	"context"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // a container may lack them

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJobs is the CronJob controller.
//
// Guarantees: a start makes one Job, even if two processes reconcile it at the same time,
// or one ends before it has written the status. That's because the Job's name follows
// from the start, and the API server gives each name to one object. After a pause of any
// length, it makes up only for the last start that it missed, unless that's more than
// startingDeadlineSeconds ago.
//
// Caveats: starts are at least a minute apart, because a name has the minute. Without a
// timeZone, the schedule is in UTC. A user who deletes the Job before its start is in the
// status gets another one. If the schedule is invalid, as an old API server may have
// stored it, you'll find only a line in the log, because a CronJob's status has no
// conditions.
type CronJobs struct {
	Client *CachedClient
}

// NewCronJobController returns the controller with its watches. Add it to m.
func NewCronJobController(m *Manager) (*Controller, error) {
	crons := m.Informer(&batchv1.CronJob{})
	jobs := m.Informer(&batchv1.Job{})
	c := m.NewController("cronjob", 5, &CronJobs{Client: m.Client})
	c.Watch(crons, EnqueueObject)
	kind := batchv1.SchemeGroupVersion.WithKind("CronJob")
	c.Watch(jobs, EnqueueOwner(kind.GroupKind()))
	return c, m.err
}

// Reconcile starts a Job if it's time, then writes the status, and then deletes old Jobs.
// If it deleted a Job before the start was in the status, it would start that Job again.
func (c *CronJobs) Reconcile(ctx context.Context, req Request) (Result, error) {
	cj, err := Get[*batchv1.CronJob](ctx, c.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err) // the garbage collector deletes its Jobs
	}
	jobs, err := OwnedBy[*batchv1.Job](ctx, c.Client, cj)
	if err != nil {
		return Result{}, err
	}
	jobs = slices.DeleteFunc(jobs, func(job *batchv1.Job) bool {
		return !metav1.IsControlledBy(job, cj) // owned, but not controlled by cj
	})
	now := time.Now()
	start, next, invalid := dueStart(cj, jobs, now)
	if !start.IsZero() {
		if jobs, err = c.startJob(ctx, cj, jobs, start); err != nil {
			return Result{}, err
		}
	}
	status := cronJobStatus(cj, jobs, start)
	if !equality.Semantic.DeepEqual(cj.Status, status) {
		cj.Status = status
		if err := c.Client.UpdateStatus(ctx, cj); err != nil {
			return Result{}, IgnoreNotFound(err)
		}
	}
	for _, job := range jobsToForget(cj, jobs) {
		if err := c.deleteJob(ctx, job); err != nil {
			return Result{}, err
		}
	}
	// Only a user can correct an invalid schedule, and that's a change.
	return Result{RequeueAfter: max(next.Sub(now), 0)}, TerminalError(invalid)
}

// startJob creates the Job of a start. It returns the Jobs with the new one, and without
// those that it replaces.
func (c *CronJobs) startJob(
	ctx context.Context, cj *batchv1.CronJob, jobs []*batchv1.Job, start time.Time,
) ([]*batchv1.Job, error) {
	job := jobFor(cj, start)
	isSame := func(other *batchv1.Job) bool { return other.Name == job.Name }
	if slices.ContainsFunc(jobs, isSame) {
		return jobs, nil // it's only missing from the status
	}
	if cj.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		for _, old := range jobs {
			if isJobActive(old) {
				if err := c.deleteJob(ctx, old); err != nil {
					return nil, err
				}
			}
		}
		jobs = slices.DeleteFunc(jobs, isJobActive)
	}
	err := c.Client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		// The cache doesn't have it yet: another process was faster, or the answer to our
		// own request got lost.
		err = c.Client.Client.Get(ctx, KeyOf(job), job)
		if err == nil && !metav1.IsControlledBy(job, cj) {
			err = fmt.Errorf("the name %s is taken by a Job of another owner", KeyOf(job))
		}
	}
	return append(jobs, job), err
}

// deleteJob deletes a Job and its Pods. Without a policy, the API server would keep the
// Pods of a Job, a default that's older than the garbage collector.
func (c *CronJobs) deleteJob(ctx context.Context, job *batchv1.Job) error {
	background := metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}
	return IgnoreNotFound(c.Client.Delete(ctx, job, background))
}
