package mini

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// jobNow is when these tests take place.
var jobNow = metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func beforeNow(d time.Duration) *metav1.Time { return &metav1.Time{Time: jobNow.Add(-d)} }

// plannedJob is a Job that may fail six times, and has begun an hour ago.
func plannedJob(completions, parallelism int32, changes ...func(*batchv1.Job)) *batchv1.Job {
	job := &batchv1.Job{}
	job.Spec.Completions, job.Spec.Parallelism = &completions, &parallelism
	job.Spec.BackoffLimit, job.Spec.Suspend = new(int32(6)), new(bool)
	job.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Status.StartTime = beforeNow(time.Hour)
	for _, change := range changes {
		change(job)
	}
	return job
}

func withoutCompletions(job *batchv1.Job) { job.Spec.Completions = nil }

// planOf is a plan before its decisions.
func planOf(job *batchv1.Job, pods ...*corev1.Pod) *jobPlan {
	return &jobPlan{job: job, pods: pods, now: jobNow, status: *job.Status.DeepCopy()}
}

// plannedPod is a Pod with this phase, and with the finalizer that keeps it until it is
// counted.
func plannedPod(name string, phase corev1.PodPhase, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), CreationTimestamp: *beforeNow(time.Hour),
		Finalizers: []string{batchv1.JobTrackingFinalizer},
	}}
	pod.Status.Phase = phase
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func nowDeleted(pod *corev1.Pod) { pod.DeletionTimestamp = &jobNow }

func withoutFinalizer(pod *corev1.Pod) { pod.Finalizers = nil }

func plannedPods(n int, phase corev1.PodPhase) (pods []*corev1.Pod) {
	for i := range n {
		pods = append(pods, plannedPod(fmt.Sprint("web-", i), phase))
	}
	return pods
}

func podNames(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// countedPods is what countFinished has found.
type countedPods struct {
	succeededUIDs, failedUIDs     []types.UID // uncounted
	succeededNumber, failedNumber int32       // counted
	succeededInAll, failedInAll   int
	untracked                     []string
}

func (c countedPods) String() string {
	return fmt.Sprintf("succeeded: %v in the list, %d in the number, %d in all; "+
		"failed: %v in the list, %d in the number, %d in all; untrack %v",
		c.succeededUIDs, c.succeededNumber, c.succeededInAll,
		c.failedUIDs, c.failedNumber, c.failedInAll, c.untracked)
}

func countsOf(p *jobPlan) countedPods {
	p.countFinished()
	c := countedPods{
		succeededNumber: p.status.Succeeded, failedNumber: p.status.Failed,
		succeededInAll: p.succeeded, failedInAll: p.failed, untracked: podNames(p.untrack),
	}
	if u := p.status.UncountedTerminatedPods; u != nil {
		c.succeededUIDs, c.failedUIDs = u.Succeeded, u.Failed
	}
	return c
}

// If it were in the number at once, a process that ends before it has removed the
// finalizer would count the Pod again.
//
// Function: jobPlan.countFinished
func TestAPodThatHasEndedIsListedFirstAndNotInTheNumberYet(t *testing.T) {
	p := planOf(plannedJob(3, 3), plannedPod("good", corev1.PodSucceeded),
		plannedPod("bad", corev1.PodFailed), plannedPod("busy", corev1.PodRunning))
	require.Equal(t, countedPods{
		succeededUIDs: []types.UID{"good"}, failedUIDs: []types.UID{"bad"},
		succeededInAll: 1, failedInAll: 1, untracked: []string{"good", "bad"},
	}.String(), countsOf(p).String(), "the lists have the two that ended, and the numbers are still 0")
}

// The write that removes the finalizer may have been refused. It has to be tried again,
// and the Pod must not be counted for the second try.
// Function: jobPlan.countFinished
func TestAPodInTheListStaysThereWhileItHasItsFinalizer(t *testing.T) {
	job := plannedJob(3, 3)
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
		Succeeded: []types.UID{"good"},
	}
	require.Equal(t, countedPods{
		succeededUIDs: []types.UID{"good"}, succeededInAll: 1, untracked: []string{"good"},
	}.String(), countsOf(planOf(job, plannedPod("good", corev1.PodSucceeded))).String(),
		"it's in the list once, and its finalizer is still to be removed")
}

