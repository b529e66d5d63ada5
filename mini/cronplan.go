package mini

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
	_ "time/tzdata" // a container may lack them

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// dueStart returns the start whose Job has to be created now, and the next start after
// now. Each is zero if there's none.
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
	// When the active Job ends, we'll be called again and make up for the start.
	blocked := cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent &&
		slices.ContainsFunc(jobs, isJobActive)
	if tooLate || blocked {
		due = time.Time{}
	}
	return due, next, nil
}

// startsAround returns the last start after since and up to now, or zero, and the first
// one after now. A schedule only knows what comes next. But the later the question, the
// later the answer, so a binary search finds the last start, however many we've missed.
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
	isPast := func(t time.Time) bool { // zero means never
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

// isJobActive is true of a running Job that the schedule has started. A Job that a user
// has made, for example with kubectl create job --from, doesn't block a start.
func isJobActive(job *batchv1.Job) bool {
	_, started := job.Annotations[batchv1.CronJobScheduledTimestampAnnotation]
	return started && !isJobFinished(job)
}

// jobFor returns the Job of a start. The same start always gets the same name.
func jobFor(cj *batchv1.CronJob, start time.Time) *batchv1.Job {
	template := cj.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	zone, _ := time.LoadLocation(ptr.Deref(cj.Spec.TimeZone, "UTC")) // dueStart checks it
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

// jobsToForget returns the oldest of the Jobs that have succeeded, and the oldest of
// those that have failed. It spares as many of each as the user wants to look at.
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
