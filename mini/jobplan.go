package mini

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// jobBurst is how many Pods one reconcile creates at most, deletes as surplus, or lists
// in the status. 500 UIDs in the status take about 20 KB.
const jobBurst = 500

// jobPlan is what one reconcile finds, and what it decides.
type jobPlan struct {
	job               *batchv1.Job
	pods              []*corev1.Pod // all of the Job's
	active            []*corev1.Pod // those that run and aren't ending
	succeeded, failed int           // including those that the status lacks
	now               metav1.Time

	status  batchv1.JobStatus // write this first
	untrack []*corev1.Pod     // then remove the finalizers of these: the status has them
	remove  []*corev1.Pod     // then delete these
	create  int
	next    time.Duration // until something happens that no watch shows; 0: never
}

// planJob makes all decisions, but doesn't carry out any.
func planJob(job *batchv1.Job, pods []*corev1.Pod, now metav1.Time) *jobPlan {
	p := &jobPlan{job: job, pods: pods, now: now, status: *job.Status.DeepCopy()}
	reason, message := unsupported(&job.Spec)
	switch {
	case job.DeletionTimestamp != nil: // it won't run on, and its Pods mustn't wait
	case reason != "":
		p.setCondition(jobUnsupported, corev1.ConditionTrue, reason, message)
		return p
	case jobCondition(&p.status, jobUnsupported) != nil: // until a user changed it
		p.setCondition(jobUnsupported, corev1.ConditionFalse, "Supported", "")
	}
	p.countFinished()
	running := slices.DeleteFunc(slices.Clone(pods), isPodTerminal)
	p.active = slices.DeleteFunc(slices.Clone(running), isEnding)
	p.status.Active, p.status.Ready = int32(len(p.active)), new(int32(0))
	p.status.Terminating = new(int32(len(running) - len(p.active)))
	for _, pod := range p.active {
		if _, ready := podReady(pod); ready {
			*p.status.Ready++
		}
	}
	if job.DeletionTimestamp != nil {
		p.untrack = pods // the garbage collector deletes them: let them go
		return p
	}
	p.startOrResume()
	verdict := p.judge()
	if verdict == nil {
		p.manage()
		return p
	}
	p.setCondition(verdict.Type, corev1.ConditionTrue, verdict.Reason, verdict.Message)
	p.remove = p.active // Pods that a failed Job stops also count as failed
	if len(running)+len(uncountedPods(&p.status)) > 0 {
		return p // until all are counted, the API server refuses the end
	}
	if p.status.StartTime == nil { // it's suspended, and the API server wants a start
		p.status.StartTime = &p.now
	}
	end := batchv1.JobFailed
	if verdict.Type == batchv1.JobSuccessCriteriaMet {
		end, p.status.CompletionTime = batchv1.JobComplete, &p.now
	}
	p.setCondition(end, corev1.ConditionTrue, verdict.Reason, verdict.Message)
	return p
}

// jobUnsupported is true of a Job that mini can't run. The domain is ours, so the API
// will never define a condition of this name.
const jobUnsupported batchv1.JobConditionType = "loopwright.dev/Unsupported"

// unsupported returns what the Job wants but mini can't do, or "".
func unsupported(spec *batchv1.JobSpec) (reason, message string) {
	switch {
	case *spec.CompletionMode == batchv1.IndexedCompletion:
		return "IndexedCompletion",
			"mini doesn't number Pods, as completionMode: Indexed wants"
	case ptr.Deref(spec.PodReplacementPolicy, "") == batchv1.Failed:
		return "PodReplacementPolicy", "mini doesn't wait for the end of deleted Pods, " +
			"as podReplacementPolicy: Failed and podFailurePolicy want"
	}
	return "", ""
}

