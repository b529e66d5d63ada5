package mini_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// jobWorld has a Job controller. It checks each status that the controller writes by the rules of a
// real API server, which the one in memory does not have.
type jobWorld struct{ *world }

func inJobs(t *testing.T, test func(w *jobWorld)) {
	t.Helper()
	inMemory(t, func(w *world) {
		jobs, err := w.Other.BatchV1().Jobs("").Watch(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		w.run(func(context.Context) error {
			before := map[string]batchv1.JobStatus{}
			for event := range jobs.ResultChan() {
				job, ok := event.Object.(*batchv1.Job)
				if ok && event.Type != watch.Deleted {
					if broken := brokenRule(before[string(job.UID)], job.Status); broken != "" {
						w.Errorf("a real API server refuses this status of %s: %s\n%+v", job.Name, broken, job.Status)
					}
					before[string(job.UID)] = job.Status
				}
			}
			return nil
		})
		test(&jobWorld{w})
	})
}

// brokenRule returns what a v1.36 API server says about a change of a status.
func brokenRule(old, status batchv1.JobStatus) string {
	is := func(s batchv1.JobStatus, kind batchv1.JobConditionType) bool {
		return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == kind && c.Status == corev1.ConditionTrue
		})
	}
	complete, failed := is(status, batchv1.JobComplete), is(status, batchv1.JobFailed)
	uncounted := status.UncountedTerminatedPods
	resumed := is(old, batchv1.JobSuspended) && !is(status, batchv1.JobSuspended)
	switch {
	case status.Succeeded < old.Succeeded || status.Failed < old.Failed:
		return "a number got smaller"
	case complete && !is(status, batchv1.JobSuccessCriteriaMet):
		return "Complete without SuccessCriteriaMet"
	case failed && !is(status, batchv1.JobFailureTarget):
		return "Failed without FailureTarget"
	case is(status, batchv1.JobSuccessCriteriaMet) && is(status, batchv1.JobFailureTarget):
		return "both a success and a failure"
	case (complete || failed) && uncounted != nil && len(uncounted.Succeeded)+len(uncounted.Failed) > 0:
		return "finished, and Pods are not counted"
	case (complete || failed) && (status.Active > 0 || *status.Terminating > 0):
		return "finished, and Pods run"
	case complete != (status.CompletionTime != nil):
		return "Complete and completionTime go together"
	case (complete || failed) && status.StartTime == nil:
		return "finished, and never started"
	case complete && status.CompletionTime.Before(status.StartTime):
		return "completed before it was started"
	case status.Ready != nil && *status.Ready > status.Active:
		return "more ready than active"
	case old.StartTime != nil && !old.StartTime.Equal(status.StartTime) && !resumed && !is(status, batchv1.JobSuspended):
		return "startTime changed"
	}
	for _, kind := range []batchv1.JobConditionType{
		batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
	} {
		if is(old, kind) && !is(status, kind) {
			return string(kind) + " was taken back"
		}
	}
	return ""
}

// runJobs runs the controllers in a manager. To kill it is to end the process.
func (w *jobWorld) runJobs() (kill context.CancelFunc) {
	w.Helper()
	manager := mini.NewManager(w.Cluster)
	jobs, err := mini.NewJobController(manager)
	require.NoError(w, err)
	for _, c := range jobs {
		manager.AddController(c)
	}
	ctx, kill := context.WithCancel(w.ctx)
	w.run(func(context.Context) error { return manager.Run(ctx) })
	return kill
}

// job returns a Job that wants completions Pods, of which parallelism at a time.
func job(completions, parallelism int32, changes ...func(*batchv1.JobSpec)) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "sum"}}
	job.Spec.Completions, job.Spec.Parallelism = &completions, &parallelism
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}
	for _, change := range changes {
		change(&job.Spec)
	}
	return job
}

func (w *jobWorld) create(job *batchv1.Job) *batchv1.Job {
	w.Helper()
	job, err := w.Other.BatchV1().Jobs("default").Create(w.ctx, job, metav1.CreateOptions{})
	require.NoError(w, err)
	synctest.Wait()
	return job
}

func (w *jobWorld) get() *batchv1.Job {
	w.Helper()
	synctest.Wait()
	job, err := w.Other.BatchV1().Jobs("default").Get(w.ctx, "sum", metav1.GetOptions{})
	require.NoError(w, err)
	return job
}

func (w *jobWorld) change(change func(*batchv1.JobSpec)) {
	w.Helper()
	job := w.get()
	change(&job.Spec)
	_, err := w.Other.BatchV1().Jobs("default").Update(w.ctx, job, metav1.UpdateOptions{})
	require.NoError(w, err)
	synctest.Wait()
}

// active are the Pods that run.
func (w *jobWorld) active() []*corev1.Pod {
	w.Helper()
	return slices.DeleteFunc(w.pods(), func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
}

// all are all Pods, and their finalizers.
func (w *jobWorld) all() (all []string) {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, pod := range list.Items {
		all = append(all, fmt.Sprint(pod.Finalizers))
	}
	return all
}

// ends is what the kubelet reports when the containers have ended.
func (w *jobWorld) ends(pod *corev1.Pod, phase corev1.PodPhase) {
	w.Helper()
	w.changePodStatus(pod, func(pod *corev1.Pod) {
		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()},
		}}}
	})
}

