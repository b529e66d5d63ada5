package mini

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	_ "time/tzdata" // a container may have no time zones

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// CronJobs is the CronJob controller.
//
// Guarantees: a start makes one Job, even if two processes reconcile it at the same time,
// or one ends before it has written the status: the Job's name is made of the start, and
// the API server gives a name once. After a pause of any length, only the last start that
// was missed is made up for, unless it is older than startingDeadlineSeconds.
//
// Caveats: starts are at least a minute apart: a name has the minute. Without a timeZone,
// the schedule is in UTC. A user who deletes the Job before its start is in the status
// gets another one. A schedule that can't be read, which an old API server may have
// stored, leaves only a line in the log: a CronJob's status has no conditions.
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

// Reconcile starts a Job if it is time, reports, and deletes old Jobs: in this order. A
// Job that is deleted before its start is in the status would be started again.
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
		return !metav1.IsControlledBy(job, cj) // it only goes when this CronJob goes, too
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
	// Only a user can mend a schedule that is invalid, and that is a change.
	return Result{RequeueAfter: max(next.Sub(now), 0)}, TerminalError(invalid)
}

// dueStart returns the start whose Job has to be created now, or zero, and the next one
// after now. It returns zero for both if there will be none.
func dueStart(
	cj *batchv1.CronJob, jobs []*batchv1.Job, now time.Time,
) (due, next time.Time, invalid error) {
	if cj.DeletionTimestamp != nil || *cj.Spec.Suspend {
		return due, next, nil
	}
	zone := ptr.Deref(cj.Spec.TimeZone, "UTC")
	schedule, err := cron.ParseStandard("TZ=" + zone + " " + cj.Spec.Schedule)
	if err != nil {
		return due, next, fmt.Errorf("the schedule of %s: %w", KeyOf(cj), err)
	}
	since := ptr.Deref(cj.Status.LastScheduleTime, cj.CreationTimestamp)
	due, next = startsAround(schedule, since.Time, now)
	deadline := cj.Spec.StartingDeadlineSeconds
	tooLate := deadline != nil &&
		due.Add(time.Duration(*deadline)*time.Second).Before(now)
	// The end of the Job that is active brings us back, and the start is made up for.
	blocked := cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent &&
		slices.ContainsFunc(jobs, isJobActive)
	if tooLate || blocked {
		due = time.Time{}
	}
	return due, next, nil
}

// startsAround returns the last start after since and up to now, or zero, and the first
// one after now. A schedule only knows what comes next. But the later we ask, the later
// the answer: that is enough to search by halves, whatever number of starts was missed.
func startsAround(
	schedule cron.Schedule, since, now time.Time,
) (last, next time.Time) {
	if every, ok := schedule.(cron.ConstantDelaySchedule); ok { // counts from since
		n := now.Sub(since) / every.Delay
		if n > 0 {
			last = since.Add(n * every.Delay)
		}
		return last, since.Add((n + 1) * every.Delay)
	}
	isPast := func(t time.Time) bool { // zero is never
		return !t.IsZero() && !t.After(now)
	}
	next = schedule.Next(now)
	if !isPast(schedule.Next(since)) {
		return last, next
	}
	before, after := since, now // the last start is after before, and not after after
	for after.Sub(before) > time.Second {
		middle := before.Add(after.Sub(before) / 2)
		if isPast(schedule.Next(middle)) {
			before = middle
		} else {
			after = middle
		}
	}
	return schedule.Next(before), next
}

// isJobActive is true of a Job that one of the starts has made and that still runs. One
// that a user has made, as kubectl create job --from does, blocks no start.
func isJobActive(job *batchv1.Job) bool {
	_, started := job.Annotations[batchv1.CronJobScheduledTimestampAnnotation]
	return started && !isJobFinished(job)
}

// startJob returns the Jobs with the new one, and without those that it replaces.
func (c *CronJobs) startJob(
	ctx context.Context, cj *batchv1.CronJob, jobs []*batchv1.Job, start time.Time,
) ([]*batchv1.Job, error) {
	job := jobFor(cj, start)
	isSame := func(other *batchv1.Job) bool { return other.Name == job.Name }
	if slices.ContainsFunc(jobs, isSame) {
		return jobs, nil // it is only missing in the status
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
		// The cache does not show it yet: another process was faster, or the answer to
		// our own request got lost.
		err = c.Client.Client.Get(ctx, KeyOf(job), job)
		if err == nil && !metav1.IsControlledBy(job, cj) {
			err = fmt.Errorf("a Job of another owner has the name %s", KeyOf(job))
		}
	}
	return append(jobs, job), err
}

// jobFor returns the Job of a start. The same start always has the same name.
func jobFor(cj *batchv1.CronJob, start time.Time) *batchv1.Job {
	template := cj.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	zone, _ := time.LoadLocation(ptr.Deref(cj.Spec.TimeZone, "UTC")) // it is in use
	annotations[batchv1.CronJobScheduledTimestampAnnotation] =
		start.In(zone).Format(time.RFC3339)
	kind := batchv1.SchemeGroupVersion.WithKind("CronJob")
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cj.Namespace, Name: fmt.Sprintf("%s-%d", cj.Name, start.Unix()/60),
			Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cj, kind)},
		},
		Spec: template.Spec,
	}
}

// cronJobStatus returns the status after the start, if there was one.
func cronJobStatus(
	cj *batchv1.CronJob, jobs []*batchv1.Job, start time.Time,
) batchv1.CronJobStatus {
	status := *cj.Status.DeepCopy()
	status.Active = nil
	last := &status.LastSuccessfulTime
	if !start.IsZero() {
		status.LastScheduleTime = &metav1.Time{Time: start}
	}
	for _, job := range jobs {
		if isJobActive(job) {
			status.Active = append(status.Active, corev1.ObjectReference{
				APIVersion: "batch/v1", Kind: "Job",
				Namespace: job.Namespace, Name: job.Name, UID: job.UID,
			})
		} else if end := job.Status.CompletionTime; *last == nil || (*last).Before(end) {
			*last = end // nil if the Job has failed
		}
	}
	return status
}

// jobsToForget returns the oldest Jobs of those that have succeeded, and of those that
// have failed. As many as the user wants to look at stay.
func jobsToForget(cj *batchv1.CronJob, jobs []*batchv1.Job) (old []*batchv1.Job) {
	forget := func(limit *int32, kind batchv1.JobConditionType) {
		done := slices.DeleteFunc(slices.Clone(jobs), func(job *batchv1.Job) bool {
			return jobCondition(&job.Status, kind) == nil
		})
		slices.SortFunc(done, func(a, b *batchv1.Job) int {
			began := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
			return cmp.Or(began, cmp.Compare(a.Name, b.Name))
		})
		old = append(old, done[:max(len(done)-int(*limit), 0)]...)
	}
	forget(cj.Spec.SuccessfulJobsHistoryLimit, batchv1.JobComplete)
	forget(cj.Spec.FailedJobsHistoryLimit, batchv1.JobFailed)
	return old
}

// deleteJob deletes a Job and its Pods. Without a policy, the API server would keep the
// Pods of a Job: that is older than the garbage collector.
func (c *CronJobs) deleteJob(ctx context.Context, job *batchv1.Job) error {
	background := metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}
	return IgnoreNotFound(c.Client.Delete(ctx, job, background))
}