// This is the one write that counts: the UID leaves the list, and the number goes up.
//
// Function: jobPlan.countFinished
func TestAPodInTheListThatHasLostItsFinalizerMovesIntoTheNumber(t *testing.T) {
	job := plannedJob(9, 3)
	job.Status.Succeeded, job.Status.Failed = 2, 1
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
		Succeeded: []types.UID{"freed", "vanished"}, Failed: []types.UID{"crashed"},
	}
	p := planOf(job, plannedPod("freed", corev1.PodSucceeded, withoutFinalizer))
	require.Equal(t, countedPods{
		succeededNumber: 4, failedNumber: 2, succeededInAll: 4, failedInAll: 2,
	}.String(), countsOf(p).String(), "one Pod has lost its finalizer, and two are gone")
	again := planOf(&batchv1.Job{Spec: job.Spec, Status: p.status}, p.pods...)
	require.EqualValues(t, 4, countsOf(again).succeededNumber,
		"the next reconcile sees the Pod without a finalizer, and must not count it again")
}

// Its node may no longer exist, and then it never reports an end. The Job would wait
// forever.
// Function: jobPlan.countFinished
func TestAPodThatIsDeletedHasFailedUnlessItHasSucceeded(t *testing.T) {
	p := planOf(plannedJob(3, 3), plannedPod("evicted", corev1.PodRunning, nowDeleted),
		plannedPod("tidied", corev1.PodSucceeded, nowDeleted))
	require.Equal(t, countedPods{
		succeededUIDs: []types.UID{"tidied"}, failedUIDs: []types.UID{"evicted"},
		succeededInAll: 1, failedInAll: 1, untracked: []string{"evicted", "tidied"},
	}.String(), countsOf(p).String(), "a deleted Pod that ran has failed; one that had succeeded has done its work")
}

// A Pod was deleted, so it's in the list of the failed ones. Then its program ends well after all. In both lists, it would be counted
// twice.
//
// Function: jobPlan.countFinished
func TestAPodInOneListDoesNotGoIntoTheOther(t *testing.T) {
	job := plannedJob(3, 3)
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"evicted"}}
	p := planOf(job, plannedPod("evicted", corev1.PodSucceeded, nowDeleted))
	require.Equal(t, countedPods{
		failedUIDs: []types.UID{"evicted"}, failedInAll: 1, untracked: []string{"evicted"},
	}.String(), countsOf(p).String())
}

// Each UID takes 40 bytes of the Job, and an object has at most a megabyte. A Pod that
// isn't listed must keep its finalizer: nothing else remembers it.
//
// Function: jobPlan.countFinished
func TestNoMoreThanFiveHundredPodsAreInTheList(t *testing.T) {
	p := planOf(plannedJob(1000, 1000), plannedPods(jobBurst+2, corev1.PodSucceeded)...)
	c := countsOf(p)
	require.Len(t, c.succeededUIDs, jobBurst, "this many are listed")
	require.Len(t, c.untracked, jobBurst, "only those that are listed lose their finalizers")
	require.Equal(t, jobBurst+2, c.succeededInAll, "the plan knows of all of them")
}

// verdictOf is how the Job ends, or "it goes on".
func verdictOf(p *jobPlan) string {
	if c := p.judge(); c != nil {
		return string(c.Type) + " " + c.Reason
	}
	return "it goes on"
}

const (
	goesOn      = "it goes on"
	isComplete  = "SuccessCriteriaMet CompletionsReached"
	failedOften = "FailureTarget BackoffLimitExceeded"
	tookTooLong = "FailureTarget DeadlineExceeded"
)

// Too early, and work isn't done. Too late, and it's done twice.
//
// Function: jobPlan.judge
func TestAJobIsCompleteWhenEnoughPodsHaveSucceededAndNoneRuns(t *testing.T) {
	for _, c := range []struct {
		completions       int32 // below 0: none
		succeeded, active int
		want              string
	}{
		{3, 2, 0, goesOn},
		{3, 3, 0, isComplete},
		{3, 3, 1, goesOn}, // it may still fail
		{3, 4, 0, isComplete},
		{0, 0, 0, isComplete}, // there's nothing to do
		{-1, 0, 0, goesOn},
		{-1, 0, 2, goesOn},
		{-1, 1, 2, goesOn}, // the others finish
		{-1, 1, 0, isComplete},
	} {
		p := planOf(plannedJob(c.completions, 3))
		if c.completions < 0 {
			withoutCompletions(p.job)
		}
		p.succeeded, p.active = c.succeeded, plannedPods(c.active, corev1.PodRunning)
		require.Equal(t, c.want, verdictOf(p), "completions %d (-1: none), %d succeeded, %d run",
			c.completions, c.succeeded, c.active)
	}
}