// numbers are active, succeeded and failed.
func (w *jobWorld) numbers() [3]int32 {
	w.Helper()
	s := w.get().Status
	return [3]int32{s.Active, s.Succeeded, s.Failed}
}

// conditions are the types and reasons of those that are true.
func (w *jobWorld) conditions() (all []string) {
	w.Helper()
	for _, c := range w.get().Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			all = append(all, string(c.Type)+" "+c.Reason)
		}
	}
	return all
}

var (
	completed = []string{"SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"}
	tooMany   = []string{"FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"}
	tooLate   = []string{"FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"}
)

// kubectl create job, and kubectl wait --for=condition=complete.
func TestAJobRunsAsManyPodsAsItNeedsAndNoMoreAtATimeThanAllowed(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		sum := job(5, 2, func(s *batchv1.JobSpec) { s.ManagedBy = new(batchv1.JobControllerName) })
		sum.Spec.Template.Labels = map[string]string{"app": "sum"}
		sum.Spec.Template.Annotations = map[string]string{"team": "numbers"}
		sum.Spec.Template.Finalizers = []string{"example.com/log"}
		sum = w.create(sum)
		for _, pod := range w.active() {
			require.True(w, metav1.IsControlledBy(pod, sum), "the garbage collector has to know whose it is")
			require.Equal(w, sum.Spec.Template.Labels, pod.Labels, "kubectl logs job/sum finds it by its labels")
			require.Equal(w, "numbers", pod.Annotations["team"])
			require.Equal(w, []string{"example.com/log", batchv1.JobTrackingFinalizer}, pod.Finalizers)
			require.Equal(w, "sum-", pod.GenerateName)
		}
		w.Server.ForgetRequests()
		w.change(func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(5)) })
		require.Equal(w, 1, w.requestsTo("update", "jobs"), "the user's: the status has no news")
		for done := range int32(5) {
			active := w.active()
			require.Len(w, active, int(min(2, 5-done)), "%d of 5 are done", done)
			require.Equal(w, [3]int32{min(2, 5-done), done, 0}, w.numbers())
			require.Empty(w, w.get().Status.Conditions)
			w.ends(w.ready(active[0]), corev1.PodSucceeded)
			time.Sleep(time.Second)
		}
		require.Equal(w, [3]int32{0, 5, 0}, w.numbers())
		require.Equal(w, completed, w.conditions())
		status := w.get().Status
		require.Equal(w, 5*time.Second, status.CompletionTime.Sub(status.StartTime.Time)+time.Second)
		require.Equal(w, slices.Repeat([]string{"[example.com/log]"}, 5), w.all(), "ours would keep a Pod forever")
		version := w.get().ResourceVersion
		time.Sleep(time.Hour)
		require.Equal(w, version, w.get().ResourceVersion, "it is over")
		w.deletePod(w.pods()[0])
		require.Empty(w, w.active(), "a user who deletes the Pods of a finished Job doesn't want it to run again")
		require.Equal(w, status, w.get().Status, "it was complete then, not just now")
	})
}

// Without completions, the Pods take their work from a queue, and know when it is empty.
func TestAJobWithoutCompletionsIsOverWhenOnePodHasSucceededAndTheOthersHaveEnded(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(0, 3, func(s *batchv1.JobSpec) { s.Completions = nil }))
		pods := w.active()
		require.Len(w, pods, 3)
		w.ends(pods[0], corev1.PodSucceeded)
		w.ends(pods[1], corev1.PodFailed)
		time.Sleep(time.Hour)
		require.Equal(w, [3]int32{1, 1, 1}, w.numbers(), "no new Pod: the queue is empty")
		require.Empty(w, w.conditions(), "the third one is still working")
		w.ends(pods[2], corev1.PodFailed)
		require.Equal(w, completed, w.conditions())
		require.Equal(w, [3]int32{0, 1, 2}, w.numbers())
	})
}

// There may be nothing to do.
func TestAJobWithZeroCompletionsIsCompleteAtOnce(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(0, 3))
		require.Equal(w, completed, w.conditions())
		require.Empty(w, w.all())
	})
}

// A Pod is deleted by a user, by a full node, or with its node. Its work has been done, and must not be done
// twice; or it has failed, and must not be tried forever.
func TestAPodThatIsDeletedWhenItHasEndedIsCounted(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed, corev1.PodRunning} {
		want := [3]int32{1, 0, 1}
		if phase == corev1.PodSucceeded {
			want = [3]int32{1, 1, 0}
		}
		for _, down := range []bool{false, true} {
			inJobs(t, func(w *jobWorld) {
				kill := w.runJobs()
				w.create(job(2, 1))
				pod := w.bind(w.active()[0], "node")
				if down {
					kill()
					synctest.Wait()
				}
				if phase == corev1.PodRunning {
					pod = w.ready(pod)
				} else {
					w.ends(pod, phase)
				}
				w.deletePod(pod)
				if down {
					require.Len(w, w.all(), 1, "nobody has counted it yet")
					w.runJobs()
				}
				time.Sleep(time.Minute)
				require.Equal(w, want, w.numbers(), "%s, controller down: %v", phase, down)
			})
		}
	}
}