// countFinished moves each finished Pod one step further. If the Pod has its finalizer
// and isn't in the status, it goes into a list of the status. If it's in a list and no
// longer has its finalizer, it leaves the list and raises the number.
func (p *jobPlan) countFinished() {
	tracked, listed := map[types.UID]bool{}, map[types.UID]bool{}
	for _, pod := range p.pods {
		tracked[pod.UID] = ContainsFinalizer(pod, batchv1.JobTrackingFinalizer)
	}
	settle := func(uids []types.UID, number *int32) []types.UID {
		left := slices.DeleteFunc(slices.Clone(uids), func(uid types.UID) bool {
			listed[uid] = true
			return !tracked[uid]
		})
		*number += int32(len(uids) - len(left))
		return left
	}
	if p.status.UncountedTerminatedPods == nil {
		p.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	u := p.status.UncountedTerminatedPods
	u.Succeeded = settle(u.Succeeded, &p.status.Succeeded)
	u.Failed = settle(u.Failed, &p.status.Failed)
	p.succeeded = int(p.status.Succeeded) + len(u.Succeeded)
	p.failed = int(p.status.Failed) + len(u.Failed)
	for _, pod := range p.pods {
		// A deleted Pod has failed, unless it has succeeded: its node may no longer
		// exist, and then it would never report an end.
		if !tracked[pod.UID] || !isPodTerminal(pod) && !isEnding(pod) {
			continue
		}
		list, number := &u.Failed, &p.failed
		if pod.Status.Phase == corev1.PodSucceeded {
			list, number = &u.Succeeded, &p.succeeded
		}
		if !listed[pod.UID] {
			*number++
			if len(u.Succeeded)+len(u.Failed) >= jobBurst {
				continue // the next reconcile lists it
			}
			*list = append(*list, pod.UID)
		}
		p.untrack = append(p.untrack, pod)
	}
}

// uncountedPods are the finished Pods that may still have their finalizers.
func uncountedPods(status *batchv1.JobStatus) []types.UID {
	if status.UncountedTerminatedPods == nil {
		return nil
	}
	u := status.UncountedTerminatedPods
	return slices.Concat(u.Succeeded, u.Failed)
}

// startOrResume sets the time from which the deadline counts, so that time in which the
// Job is suspended doesn't count.
func (p *jobPlan) startOrResume() {
	resumes := jobCondition(&p.status, batchv1.JobSuspended) != nil
	if *p.job.Spec.Suspend || !resumes && p.status.StartTime != nil {
		return
	}
	p.status.StartTime = &p.now
	if resumes {
		p.setCondition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "")
	}
}

// judge returns how the Job ends, or nil if it goes on. A verdict stays, whatever happens
// to Pods and deadlines later.
func (p *jobPlan) judge() *batchv1.JobCondition {
	met, target := batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget
	if c := jobCondition(&p.status, met, target); c != nil {
		return c
	}
	spec, late := p.job.Spec, false
	if spec.ActiveDeadlineSeconds != nil && !*spec.Suspend {
		deadline := time.Duration(*spec.ActiveDeadlineSeconds) * time.Second
		p.next = deadline - p.now.Sub(p.status.StartTime.Time)
		late = p.next <= 0
	}
	limit := int(*spec.BackoffLimit)
	// Without completions, the Pods know when the work is done: one success means that it
	// is.
	enough := int(ptr.Deref(spec.Completions, 1))
	switch {
	case p.failed > limit || p.restarts() >= max(limit, 1):
		return &batchv1.JobCondition{
			Type: target, Reason: batchv1.JobReasonBackoffLimitExceeded,
			Message: fmt.Sprintf("there were more failures than %d", limit),
		}
	case late:
		return &batchv1.JobCondition{
			Type: target, Reason: batchv1.JobReasonDeadlineExceeded,
			Message: "the Job was active for longer than activeDeadlineSeconds",
		}
	case p.succeeded >= enough && len(p.active) == 0:
		return &batchv1.JobCondition{
			Type: met, Reason: batchv1.JobReasonCompletionsReached,
			Message: fmt.Sprintf("%d Pods have succeeded", p.succeeded),
		}
	}
	return nil
}

// restarts counts the failures inside Pods, if they restart their containers.
func (p *jobPlan) restarts() (n int) {
	if p.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return 0
	}
	for _, pod := range p.active {
		s := pod.Status
		for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
			n += int(c.RestartCount)
		}
	}
	return n
}