// A user who allows two failures gets three tries.
//
// Function: jobPlan.judge
func TestAJobFailsWithOneFailureMoreThanItsLimit(t *testing.T) {
	for _, c := range []struct {
		limit  int32
		failed int
		want   string
	}{
		{2, 1, goesOn}, {2, 2, goesOn}, {2, 3, failedOften}, {0, 0, goesOn}, {0, 1, failedOften},
	} {
		p := planOf(plannedJob(3, 3))
		p.job.Spec.BackoffLimit, p.failed = &c.limit, c.failed
		require.Equal(t, c.want, verdictOf(p), "limit %d, %d failed", c.limit, c.failed)
	}
	p := planOf(plannedJob(3, 3))
	p.failed, p.succeeded = 7, 3
	require.Equal(t, failedOften, verdictOf(p), "one failure too many, and enough successes afterwards")
}

// Such a Pod never fails, so only its restarts say that something is wrong. Kubernetes
// allows one less of them than of failed Pods, and always one.
//
// Function: jobPlan.judge
func TestAJobFailsWhenAPodHasRestartedAsOftenAsTheLimit(t *testing.T) {
	for _, c := range []struct {
		policy   corev1.RestartPolicy
		limit    int32
		restarts int32
		want     string
	}{
		{corev1.RestartPolicyOnFailure, 3, 2, goesOn},
		{corev1.RestartPolicyOnFailure, 3, 3, failedOften},
		{corev1.RestartPolicyOnFailure, 0, 0, goesOn},
		{corev1.RestartPolicyOnFailure, 0, 1, failedOften},
		{corev1.RestartPolicyNever, 3, 3, goesOn},
	} {
		p := planOf(plannedJob(3, 3))
		p.job.Spec.BackoffLimit, p.job.Spec.Template.Spec.RestartPolicy = &c.limit, c.policy
		p.active = plannedPods(1, corev1.PodRunning)
		p.active[0].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: c.restarts}}
		require.Equal(t, c.want, verdictOf(p), "restartPolicy %s, limit %d, %d restarts",
			c.policy, c.limit, c.restarts)
	}
}

// Nothing happens at the deadline that a watch would show. So the plan says when to look.
//
// Function: jobPlan.judge
func TestAJobFailsAtItsDeadlineAndIsReconciledThen(t *testing.T) {
	late := func(started time.Duration) *jobPlan {
		p := planOf(plannedJob(3, 3))
		p.job.Spec.ActiveDeadlineSeconds = new(int64(60))
		p.status.StartTime = beforeNow(started)
		return p
	}
	p := late(59 * time.Second)
	require.Equal(t, goesOn, verdictOf(p), "it has a second left")
	require.Equal(t, time.Second, p.next, "until then nothing happens: when is the next look?")
	require.Equal(t, tookTooLong, verdictOf(late(60*time.Second)), "its minute is over")
	p = late(time.Hour)
	p.job.Spec.Suspend, p.status.StartTime = new(true), nil
	require.Equal(t, goesOn, verdictOf(p), "it's suspended: a pause doesn't count, and it has no start")
	require.Zero(t, p.next, "it's suspended: there's nothing to wait for")
	p = late(time.Hour)
	p.succeeded = 3
	require.Equal(t, tookTooLong, verdictOf(p), "enough have succeeded, but too late")
}

// A Job that has been called failed stops its Pods. One of them may succeed at the last
// moment, and users have already been told.
//
// Function: jobPlan.judge
func TestAVerdictStaysWhateverPodsDoLater(t *testing.T) {
	for _, said := range []batchv1.JobConditionType{
		batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
	} {
		p := planOf(plannedJob(3, 3))
		p.succeeded, p.failed = 3, 7
		p.status.Conditions = []batchv1.JobCondition{
			{Type: said, Status: corev1.ConditionTrue, Reason: "Said"},
		}
		require.Equal(t, string(said)+" Said", verdictOf(p), "the status said so before")
	}
}

// managedPods is what manage has decided.
type managedPods struct {
	create  int
	removed int
	next    time.Duration
}

func (m managedPods) String() string {
	return fmt.Sprintf("create %d, remove %d, again in %s (0s: never)", m.create, m.removed, m.next)
}

func managesPods(p *jobPlan) managedPods {
	p.manage()
	return managedPods{p.create, len(p.remove), p.next}
}