// The API server of a busy cluster refuses writes, loses answers, and its clients are killed. Whatever happens:
// each Pod that has ended is in one number once.
func TestEachPodIsCountedOnceWhicheverRequestFails(t *testing.T) {
	status := fakeapi.Match{Verb: "update", Resource: "jobs", Subresource: "status"}
	for _, fault := range []fakeapi.Fault{{Status: fakeapi.Conflict()}, {LoseResponse: true}, {Refuse: true}} {
		what := map[bool]string{fault.LoseResponse: "loses its answer", fault.Refuse: "is cut", fault.Status != nil: "is refused"}[true]
		for _, write := range []fakeapi.Match{status, toPods("patch")} {
			for _, killed := range []bool{false, true} {
				hit := new(atomic.Bool)
				hit.Store(true)
				for skip := 0; hit.Swap(false); skip++ { // until there is no write left that could fail
					t.Run(fmt.Sprintf("%s %d of %s %s, killed: %v", write.Verb, skip, write.Resource, what, killed), func(t *testing.T) {
						inJobs(t, func(w *jobWorld) {
							kill, dead := w.runJobs(), new(atomic.Bool)
							fault := fault
							fault.Match, fault.Skip, fault.Times = write, skip, 1
							fault.OnHit = func(fakeapi.Request) {
								hit.Store(true)
								if killed {
									kill()
									dead.Store(true)
								}
							}
							w.Server.Inject(fault)
							w.create(job(3, 2))
							w.playJob(dead)
						})
					})
				}
			}
		}
	}
}

// playJob ends one Pod after the other, deletes it at once, and counts what the controller should have counted.
func (w *jobWorld) playJob(dead *atomic.Bool) {
	w.Helper()
	var succeeded, failed int32
	for range 6 {
		time.Sleep(time.Minute)
		if dead.Load() {
			w.runJobs()
			dead.Store(false)
			time.Sleep(time.Minute)
		}
		active := w.active()
		if len(active) == 0 {
			break
		}
		if failed < 2 {
			failed++
			w.ends(active[0], corev1.PodFailed)
		} else {
			succeeded++
			w.ends(active[0], corev1.PodSucceeded)
		}
		err := w.Other.CoreV1().Pods("default").Delete(w.ctx, active[0].Name, metav1.DeleteOptions{})
		require.NoError(w, err)
	}
	time.Sleep(time.Minute)
	if dead.Load() {
		w.runJobs()
	}
	require.Equal(w, completed, w.conditions())
	require.Equal(w, [3]int32{0, succeeded, failed}, w.numbers())
	require.EqualValues(w, 3, succeeded, "work was done twice")
	require.Empty(w, w.all(), "a user has deleted all Pods")
}

// A webhook that is down refuses each change of a Pod. The work goes on, and nothing is counted in advance.
func TestAPodIsNotInTheNumberWhileItsFinalizerCannotBeRemoved(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(3, 1))
		lift := w.Server.Inject(fakeapi.Fault{Match: toPods("patch"), Status: fakeapi.Forbidden()})
		for range 3 {
			w.ends(w.active()[0], corev1.PodSucceeded)
			time.Sleep(time.Minute)
		}
		require.Equal(w, [3]int32{0, 0, 0}, w.numbers())
		require.Len(w, w.get().Status.UncountedTerminatedPods.Succeeded, 3)
		require.Equal(w, completed[:1], w.conditions(), "all have succeeded, but not all are counted")
		lift()
		time.Sleep(time.Hour)
		require.Equal(w, [3]int32{0, 3, 0}, w.numbers())
		require.Equal(w, completed, w.conditions())
	})
}

// Failures that are not in the number yet are failures: their Job would get new Pods without end.
func TestAJobFailsWhileTheFinalizersOfItsPodsCannotBeRemoved(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(3, 1, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(1)) }))
		lift := w.Server.Inject(fakeapi.Fault{Match: toPods("patch"), Status: fakeapi.Forbidden()})
		for range 2 {
			w.ends(w.active()[0], corev1.PodFailed)
			time.Sleep(time.Minute)
		}
		require.Equal(w, tooMany[:1], w.conditions())
		require.Empty(w, w.active())
		lift()
		time.Sleep(time.Hour)
		require.Equal(w, tooMany, w.conditions())
		require.Equal(w, [3]int32{0, 0, 2}, w.numbers())
	})
}

// A new leader's cache of Pods may be behind its cache of Jobs: the Pod that the status lists is not there yet.
func TestAPodThatTheCacheDoesNotShowYetIsNotTakenForADeletedOne(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, Skip: 1, Times: 1, DelayEvents: 10 * time.Second})
		old := w.runJobs()
		synctest.Wait()
		late := mini.NewManager(w.Cluster)
		jobs, err := mini.NewJobController(late)
		require.NoError(w, err)
		w.run(late.Run)
		synctest.Wait()
		w.create(job(2, 1))
		w.Server.Inject(fakeapi.Fault{Match: toPods("patch"), Times: 1, OnHit: func(fakeapi.Request) { old() }, Refuse: true})
		w.ends(w.active()[0], corev1.PodSucceeded)
		require.Len(w, w.get().Status.UncountedTerminatedPods.Succeeded, 1, "the old process ended before it removed the finalizer")
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "pods"}, Times: 1, Status: fakeapi.Unavailable()})
		w.run(jobs[0].Run)
		time.Sleep(time.Second) // it asks once more
		require.Contains(w, w.all(), "[]", "it was counted but kept, so when it appears, it'll be counted again")
		time.Sleep(time.Hour)
		require.EqualValues(w, 1, w.get().Status.Succeeded)
	})
}

