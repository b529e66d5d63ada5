package scenarios

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	jobIsComplete  = "Job/web.status.conditions[Complete].status=True"
	jobHasFailed   = "Job/web.status.conditions[Failed].status=True"
	jobIsSuspended = "Job/web.status.conditions[Suspended].status=True"
)

var jobScenarios = []Scenario{
	about("job", "one Pod that completes",
		createJob(job("completes:1")).until(jobIsComplete, "Job/web.status.succeeded=1", "Pod=1")),
	about("job", "five completions, two at a time",
		createJob(job("works:1", completions(5, 2))).until("Job/web.status.ready=2"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=1", "Job/web.status.ready=2"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=2", "Job/web.status.ready=2"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=3", "Job/web.status.ready=2"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=4", "Job/web.status.ready=1"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=5", jobIsComplete)),
	about("job", "no more Pods than are still to be done",
		createJob(job("works:1", completions(2, 5))).until("Job/web.status.ready=2", "Pod=2")),
	about("job", "a queue of work: the first that succeeds ends it",
		createJob(job("works:1", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(3)) })).until("Job/web.status.ready=3"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=1", "Job/web.status.ready=2", "Pod=3"),
		exitsBadly(aReadyPod).until("Job/web.status.failed=1", "Job/web.status.ready=1"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=2", jobIsComplete)),
	about("job", "a Pod that fails is replaced",
		createJob(job("works:1")).until("Job/web.status.ready=1"),
		exitsBadly(aReadyPod).until("Job/web.status.failed=1", "Job/web.status.ready=1", "Pod=2"),
		exitsWell(aReadyPod).until(jobIsComplete, "Job/web.status.failed=1")),
	about("job", "no patience at all",
		createJob(job("fails:1", backoffLimit(0))).until(jobHasFailed, "Job/web.status.failed=1", "Pod=1")),
	about("job", "the back-off limit, with others that run",
		createJob(job("works:1", completions(3, 3), backoffLimit(1))).until("Job/web.status.ready=3"),
		exitsBadly(aReadyPod).until("Job/web.status.failed=1", "Job/web.status.ready=3"),
		exitsBadly(aReadyPod).until(jobHasFailed)),
	about("job", "a Pod that starts again on its node, too often",
		createJob(job("works:1", backoffLimit(2), func(j *batchv1.Job) {
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		})).until("Job/web.status.ready=1"),
		restart(aReadyPod, 1).until("Job/web.status.ready=1"), restart(aReadyPod, 2).until(jobHasFailed)),
	about("job", "a deadline that passes",
		createJob(job("works:1", completions(2, 2), activeFor(15))).until(jobHasFailed, "Job/web.status.failed=2")),
	about("job", "created suspended, then resumed",
		createJob(job("works:1", completions(2, 2), suspended(true))).until(jobIsSuspended, "Pod=0"),
		editJob("resume", suspended(false)).until("Job/web.status.ready=2"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=1", "Job/web.status.ready=1")),
	about("job", "suspended while it runs",
		createJob(job("works:1", completions(2, 2))).until("Job/web.status.ready=2"),
		exitsWell(aReadyPod).until("Job/web.status.succeeded=1", "Job/web.status.ready=1"),
		editJob("suspend", suspended(true)).until(jobIsSuspended, "Pod=1"),
		editJob("resume", suspended(false)).until("Job/web.status.ready=1", "Pod=2")),
	about("job", "more at a time, and fewer",
		createJob(job("works:1", completions(6, 1))).until("Job/web.status.ready=1"),
		editJob("three at a time", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(3)) }).until("Job/web.status.ready=3"),
		editJob("none at all", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) }).until("Job/web.status.active=(none)", "Pod=0")),
	about("job", "a Pod that is deleted counts as failed, and is replaced",
		createJob(job("works:1")).until("Job/web.status.ready=1"),
		deletePod(aReadyPod).until("Job/web.status.failed=1", "Job/web.status.ready=1", "Pod=1")),
	about("job", "a Pod that takes its time to end",
		createJob(job("lingers:1")).until("Job/web.status.ready=1"),
		deletePod(aReadyPod).until("Job/web.status.terminating=1", "Pod=2"),
		letGo.until("Job/web.status.terminating=0", "Job/web.status.failed=1", "Pod=1")),
	about("job", "deleted with its Pods",
		createJob(job("works:1", completions(2, 2))).until("Job/web.status.ready=2"),
		remove("Job", "web", background, jobs).until("Job=0", "Pod=0")),
	about("job", "deleted without its Pods",
		createJob(job("works:1", completions(2, 2))).until("Job/web.status.ready=2"),
		remove("Job", "web", orphan, jobs).until("Job=0", "Pod=2", "Pod/web-pod1.metadata.finalizers[0]=(none)", "Pod/web-pod2.metadata.finalizers[0]=(none)")),
	about("job", "nothing to do", createJob(job("works:1", completions(0, 3))).until(jobIsComplete, "Pod=0")),
	about("job", "a selector of its own",
		createPod(pod("a", web)).until("Pod=1"),
		createJob(job("works:1", completions(2, 2), func(j *batchv1.Job) {
			j.Spec.ManualSelector, j.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: web}
		})).until("Job/web.status.ready=2").differs([]string{"Pod=2"}, []string{"Pod=3"})),
	about("job", "indexed",
		createJob(job("completes:1", completions(2, 2), func(j *batchv1.Job) {
			j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		})).until("Job=1").differs([]string{jobIsComplete, "Pod=2"}, []string{"Pod=0"})),
}