// One Pod too many does work that nobody wanted, and pays for it.
//
// Function: jobPlan.manage
func TestAJobHasNoMorePodsThanItNeedsAndThanMayRunAtATime(t *testing.T) {
	for _, c := range []struct {
		completions, parallelism int32 // completions below 0: none
		succeeded, active        int
		want                     managedPods
	}{
		{10, 3, 0, 0, managedPods{create: 3}},
		{10, 3, 0, 2, managedPods{create: 1}},
		{10, 3, 0, 3, managedPods{}},
		{10, 3, 8, 0, managedPods{create: 2}}, // two are missing
		{10, 3, 8, 1, managedPods{create: 1}},
		{10, 3, 9, 2, managedPods{removed: 1}},
		{10, 3, 12, 2, managedPods{removed: 2}}, // more than enough: no Pod, and not -2
		{10, 2, 0, 5, managedPods{removed: 3}},  // a user has lowered it
		{10, 0, 0, 1, managedPods{removed: 1}},
		{-1, 3, 0, 1, managedPods{create: 2}},
		{-1, 3, 1, 2, managedPods{}}, // one has succeeded: the others finish
		{-1, 3, 1, 0, managedPods{}},
		{1000, 1000, 0, 0, managedPods{create: jobBurst}},
		{1000, 0, 0, 600, managedPods{removed: jobBurst}},
	} {
		p := planOf(plannedJob(c.completions, c.parallelism))
		if c.completions < 0 {
			withoutCompletions(p.job)
		}
		p.succeeded, p.active = c.succeeded, plannedPods(c.active, corev1.PodRunning)
		require.Equal(t, c.want.String(), managesPods(p).String(),
			"completions %d (-1: none), parallelism %d, %d succeeded, %d run",
			c.completions, c.parallelism, c.succeeded, c.active)
	}
}

// With its finalizer, it would be counted as failed when it ends, although we ended it.
//
// Function: jobPlan.manage
func TestAPodThatWeRemoveLosesItsFinalizerFirst(t *testing.T) {
	p := planOf(plannedJob(10, 1))
	p.active = plannedPods(3, corev1.PodRunning)
	p.untrack = []*corev1.Pod{plannedPod("done", corev1.PodSucceeded)}
	p.manage()
	require.Len(t, p.remove, 2)
	require.Equal(t, append([]string{"done"}, podNames(p.remove)...), podNames(p.untrack),
		"those that have ended, and those that are deleted")
}

// One plan removes 500 of 600 Pods. The others still run, so they have to keep their finalizers: if one of them ends now, it's
// counted.
//
// Function: jobPlan.manage
func TestAPodThatIsNotRemovedYetKeepsItsFinalizer(t *testing.T) {
	p := planOf(plannedJob(1000, 0))
	p.active = plannedPods(jobBurst+100, corev1.PodRunning)
	p.manage()
	require.Len(t, p.remove, jobBurst)
	require.Len(t, p.untrack, jobBurst, "Pods that lose their finalizers")
}

// A user suspends a Job to free its nodes, and its deadline must not run on.
//
// Function: jobPlan.manage
func TestASuspendedJobHasNoPodsAndNoStart(t *testing.T) {
	p := planOf(plannedJob(10, 3))
	p.job.Spec.Suspend, p.active = new(true), plannedPods(2, corev1.PodRunning)
	require.Equal(t, managedPods{removed: 2}.String(), managesPods(p).String())
	require.Nil(t, p.status.StartTime, "it starts over when it's resumed")
	require.NotNil(t, jobCondition(&p.status, batchv1.JobSuspended), "its status says so")
}

// Without the pause, a program that can't start would be started hundreds of times.
//
// Function: jobPlan.manage
func TestAfterAFailureTheNextPodWaits(t *testing.T) {
	failed := plannedPod("bad", corev1.PodFailed, func(pod *corev1.Pod) {
		pod.CreationTimestamp = *beforeNow(3 * time.Second) // the pause is 10 s
	})
	for _, c := range []struct {
		deadline time.Duration // what judge has found; 0: none
		active   int
		want     managedPods
	}{
		{0, 0, managedPods{next: 7 * time.Second}},
		{time.Hour, 0, managedPods{next: 7 * time.Second}},
		{2 * time.Second, 0, managedPods{next: 2 * time.Second}}, // the deadline comes first
		{0, 3, managedPods{}},                                    // no Pod is missing
		{time.Hour, 3, managedPods{next: time.Hour}},
		{0, 5, managedPods{removed: 2}}, // it need not wait to remove some
	} {
		p := planOf(plannedJob(10, 3), failed)
		p.failed, p.next, p.active = 1, c.deadline, plannedPods(c.active, corev1.PodRunning)
		require.Equal(t, c.want.String(), managesPods(p).String(), "the deadline is in %s (0 s: there's none), %d Pods run",
			c.deadline, c.active)
	}
	failed.CreationTimestamp = *beforeNow(10 * time.Second)
	p := planOf(plannedJob(10, 3), failed)
	p.failed = 1
	require.Equal(t, managedPods{create: 3}.String(), managesPods(p).String(), "the pause has just ended")
}