// A new leader's caches are from before the old one made the Pods and counted them. They agree with each other, and
// there's nothing to write in the status.
func TestAJobWhoseCachesAreFromBeforeItsPodsWereCountedDoesNotMakeThemTwice(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Times: 12, Status: fakeapi.Unavailable()})
		old := w.runJobs()
		w.create(job(2, 2))
		require.Empty(w, w.all(), "the cluster takes no Pods yet")
		require.NotNil(w, w.get().Status.StartTime)
		w.slowWatch("jobs", 10*time.Minute)
		w.slowWatch("pods", 10*time.Minute)
		late := mini.NewManager(w.Cluster)
		jobs, err := mini.NewJobController(late)
		require.NoError(w, err)
		w.run(late.Run)
		time.Sleep(time.Minute) // the old one tries again
		old()
		require.Len(w, w.all(), 2)
		w.run(jobs[0].Run)
		time.Sleep(time.Minute)
		require.Len(w, w.all(), 2, "the Pods are created again")
	})
}

// A broken image fails at once, each time. Six Pods a minute don't help, and 600 are a
// nuisance.
func TestAfterAFailureTheNextPodWaitsTwiceAsLongEachTime(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		kill := w.runJobs()
		w.create(job(2, 1))
		began := time.Now()
		for _, pause := range []time.Duration{10, 20, 40, 80} {
			w.ends(w.active()[0], corev1.PodFailed)
			time.Sleep(pause*time.Second - time.Second)
			require.Empty(w, w.active(), "%s after the failure", time.Since(began))
			kill()
			synctest.Wait()
			kill = w.runJobs() // which remembers nothing
			time.Sleep(2 * time.Second)
			require.Len(w, w.active(), 1, "%s after the failure", time.Since(began))
		}
		w.ends(w.active()[0], corev1.PodSucceeded)
		require.Len(w, w.active(), 1, "it works now")
		time.Sleep(time.Second)
		w.ends(w.active()[0], corev1.PodFailed)
		time.Sleep(11 * time.Second)
		require.Len(w, w.active(), 1, "the first failure after a success")
	})
}

// A Pod that its node evicts or a user deletes may also fail at once. The pause counts
// from then.
func TestAfterAPodThatReportsNoEndTheNextOneWaits(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		inJobs(t, func(w *jobWorld) {
			w.runJobs()
			w.create(job(1, 1))
			pod := w.bind(w.active()[0], "node") // it has 30 seconds to end
			if deleted {
				time.Sleep(time.Hour)
				w.changePodStatus(pod, func(pod *corev1.Pod) {
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{
						{Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
						{Name: "d", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(time.Now().Add(-time.Minute))}}},
					}
				})
				w.deletePod(pod)
			} else {
				w.changePodStatus(pod, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
			}
			time.Sleep(9 * time.Second)
			require.Empty(w, w.active(), "deleted: %v", deleted)
			time.Sleep(2 * time.Second)
			require.Len(w, w.active(), 1, "deleted: %v", deleted)
		})
	}
}

// One Pod works, so the next one may start at once, whatever others do at the same time.
func TestARunningPodIsNotAFailure(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(4, 2))
		w.ends(w.active()[0], corev1.PodFailed)
		time.Sleep(11 * time.Second)
		w.ends(w.active()[0], corev1.PodSucceeded)
		require.Len(w, w.active(), 2)
	})
}

// The longest pause is ten minutes, and the limit ends the Job.
func TestAJobFailsWithTheFailureThatIsOneTooMany(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(3, 2, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(8)) }))
		for failed := range int32(9) {
			require.Equal(w, [3]int32{2, 0, failed}, w.numbers())
			active := w.active()
			if failed == 0 {
				w.bind(active[0], "node") // it takes its time to end
			}
			for _, pod := range w.active() {
				if pod.Spec.NodeName == "" {
					w.ends(pod, corev1.PodFailed)
				}
			}
			time.Sleep(10*time.Minute - time.Second)
			if failed == 7 {
				require.Len(w, w.active(), 1, "all but the one that is on a node have failed")
			}
			time.Sleep(2 * time.Second)
		}
		require.Equal(w, "[FailureTarget BackoffLimitExceeded]", fmt.Sprint(w.conditions()))
		require.Empty(w, w.active(), "the Pod that ran is told to end")
		require.Equal(w, [3]int32{0, 0, 10}, w.numbers(), "and counted as failed")
		require.EqualValues(w, 1, *w.get().Status.Terminating, "a Job is not over while one of its Pods runs")
		pods, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp != nil {
				err := w.Other.CoreV1().Pods("default").Delete(w.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
				require.NoError(w, err)
			}
		}
		require.Equal(w, tooMany, w.conditions())
		require.Equal(w, [3]int32{0, 0, 10}, w.numbers())
	})
}