// manage decides how many Pods to create, or which to delete.
func (p *jobPlan) manage() {
	want := int(*p.job.Spec.Parallelism)
	switch completions := p.job.Spec.Completions; {
	case *p.job.Spec.Suspend:
		want, p.status.StartTime = 0, nil // it starts over when it's resumed
		p.setCondition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "")
	case completions != nil:
		want = min(want, max(int(*completions)-p.succeeded, 0))
	case p.succeeded > 0:
		want = len(p.active) // let them finish
	}
	missing, pause := want-len(p.active), p.backoff()
	switch {
	case missing < 0:
		p.remove = GetPodsToDelete(p.active, min(-missing, jobBurst), p.now.Time)
		p.untrack = append(p.untrack, p.remove...) // they haven't failed: we delete them
	case missing > 0 && pause <= 0:
		p.create = min(missing, jobBurst)
	case missing > 0 && (p.next == 0 || pause < p.next):
		p.next = pause
	}
}

// backoff returns how long to wait until the next Pod: 10 s after a failure, twice as
// long after each further one, and not at all after a success. It counts the failures in
// the Pods, so a new process knows them as well.
func (p *jobPlan) backoff() time.Duration {
	done := slices.DeleteFunc(slices.Clone(p.pods), func(pod *corev1.Pod) bool {
		return !isPodTerminal(pod) && !isEnding(pod)
	})
	slices.SortStableFunc(done, func(a, b *corev1.Pod) int {
		return podEnd(a).Compare(podEnd(b))
	})
	failures := 0
	for _, pod := range done {
		failures++
		if pod.Status.Phase == corev1.PodSucceeded {
			failures = 0
		}
	}
	failures = min(failures, p.failed) // those that we stopped are ending, not failures
	if failures == 0 {
		return 0
	}
	pause := Backoff{Base: 10 * time.Second, Max: 10 * time.Minute}.After(failures)
	return podEnd(done[len(done)-1]).Add(pause).Sub(p.now.Time)
}

// podEnd returns when the last container ended, or when the Pod was deleted.
func podEnd(pod *corev1.Pod) (end time.Time) {
	end = pod.CreationTimestamp.Time
	if isEnding(pod) { // the timestamp is when the Pod's time to end is over
		grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0))
		end = pod.DeletionTimestamp.Add(-grace * time.Second)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.FinishedAt.After(end) {
			end = t.FinishedAt.Time
		}
	}
	return end
}

// setCondition adds or changes a condition. It does nothing if the condition already has
// this status.
func (p *jobPlan) setCondition(
	kind batchv1.JobConditionType, is corev1.ConditionStatus, reason, message string,
) {
	at := slices.IndexFunc(p.status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind
	})
	if at < 0 {
		at = len(p.status.Conditions)
		p.status.Conditions = append(p.status.Conditions, batchv1.JobCondition{})
	}
	if c := &p.status.Conditions[at]; c.Status != is {
		*c = batchv1.JobCondition{
			Type: kind, Status: is, LastProbeTime: p.now, LastTransitionTime: p.now,
			Reason: reason, Message: message,
		}
	}
}

// jobCondition returns the first true condition of one of these kinds, or nil.
func jobCondition(
	status *batchv1.JobStatus, kinds ...batchv1.JobConditionType,
) *batchv1.JobCondition {
	for i, c := range status.Conditions {
		if c.Status == corev1.ConditionTrue && slices.Contains(kinds, c.Type) {
			return &status.Conditions[i]
		}
	}
	return nil
}

func isJobFinished(job *batchv1.Job) bool {
	return jobCondition(&job.Status, batchv1.JobComplete, batchv1.JobFailed) != nil
}

// isManagedByOther returns true if the user wants another controller to run this Job.
func isManagedByOther(job *batchv1.Job) bool {
	own := batchv1.JobControllerName
	return ptr.Deref(job.Spec.ManagedBy, own) != own
}