// A container that restarts in its Pod has failed as well.
func TestRestartsCountAgainstTheLimitOfAPodThatRestartsItsContainers(t *testing.T) {
	for _, limit := range []int32{0, 1, 3} {
		restarts := max(limit, 1)
		inJobs(t, func(w *jobWorld) {
			w.runJobs()
			w.create(job(1, 1, func(s *batchv1.JobSpec) {
				s.BackoffLimit, s.Template.Spec.RestartPolicy = &limit, corev1.RestartPolicyOnFailure
			}))
			fails := func(n int32) {
				pod := w.active()[0]
				w.changePodStatus(pod, func(pod *corev1.Pod) {
					pod.Status.Phase = corev1.PodRunning
					pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", RestartCount: n / 2}}
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: n - n/2}}
				})
				synctest.Wait()
			}
			fails(restarts - 1)
			require.Empty(w, w.conditions(), "%d restarts, backoffLimit %d", restarts-1, limit)
			fails(restarts)
			require.Equal(w, tooMany, w.conditions(), "%d restarts, backoffLimit %d", restarts, limit)
		})
	}
}

// backoffLimit: 0 is for work that must not be done twice. A sidecar that restarts isn't
// a failure.
func TestAJobWithoutRetriesRunsOnce(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(1, 1, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(0)) }))
		pod := w.changePodStatus(w.active()[0], func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar", RestartCount: 3}}
		})
		require.Equal(w, [3]int32{1, 0, 0}, w.numbers())
		w.ends(pod, corev1.PodFailed)
		require.Equal(w, tooMany, w.conditions())
	})
}

// A Job that hangs blocks the next one, and nothing else ends it.
func TestAJobEndsAtItsDeadlineAndItsPodsWithIt(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(3, 3, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }))
		w.ends(w.active()[0], corev1.PodSucceeded)
		time.Sleep(59 * time.Second)
		require.Equal(w, [3]int32{2, 1, 0}, w.numbers())
		time.Sleep(2 * time.Second)
		require.Equal(w, tooLate, w.conditions())
		require.Equal(w, [3]int32{0, 1, 2}, w.numbers())
		require.Len(w, w.all(), 1, "the one that has succeeded stays for its log")
	})
	inJobs(t, func(w *jobWorld) { // between two Pods
		kill := w.runJobs()
		w.create(job(1, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(25)) }))
		w.ends(w.active()[0], corev1.PodFailed)
		time.Sleep(11 * time.Second)
		require.Len(w, w.active(), 1, "the next Pod comes before the deadline")
		w.ends(w.active()[0], corev1.PodFailed)
		kill()
		synctest.Wait()
		w.runJobs() // which has set no timer before
		time.Sleep(15 * time.Second)
		require.Equal(w, tooLate, w.conditions(), "the deadline comes before the next Pod")
	})
}

// Once a Job has failed, a Pod that succeeds late must not make it complete.
func TestTheVerdictStays(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(1, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }))
		pod := w.bind(w.active()[0], "node")
		time.Sleep(61 * time.Second)
		require.Equal(w, "[FailureTarget DeadlineExceeded]", fmt.Sprint(w.conditions()))
		pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, pod.Name, metav1.GetOptions{})
		require.NoError(w, err)
		w.ends(pod, corev1.PodSucceeded)
		require.Equal(w, tooLate, w.conditions())
		require.Equal(w, [3]int32{0, 0, 1}, w.numbers(), "it was counted when it was deleted")
	})
}

// kubectl patch job sum -p '{"spec":{"suspend":true}}': a queue of Jobs does so all the time.
func TestASuspendedJobHasNoPodsAndItsPauseDoesNotCount(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		suspend := func(yes bool) func(*batchv1.JobSpec) { return func(s *batchv1.JobSpec) { s.Suspend = &yes } }
		w.create(job(3, 2, suspend(true), func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }))
		require.Nil(w, w.get().Status.StartTime, "it has not begun")
		require.Equal(w, []string{"Suspended JobSuspended"}, w.conditions())
		since := w.get().Status.Conditions
		time.Sleep(time.Hour)
		w.change(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(3)) })
		require.Equal(w, since, w.get().Status.Conditions, "it has been suspended since then, not just since now")
		w.change(suspend(false))
		require.Empty(w, w.conditions())
		w.ends(w.active()[0], corev1.PodSucceeded)
		require.Equal(w, [3]int32{2, 1, 0}, w.numbers())
		time.Sleep(50 * time.Second)
		w.change(suspend(true))
		require.Empty(w, w.active())
		require.Equal(w, [3]int32{0, 1, 0}, w.numbers(), "the user stopped two Pods: they have not failed")
		require.Nil(w, w.get().Status.StartTime, "a queue may change where the Job's Pods run as long as it has none")
		time.Sleep(time.Hour)
		w.change(suspend(false))
		require.Equal(w, [3]int32{2, 1, 0}, w.numbers(), "without a pause, because nothing has failed")
		time.Sleep(59 * time.Second)
		require.Len(w, w.active(), 2, "the deadline starts over")
		time.Sleep(2 * time.Second)
		require.Equal(w, tooLate, w.conditions())
	})
}

// Up to v1.35, a Job kept its start in a pause. It would stay "Suspended", and its pause would count.
func TestAJobThatAnOlderControllerHasSuspendedIsResumed(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		job := w.create(job(1, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }))
		job.Status.StartTime = new(metav1.Now())
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
		_, err := w.Other.BatchV1().Jobs("default").UpdateStatus(w.ctx, job, metav1.UpdateOptions{})
		require.NoError(w, err)
		time.Sleep(time.Hour)
		w.runJobs()
		require.Empty(w, w.conditions())
		require.Equal(w, time.Now().Unix(), w.get().Status.StartTime.Unix())
	})
}

// A Pod may succeed before it learns of the pause. The API server refuses the end of a Job without a start, each time.
func TestAJobWhoseLastPodSucceedsInAPauseIsComplete(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		kill := w.runJobs()
		job := w.create(job(1, 1, func(s *batchv1.JobSpec) { s.Suspend = new(true) }))
		kill()
		pod := &corev1.Pod{Spec: job.Spec.Template.Spec}
		pod.Name, pod.Finalizers, pod.Labels = "late", []string{batchv1.JobTrackingFinalizer}, job.Spec.Template.Labels
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		created, err := w.Other.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
		require.NoError(w, err)
		created.Status.Phase = corev1.PodSucceeded
		_, err = w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, created, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.runJobs()
		require.Contains(w, w.conditions(), "Complete CompletionsReached")
	})
}

// The Pods that a pause has stopped take their time to end, and the Job would wait as after failures.
func TestAJobThatIsResumedDoesNotWaitForThePodsThatItsPauseHasStopped(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(3, 3))
		for _, pod := range w.active() {
			w.bind(pod, "node") // now it has 30 seconds to end
		}
		w.change(func(s *batchv1.JobSpec) { s.Suspend = new(true) })
		require.Empty(w, w.active())
		time.Sleep(time.Second)
		w.change(func(s *batchv1.JobSpec) { s.Suspend = new(false) })
		require.Len(w, w.active(), 3)
		require.EqualValues(w, 3, *w.get().Status.Terminating)
	})
}

// kubectl patch job sum -p '{"spec":{"parallelism":1}}'
func TestPodsThatAreDeletedForLessParallelismHaveNotFailed(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(5, 4))
		useful := w.ready(w.bind(w.active()[2], "node"))
		w.change(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(1)) })
		require.Equal(w, []string{useful.Name}, names(w.active()))
		require.Equal(w, [3]int32{1, 0, 0}, w.numbers())
		require.EqualValues(w, 1, *w.get().Status.Ready)
		w.change(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(3)) })
		require.Equal(w, [3]int32{3, 0, 0}, w.numbers())
		require.EqualValues(w, 1, *w.get().Status.Ready)
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Times: 5, Status: fakeapi.Forbidden()})
		w.change(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(2)) })
		time.Sleep(time.Minute)
		require.Equal(w, [3]int32{2, 0, 0}, w.numbers(), "a deletion that fails is tried again")
	})
}

// kubectl delete job: the garbage collector deletes the Pods, and the finalizers would keep them forever.
func TestThePodsOfADeletedJobCanBeDeleted(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		inJobs(t, func(w *jobWorld) {
			w.runJobs()
			manager := mini.NewManager(w.Cluster)
			collector, err := mini.NewGarbageCollector(manager, &batchv1.Job{}, &corev1.Pod{})
			require.NoError(w, err)
			for _, c := range collector {
				manager.AddController(c)
			}
			w.run(manager.Run)
			w.create(job(3, 2))
			w.ends(w.active()[0], corev1.PodSucceeded)
			require.Len(w, w.all(), 3)
			err = w.Other.BatchV1().Jobs("default").Delete(w.ctx, "sum", metav1.DeleteOptions{PropagationPolicy: &policy})
			require.NoError(w, err)
			synctest.Wait()
			time.Sleep(time.Minute)
			left, err := w.Other.BatchV1().Jobs("default").List(w.ctx, metav1.ListOptions{})
			require.NoError(w, err)
			require.Empty(w, left.Items)
			if policy == metav1.DeletePropagationOrphan {
				require.Equal(w, slices.Repeat([]string{"[]"}, 3), w.all(), "a user can delete them")
			} else {
				require.Empty(w, w.all(), "%s", policy)
			}
		})
	}
}

// Its Pods are deleted with it, and a new one would be left over.
func TestAJobThatIsBeingDeletedStartsNothing(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		sum := job(3, 1)
		sum.Finalizers = []string{"example.com/wait"}
		w.create(sum)
		require.NoError(w, w.Other.BatchV1().Jobs("default").Delete(w.ctx, "sum", metav1.DeleteOptions{}))
		w.ends(w.active()[0], corev1.PodSucceeded)
		time.Sleep(time.Minute)
		require.Empty(w, w.active())
	})
}

// The last event of the Pod comes while the cache still shows the Job: the end of the Job has to wake it.
func TestAPodThatIsDeletedBeforeTheCacheShowsTheEndOfItsJobIsLetGo(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.slowWatch("jobs", 10*time.Second)
		w.runJobs()
		w.create(job(1, 1))
		time.Sleep(time.Minute)
		pod := w.active()[0]
		err := w.Other.BatchV1().Jobs("default").Delete(w.ctx, "sum", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		require.NoError(w, err)
		w.deletePod(pod)
		require.Len(w, w.all(), 1, "the cache shows a Job that would count it")
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get", Resource: "jobs"}, Times: 5, Status: fakeapi.Unavailable()})
		time.Sleep(time.Minute)
		require.Empty(w, w.all())
	})
}

// Another process has just ended the Job, and one of its last requests creates a Pod. Our cache shows the Job as it was.
func TestAPodThatComesBeforeTheCacheShowsThatItsJobIsOverIsLetGo(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.slowWatch("jobs", 10*time.Second)
		w.runJobs()
		w.create(job(1, 1))
		time.Sleep(time.Minute)
		w.finished(w.get())
		w.tracked("late", *metav1.NewControllerRef(w.get(), batchv1.SchemeGroupVersion.WithKind("Job")))
		require.NotContains(w, w.all(), "[]", "the cache shows a Job that would count it")
		time.Sleep(time.Minute)
		require.Equal(w, []string{"[]", "[]"}, w.all())
	})
}

// finished is what another controller reports.
func (w *jobWorld) finished(job *batchv1.Job) {
	w.Helper()
	now := metav1.Now()
	job.Status = batchv1.JobStatus{
		StartTime: cmp.Or(job.Status.StartTime, &now), CompletionTime: &now, Succeeded: 1, Terminating: new(int32(0)),
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
		},
	}
	_, err := w.Other.BatchV1().Jobs("default").UpdateStatus(w.ctx, job, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// tracked creates a Pod that some Job is to count.
func (w *jobWorld) tracked(name string, owners ...metav1.OwnerReference) {
	w.Helper()
	pod := &corev1.Pod{Spec: job(1, 1).Spec.Template.Spec}
	pod.Name, pod.Finalizers, pod.OwnerReferences = name, []string{batchv1.JobTrackingFinalizer}, owners
	_, err := w.Other.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w, err)
	synctest.Wait()
}

// kubectl delete pod would wait forever.
func TestAPodWhoseOwnerAUserHasRemovedIsLetGo(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.tracked("free")
		require.Equal(w, []string{"[]"}, w.all())
	})
}

// At the end of a Job with a thousand Pods, each of them is looked at once more.
func TestAPodThatTheCacheShowsCostsNoReadOfTheAPIServer(t *testing.T) {
	for _, n := range []int32{1, 10} {
		inJobs(t, func(w *jobWorld) {
			w.runJobs()
			w.create(job(n, n))
			pods := w.active()
			w.Server.ForgetRequests()
			for _, pod := range pods {
				w.ends(pod, corev1.PodSucceeded)
			}
			require.Zero(w, w.requestsTo("list", "pods"), "it exists")
			require.Less(w, w.requestsTo("get", "jobs"), 10, "a Pod without our finalizer needs no Job")
			require.Equal(w, completed, w.conditions())
		})
	}
}

// A Job is deleted and created again under its name while its old Pods end.
func TestAJobDoesNotCountThePodsOfItsPredecessor(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		kill := w.runJobs()
		w.create(job(1, 1))
		old := w.active()[0]
		kill()
		synctest.Wait()
		err := w.Other.BatchV1().Jobs("default").Delete(w.ctx, "sum", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		require.NoError(w, err)
		w.create(job(1, 1))
		w.ends(old, corev1.PodSucceeded)
		w.runJobs()
		time.Sleep(time.Second)
		require.Equal(w, [3]int32{1, 0, 0}, w.numbers())
		require.Contains(w, w.all(), "[]", "the old Pod is let go")
		require.Len(w, w.all(), 2)
	})
}

// Without its finalizer, a Pod that another process has just created for a new Job would not be counted.
func TestAPodWhoseJobTheCacheDoesNotShowYetKeepsItsFinalizer(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.slowWatch("jobs", 10*time.Second)
		w.runJobs()
		synctest.Wait()
		owner := w.create(job(1, 1))
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get", Resource: "jobs"}, Times: 3, Status: fakeapi.Unavailable()})
		w.tracked("early", *metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job")))
		time.Sleep(5 * time.Second)
		require.Equal(w, []string{"[batch.kubernetes.io/job-tracking]"}, w.all())
	})
}

// Another controller, such as a queue for machine learning, keeps its own books.
func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(1, 1, func(s *batchv1.JobSpec) { s.ManagedBy = new("example.com/queue") }))
		require.Empty(w, w.all())
		require.Empty(w, w.get().Status)
		for _, ref := range []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "Job", Name: "sum", UID: w.get().UID, Controller: new(true)},
			{APIVersion: "example.com/v1", Kind: "Job", Name: "x", UID: "x", Controller: new(true)},
			{APIVersion: "batch/v1", Kind: "CronJob", Name: "y", UID: "y", Controller: new(true)},
		} {
			w.tracked(ref.Name, ref)
		}
		w.finished(w.get())
		require.Equal(w, slices.Repeat([]string{"[batch.kubernetes.io/job-tracking]"}, 3), w.all())
	})
}

// unsupported is the reason and the message of the condition, or "" if it isn't true.
func (w *jobWorld) unsupported() (reason, message string) {
	w.Helper()
	for _, c := range w.get().Status.Conditions {
		if c.Type == "loopwright.dev/Unsupported" && c.Status == corev1.ConditionTrue {
			return c.Reason, c.Message
		}
	}
	return "", ""
}

// Running such a Job in the wrong way would be worse than not running it. Its user looks
// into its status, and not into the controller's log.
func TestAJobThatMiniCannotRunIsNotBegunAndItsStatusSaysWhy(t *testing.T) {
	for _, test := range []struct {
		reason, field string
		change        func(*batchv1.JobSpec)
	}{
		{"IndexedCompletion", "completionMode: Indexed", func(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.IndexedCompletion) }},
		{"PodReplacementPolicy", "podReplacementPolicy: Failed", func(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.Failed) }},
		{"PodReplacementPolicy", "podFailurePolicy", func(s *batchv1.JobSpec) { s.PodFailurePolicy = &batchv1.PodFailurePolicy{} }},
	} {
		inJobs(t, func(w *jobWorld) {
			w.runJobs()
			w.create(job(1, 1, test.change))
			require.Empty(w, w.all())
			reason, message := w.unsupported()
			require.Equal(w, test.reason, reason)
			require.Contains(w, message, test.field, "a user has to know what to change")
			require.Len(w, w.get().Status.Conditions, 1, "it hasn't failed: another controller could run it")
			time.Sleep(time.Hour)
			require.Equal(w, 1, w.requestsTo("update", "jobs"), "it's said once")
			require.LessOrEqual(w, w.reconciles("sum", time.Hour), 2, "the Job itself and our own write, and no retries")
		})
	}
}

// A user who has read the condition makes the Job one that mini runs.
func TestAJobThatMiniCanRunAfterAChangeRuns(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(1, 1, func(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.Failed) }))
		reason, _ := w.unsupported()
		require.NotEmpty(w, reason)
		w.change(func(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.TerminatingOrFailed) })
		reason, _ = w.unsupported()
		require.Empty(w, reason, "mini runs it now")
		w.ends(w.active()[0], corev1.PodSucceeded)
		time.Sleep(time.Second)
		require.Equal(w, completed, w.conditions())
	})
}

// kubectl delete job --cascade=foreground would hang: the Job waits for a Pod, and the Pod for the Job's finalizer.
func TestAJobThatMiniNoLongerRunsCanBeDeleted(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.runJobs()
		w.create(job(1, 1))
		w.change(func(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.Failed) })
		reason, _ := w.unsupported()
		require.NotEmpty(w, reason)
		require.Equal(w, []string{"[batch.kubernetes.io/job-tracking]"}, w.all())
		require.NoError(w, w.Other.BatchV1().Jobs("default").Delete(w.ctx, "sum",
			metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		require.Equal(w, []string{"[]"}, w.all())
	})
}

// A status of 10,000 UIDs is too large for etcd, and one huge Job must not keep a worker from all others.
func TestNoMoreThanFiveHundredPodsAreInTheStatusAndAllAreCounted(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		kill := w.runJobs()
		w.create(job(700, 700, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(100)) }))
		time.Sleep(time.Second)
		require.Len(w, w.active(), 700)
		kill()
		synctest.Wait()
		for i, pod := range w.active() {
			if i%14 == 0 {
				w.ends(pod, corev1.PodFailed)
			} else {
				w.ends(pod, corev1.PodSucceeded)
			}
		}
		most := 0
		jobs, err := w.Other.BatchV1().Jobs("default").Watch(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		w.run(func(context.Context) error {
			for event := range jobs.ResultChan() {
				if job, ok := event.Object.(*batchv1.Job); ok {
					u := job.Status.UncountedTerminatedPods
					most = max(most, len(u.Succeeded)+len(u.Failed))
				}
			}
			return nil
		})
		w.Server.ForgetRequests()
		w.runJobs()
		time.Sleep(time.Minute)
		require.Equal(w, [3]int32{50, 650, 50}, w.numbers())
		require.Equal(w, 500, most)
		require.Equal(w, 50, w.requestsTo("create", "pods"), "no Pod too many while 200 were neither active nor in the status")
	})
}

// An error that isn't returned isn't retried.
func TestAJobThatCannotBeReadIsAFailure(t *testing.T) {
	for _, resource := range []string{"jobs", "pods"} {
		inJobs(t, func(w *jobWorld) {
			w.create(job(1, 1))
			w.tracked("pod")
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
			m := mini.NewManager(w.Cluster)
			jobs, err := mini.NewJobController(m)
			require.NoError(w, err)
			w.run(m.Cache.Run)
			require.Error(w, w.once(jobs[0], mini.Request{Namespace: "default", Name: "sum"}), "there are no %s in the cache", resource)
			gone := mini.Request{Namespace: "default", Name: "gone"}
			if resource == "pods" {
				require.Error(w, w.once(jobs[1], mini.Request{Namespace: "default", Name: "pod"}))
				require.NoError(w, w.once(jobs[0], gone))
			} else {
				require.NoError(w, w.once(jobs[1], gone))
			}
		})
	}
}

// One Job whose Pods are created slowly must not keep the others waiting, and more workers would send
// more requests at once.
func TestFiveJobsAreReconciledAtTheSameTime(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Delay: time.Second})
		w.runJobs()
		for i := range 7 {
			job := job(1, 1)
			job.Name = fmt.Sprint("sum-", i)
			w.create(job)
		}
		time.Sleep(time.Minute)
		require.Equal(w, 5, w.atOnce("job"))
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error would say so.
func TestTheJobControllerNeedsBothKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := mini.NewJobController(w.withKinds(&batchv1.Job{}, &corev1.Pod{}))
		require.NoError(w, err)
		for _, kind := range []runtime.Object{&batchv1.Job{}, &corev1.Pod{}} {
			_, err := mini.NewJobController(w.withKinds(kind))
			require.Error(w, err, "the scheme has one of two kinds")
		}
	})
}

// reconciles returns how often something of this name was reconciled lately.
func (w *world) reconciles(name string, last time.Duration) (n int) {
	for _, e := range w.Cluster.Trace.Events() {
		if e.Kind == trace.ReconcileStart && e.Name == name && time.Since(w.Cluster.Trace.Started())-e.At <= last {
			n++
		}
	}
	return n
}
