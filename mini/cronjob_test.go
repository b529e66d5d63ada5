package mini_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// cronWorld has CronJobs. Its clock begins at midnight (UTC) on the first of January 2000.
type cronWorld struct{ *world }

func inCron(t *testing.T, test func(w *cronWorld)) {
	t.Helper()
	inMemory(t, func(w *world) { test(&cronWorld{w}) })
}

// runCron runs the controller in a manager. To kill it is to end the process.
func (w *cronWorld) runCron() (kill context.CancelFunc) {
	w.Helper()
	manager := mini.NewManager(w.Cluster)
	c, err := mini.NewCronJobController(manager)
	require.NoError(w, err)
	manager.AddController(c)
	ctx, kill := context.WithCancel(w.ctx)
	w.run(func(context.Context) error { return manager.Run(ctx) })
	return kill
}

// sleepUntil sleeps until a moment, such as "01-02 15:04".
func (w *cronWorld) sleepUntil(moment string) {
	w.Helper()
	at, err := time.Parse("2006-01-02 15:04", "2000-"+moment)
	require.NoError(w, err)
	time.Sleep(time.Until(at))
}

func cronJob(schedule string, changes ...func(*batchv1.CronJobSpec)) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "backup"}, Spec: batchv1.CronJobSpec{Schedule: schedule}}
	cj.Spec.JobTemplate.Labels = map[string]string{"app": "backup"}
	cj.Spec.JobTemplate.Annotations = map[string]string{"team": "storage"}
	cj.Spec.JobTemplate.Spec = job(1, 1).Spec
	for _, change := range changes {
		change(&cj.Spec)
	}
	return cj
}

func zone(name string) func(*batchv1.CronJobSpec) {
	return func(s *batchv1.CronJobSpec) { s.TimeZone = &name }
}

func startsWithin(seconds int64) func(*batchv1.CronJobSpec) {
	return func(s *batchv1.CronJobSpec) { s.StartingDeadlineSeconds = &seconds }
}

func policy(p batchv1.ConcurrencyPolicy) func(*batchv1.CronJobSpec) {
	return func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = p }
}

func suspended(yes bool) func(*batchv1.CronJobSpec) {
	return func(s *batchv1.CronJobSpec) { s.Suspend = &yes }
}

func keeps(succeeded, failed int32) func(*batchv1.CronJobSpec) {
	return func(s *batchv1.CronJobSpec) {
		s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = &succeeded, &failed
	}
}

func (w *cronWorld) create(cj *batchv1.CronJob) *batchv1.CronJob {
	w.Helper()
	cj, err := w.Other.BatchV1().CronJobs("default").Create(w.ctx, cj, metav1.CreateOptions{})
	require.NoError(w, err)
	synctest.Wait()
	return cj
}

func (w *cronWorld) get() *batchv1.CronJob {
	w.Helper()
	synctest.Wait()
	cj, err := w.Other.BatchV1().CronJobs("default").Get(w.ctx, "backup", metav1.GetOptions{})
	require.NoError(w, err)
	return cj
}

func (w *cronWorld) change(changes ...func(*batchv1.CronJobSpec)) {
	w.Helper()
	cj := w.get()
	for _, change := range changes {
		change(&cj.Spec)
	}
	_, err := w.Other.BatchV1().CronJobs("default").Update(w.ctx, cj, metav1.UpdateOptions{})
	require.NoError(w, err)
	synctest.Wait()
}

// jobs are the starts of all Jobs, by their names.
func (w *cronWorld) jobs() (starts []string) {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.BatchV1().Jobs("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, job := range list.Items {
		var minutes int64
		_, err := fmt.Sscanf(job.Name, "backup-%d", &minutes)
		require.NoError(w, err)
		starts = append(starts, time.Unix(60*minutes, 0).UTC().Format("01-02 15:04"))
	}
	return starts
}

// active are the starts of the Jobs in the status.
func (w *cronWorld) active() (n int) { return len(w.get().Status.Active) }

// ends is what the Job controller reports about all Jobs that have not ended.
func (w *cronWorld) ends(kind batchv1.JobConditionType) {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.BatchV1().Jobs("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, job := range list.Items {
		if len(job.Status.Conditions) > 0 {
			continue
		}
		job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
		if kind == batchv1.JobComplete {
			job.Status.CompletionTime = new(metav1.Now())
		}
		_, err := w.Other.BatchV1().Jobs("default").UpdateStatus(w.ctx, &job, metav1.UpdateOptions{})
		if !apierrors.IsNotFound(err) {
			require.NoError(w, err)
		}
	}
	synctest.Wait()
}

// What a user writes into the schedule is when the work is done.
func TestEachStartMakesAJobAtItsTime(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		time.Sleep(30 * time.Second)
		cj := w.create(cronJob("*/20 * * * *"))
		require.Empty(w, w.jobs(), "midnight was before it was created")
		w.sleepUntil("01-01 00:19")
		w.Server.ForgetRequests()
		w.sleepUntil("01-01 00:20")
		require.Equal(w, []string{"01-01 00:20"}, w.jobs())
		require.Equal(w, 2, len(w.Server.Requests(fakeapi.Match{Verb: "create"}))+len(w.Server.Requests(fakeapi.Match{Verb: "update"})))
		job, err := w.Other.BatchV1().Jobs("default").Get(w.ctx, "backup-15778100", metav1.GetOptions{})
		require.NoError(w, err)
		require.True(w, metav1.IsControlledBy(job, cj), "the garbage collector has to know whose it is")
		require.Equal(w, map[string]string{"app": "backup"}, job.Labels)
		require.Equal(w, map[string]string{
			"team": "storage", batchv1.CronJobScheduledTimestampAnnotation: "2000-01-01T00:20:00Z",
		}, job.Annotations)
		require.Equal(w, cj.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image, job.Spec.Template.Spec.Containers[0].Image)
		status := w.get().Status
		require.Equal(w, "2000-01-01T00:20:00Z", status.LastScheduleTime.UTC().Format(time.RFC3339))
		require.Equal(w, []corev1.ObjectReference{{
			APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: job.Name, UID: job.UID,
		}}, status.Active)
		w.sleepUntil("01-01 01:01")
		require.Equal(w, []string{"01-01 00:20", "01-01 00:40", "01-01 01:00"}, w.jobs())
	})
}

// The controller was down over Christmas. To start 14,000 backups now would stop the cluster.
func TestOfManyMissedStartsOnlyTheLastOneIsMadeUpFor(t *testing.T) {
	for _, c := range [][2]string{
		{"* * * * *", "11-13 07:31"}, {"5 3 * * *", "11-13 03:05"}, {"30 8-16/4 * * 1-5", "11-10 16:30"},
		{"0 0 1 1-3 *", "03-01 00:00"}, {"* * 2 6 *", "06-02 23:59"},
	} {
		schedule, last := c[0], c[1]
		inCron(t, func(w *cronWorld) {
			w.create(cronJob(schedule))
			w.sleepUntil("11-13 07:31") // a Monday
			w.runCron()
			require.Equal(w, []string{last}, w.jobs(), schedule)
		})
	}
}

// A report for nine o'clock is useless at noon.
func TestAMissedStartThatIsTooOldIsNotMadeUpFor(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.create(cronJob("0 9 * * *", startsWithin(3600)))
		w.sleepUntil("01-01 10:01")
		w.runCron()
		require.Empty(w, w.jobs())
		w.sleepUntil("01-02 09:01")
		require.Equal(w, []string{"01-02 09:00"}, w.jobs(), "the next one starts at its time")
	})
	inCron(t, func(w *cronWorld) {
		w.create(cronJob("0 9 * * *", startsWithin(3600)))
		w.sleepUntil("01-01 09:59")
		w.runCron()
		require.Equal(w, []string{"01-01 09:00"}, w.jobs())
	})
}

// A backup that runs twice at the same time may destroy what it saves.
func TestAStartMakesOneJobWhicheverRequestFails(t *testing.T) {
	for _, fault := range []fakeapi.Fault{{Status: fakeapi.Conflict()}, {LoseResponse: true}, {Refuse: true}} {
		for _, write := range []fakeapi.Match{
			{Verb: "create", Resource: "jobs"}, {Verb: "update", Resource: "cronjobs"},
		} {
			for _, killed := range []bool{false, true} {
				for _, p := range []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent} {
					what := map[bool]string{fault.LoseResponse: "loses its answer", fault.Refuse: "is cut", fault.Status != nil: "is refused"}[true]
					t.Run(fmt.Sprintf("%s of %s %s, killed: %v, %s", write.Verb, write.Resource, what, killed, p), func(t *testing.T) {
						inCron(t, func(w *cronWorld) {
							kill := w.runCron()
							fault.Match, fault.Times = write, 1
							if killed {
								fault.OnHit = func(fakeapi.Request) { kill() }
							}
							w.create(cronJob("0 * * * *", policy(p)))
							w.sleepUntil("01-01 00:59")
							w.Server.Inject(fault)
							w.sleepUntil("01-01 01:01")
							if killed {
								w.runCron()
							}
							w.sleepUntil("01-01 01:30")
							require.Equal(w, []string{"01-01 01:00"}, w.jobs())
							require.Equal(w, 1, w.active())
							w.ends(batchv1.JobComplete)
							w.sleepUntil("01-01 01:59")
							require.Equal(w, []string{"01-01 01:00"}, w.jobs(), "not even when the first one has ended")
							require.Zero(w, w.active())
							require.Equal(w, "2000-01-01T01:00:00Z", w.get().Status.LastScheduleTime.UTC().Format(time.RFC3339))
							created := 1 + len(w.Server.Requests(fakeapi.Match{Verb: "delete", Resource: "jobs"}))
							require.Equal(w, 1, created, "nothing was replaced: there was only one")
							w.sleepUntil("01-01 02:01")
							require.Equal(w, []string{"01-01 01:00", "01-01 02:00"}, w.jobs())
						})
					})
				}
			}
		}
	}
}

// A rollout of the controller runs two processes for a moment.
func TestTwoProcessesThatStartAtTheSameTimeMakeOneJob(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.slowWatch("jobs", time.Second)
		w.slowWatch("cronjobs", time.Second)
		w.runCron()
		w.runCron()
		w.create(cronJob("0 * * * *"))
		w.sleepUntil("01-01 02:30")
		require.Equal(w, []string{"01-01 01:00", "01-01 02:00"}, w.jobs())
		require.Equal(w, 2, w.active())
	})
}

// The first process ended between the two writes, and the cache of the second one is late: that is no failure.
func TestAJobThatTheCacheDoesNotShowYetIsFound(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.create(cronJob("0 * * * *"))
		w.sleepUntil("01-01 01:10")
		w.slowWatch("jobs", time.Hour)
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update", Resource: "cronjobs"}, Times: 1, Refuse: true})
		for _, fails := range []bool{true, false} {
			m := mini.NewManager(w.Cluster)
			c, err := mini.NewCronJobController(m)
			require.NoError(w, err)
			if !fails { // its list is from the time before the Job
				w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "jobs"}, Times: 1, Stale: 1})
			}
			w.run(m.Cache.Run)
			err = w.once(c, mini.Request{Namespace: "default", Name: "backup"})
			require.Equal(w, fails, err != nil, "%v", err)
		}
		job, err := w.Other.BatchV1().Jobs("default").Get(w.ctx, "backup-15778140", metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, job.UID, w.get().Status.Active[0].UID)
	})
}

// The Job may be deleted as soon as it has succeeded. Its start must be in the status by
// then, or it would start again.
func TestAJobIsForgottenOnlyWhenItsStartIsInTheStatus(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *", keeps(0, 0)))
		w.sleepUntil("01-01 00:59")
		lift := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update", Resource: "cronjobs"}, Status: fakeapi.Conflict()})
		w.sleepUntil("01-01 01:01")
		w.ends(batchv1.JobComplete)
		w.sleepUntil("01-01 01:02")
		require.Equal(w, []string{"01-01 01:00"}, w.jobs())
		lift()
		w.sleepUntil("01-01 01:59")
		require.Empty(w, w.jobs())
		require.Equal(w, "2000-01-01T01:00:00Z", w.get().Status.LastScheduleTime.UTC().Format(time.RFC3339))
	})
}

// A Job that a user has made under the name is not ours: we must neither count nor delete it.
func TestANameThatIsTakenIsAFailureOfThisStartOnly(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		taken := job(1, 1)
		taken.Name = "backup-15778140" // at one o'clock
		_, err := w.Other.BatchV1().Jobs("default").Create(w.ctx, taken, metav1.CreateOptions{})
		require.NoError(w, err)
		w.create(cronJob("0 * * * *"))
		w.sleepUntil("01-01 01:30")
		require.Zero(w, w.active())
		require.Nil(w, w.get().Status.LastScheduleTime, "nothing was started")
		w.sleepUntil("01-01 02:30")
		require.Equal(w, []string{"01-01 01:00", "01-01 02:00"}, w.jobs())
		require.Equal(w, 1, w.active())
	})
}

// Jobs that must not run at the same time, because they write to the same place.
func TestWithForbidAStartWaitsForTheEndOfTheActiveJob(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *", policy(batchv1.ForbidConcurrent)))
		w.sleepUntil("01-01 03:20")
		require.Equal(w, []string{"01-01 01:00"}, w.jobs())
		w.ends(batchv1.JobFailed)
		require.Equal(w, []string{"01-01 01:00", "01-01 03:00"}, w.jobs(), "the last start is made up for")
		require.Equal(w, 1, w.active())
	})
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *", policy(batchv1.ForbidConcurrent), startsWithin(60)))
		w.sleepUntil("01-01 02:20")
		w.ends(batchv1.JobComplete)
		require.Equal(w, []string{"01-01 01:00"}, w.jobs(), "unless it's too late")
		w.sleepUntil("01-01 03:01")
		require.Equal(w, []string{"01-01 01:00", "01-01 03:00"}, w.jobs())
	})
}

// kubectl create job --from=cronjob/backup: a run by hand may take hours.
func TestAJobThatAUserHasCreatedFromItBlocksNoStartAndIsNotReplaced(t *testing.T) {
	for _, p := range []batchv1.ConcurrencyPolicy{batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent} {
		inCron(t, func(w *cronWorld) {
			w.runCron()
			cj := w.create(cronJob("0 * * * *", policy(p)))
			owner := metav1.NewControllerRef(cj, batchv1.SchemeGroupVersion.WithKind("CronJob"))
			byHand := &batchv1.Job{Spec: cj.Spec.JobTemplate.Spec}
			byHand.Name, byHand.OwnerReferences = "backup-0", []metav1.OwnerReference{*owner}
			_, err := w.Other.BatchV1().Jobs("default").Create(w.ctx, byHand, metav1.CreateOptions{})
			require.NoError(w, err)
			require.Zero(w, w.active(), "no start has made it")
			w.sleepUntil("01-01 01:01")
			require.Equal(w, []string{"01-01 00:00", "01-01 01:00"}, w.jobs(), p)
			require.Equal(w, 1, w.active())
		})
	}
}

// Only the newest data matter, so a Job that still works on old data may be deleted.
func TestWithReplaceTheActiveJobIsDeletedWithItsPods(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *", policy(batchv1.ReplaceConcurrent)))
		w.sleepUntil("01-01 01:30")
		w.ends(batchv1.JobComplete)
		w.sleepUntil("01-01 03:01")
		require.Equal(w, []string{"01-01 01:00", "01-01 03:00"}, w.jobs(), "what has ended stays")
		require.Equal(w, 1, w.active())
		require.Empty(w, w.get().Finalizers)
		list, err := w.Other.BatchV1().Jobs("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		for _, job := range list.Items {
			require.Nil(w, job.DeletionTimestamp, "an orphaning deletion would wait for the garbage collector")
		}
	})
}

// Two Jobs would work on the same data, and old ones would stay until the next start.
func TestADeletionOfAJobThatFailsIsTriedAgain(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *", policy(batchv1.ReplaceConcurrent), keeps(0, 0)))
		w.sleepUntil("01-01 01:30")
		deletions := fakeapi.Match{Verb: "delete", Resource: "jobs"}
		lift := w.Server.Inject(fakeapi.Fault{Match: deletions, Status: fakeapi.Forbidden()})
		w.sleepUntil("01-01 02:10")
		require.Equal(w, []string{"01-01 01:00"}, w.jobs())
		lift()
		w.sleepUntil("01-01 02:30")
		require.Equal(w, []string{"01-01 02:00"}, w.jobs())
		w.Server.Inject(fakeapi.Fault{Match: deletions, Times: 5, Status: fakeapi.Forbidden()})
		w.ends(batchv1.JobComplete)
		w.sleepUntil("01-01 02:40")
		require.Empty(w, w.jobs())
	})
}

// A Job of another controller may have the CronJob as one more owner: that must not end its work.
func TestAJobOfAnotherControllerIsNeitherCountedNorReplaced(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		cj := w.create(cronJob("0 * * * *", policy(batchv1.ReplaceConcurrent)))
		_, err := w.Other.BatchV1().Jobs("default").Create(w.ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "backup-0", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "batch/v1", Kind: "CronJob", Name: cj.Name, UID: cj.UID},
				{APIVersion: "example.com/v1", Kind: "Plan", Name: "p", UID: "p", Controller: new(true)},
			}},
			Spec: batchv1.JobSpec{Template: cj.Spec.JobTemplate.Spec.Template},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.sleepUntil("01-01 02:01")
		require.Equal(w, []string{"01-01 00:00", "01-01 02:00"}, w.jobs(), "its name is that of 1970")
		require.Equal(w, 1, w.active())
	})
}

// The default.
func TestWithAllowJobsRunSideBySide(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *", func(s *batchv1.CronJobSpec) { s.JobTemplate.Annotations = nil }))
		w.sleepUntil("01-01 03:01")
		require.Equal(w, 3, w.active())
		w.ends(batchv1.JobComplete)
		require.Zero(w, w.active())
		require.Equal(w, "2000-01-01T03:01:00Z", w.get().Status.LastSuccessfulTime.UTC().Format(time.RFC3339))
		w.sleepUntil("01-01 04:01")
		w.ends(batchv1.JobFailed)
		require.Equal(w, "2000-01-01T03:01:00Z", w.get().Status.LastSuccessfulTime.UTC().Format(time.RFC3339))
		w.sleepUntil("01-01 05:01")
		w.ends(batchv1.JobComplete)
		require.Equal(w, "2000-01-01T05:01:00Z", w.get().Status.LastSuccessfulTime.UTC().Format(time.RFC3339))
	})
}

// Without a limit, a Job a minute fills etcd in a week.
func TestTheOldestJobsOfEachKindAreDeleted(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *")) // the API server's defaults: 3 and 1
		for hour := range 8 {
			w.sleepUntil(fmt.Sprintf("01-01 %02d:30", hour+1))
			if hour%2 == 0 {
				w.ends(batchv1.JobComplete)
			} else {
				w.ends(batchv1.JobFailed)
			}
		}
		require.Equal(w, []string{"01-01 03:00", "01-01 05:00", "01-01 07:00", "01-01 08:00"}, w.jobs())
		w.change(keeps(1, 0))
		require.Equal(w, []string{"01-01 07:00"}, w.jobs())
		w.change(func(s *batchv1.CronJobSpec) { s.FailedJobsHistoryLimit = nil })
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "delete", Resource: "jobs"}), 7, "each once")

		byHand := job(1, 1) // kubectl create job --from=cronjob/backup: its name says nothing about its age
		byHand.Name = "backup-1"
		byHand.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.get(), batchv1.SchemeGroupVersion.WithKind("CronJob"))}
		_, err := w.Other.BatchV1().Jobs("default").Create(w.ctx, byHand, metav1.CreateOptions{})
		require.NoError(w, err)
		w.ends(batchv1.JobComplete)
		require.Equal(w, []string{"01-01 00:01"}, w.jobs(), "it is the newest one")
	})
}

// A team in Tokyo writes nine o'clock and means its own.
func TestTheScheduleIsInItsTimeZone(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 9 * * *", zone("Asia/Tokyo")))
		w.sleepUntil("01-02 12:00")
		require.Equal(w, []string{"01-02 00:00"}, w.jobs())
		job, err := w.Other.BatchV1().Jobs("default").Get(w.ctx, w.get().Status.Active[0].Name, metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, "2000-01-02T09:00:00+09:00", job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	})
}

// In spring the clock skips an hour, and in autumn it repeats one.
func TestAStartInASkippedHourIsSkippedAndOneInARepeatedHourIsRepeated(t *testing.T) {
	for _, c := range []struct {
		schedule, from, until string
		starts                []string
	}{
		{"30 2 * * *", "03-25 00:00", "03-27 12:00", []string{"03-25 01:30", "03-27 00:30"}},
		{"30 4 * * *", "03-25 00:00", "03-27 12:00", []string{"03-25 03:30", "03-26 02:30", "03-27 02:30"}},
		{"30 2 * * *", "10-28 00:00", "10-30 12:00", []string{"10-28 00:30", "10-29 00:30", "10-29 01:30", "10-30 01:30"}},
		{"30 4 * * *", "10-28 00:00", "10-30 12:00", []string{"10-28 02:30", "10-29 03:30", "10-30 03:30"}},
	} {
		inCron(t, func(w *cronWorld) {
			w.sleepUntil(c.from)
			w.runCron()
			w.create(cronJob(c.schedule, zone("Europe/Berlin")))
			w.sleepUntil(c.until)
			require.Equal(w, c.starts, w.jobs(), c.schedule)
		})
	}
}

// Not a time of day, but a pause.
func TestEveryCountsFromTheLastStart(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		time.Sleep(7 * time.Minute)
		kill := w.runCron()
		w.create(cronJob("@every 1h30m"))
		w.sleepUntil("01-01 01:36")
		require.Empty(w, w.jobs())
		w.sleepUntil("01-01 03:08")
		require.Equal(w, []string{"01-01 01:37", "01-01 03:07"}, w.jobs())
		kill()
		w.sleepUntil("01-01 10:00")
		w.runCron()
		require.Equal(w, []string{"01-01 01:37", "01-01 03:07", "01-01 09:07"}, w.jobs())
		w.sleepUntil("01-01 10:38")
		require.Len(w, w.jobs(), 4)
	})
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("@hourly"))
		w.sleepUntil("01-01 01:01")
		require.Equal(w, []string{"01-01 01:00"}, w.jobs())
	})
}

// A log of one line, and no retries: only the user can correct it.
func TestAnInvalidScheduleIsReportedOnceAndWorksWhenItIsCorrected(t *testing.T) {
	for _, bad := range []*batchv1.CronJob{
		cronJob("0 25 * * *"), cronJob("TZ=UTC 0 * * * *"), cronJob("TZ=0"), cronJob("0 * * * *", zone("Europe/Atlantis")),
	} {
		inCron(t, func(w *cronWorld) {
			w.runCron()
			w.create(bad)
			w.sleepUntil("01-01 00:30")
			given := 0
			for _, e := range w.Cluster.Trace.Events() {
				if e.Kind == trace.ReconcileEnd && e.Outcome == trace.GivenUp {
					require.Contains(w, e.Reason, "default/backup")
					given++
				}
			}
			require.Equal(w, 1, given)
			w.change(func(s *batchv1.CronJobSpec) { s.Schedule, s.TimeZone = "0 * * * *", nil })
			w.sleepUntil("01-01 01:01")
			require.Equal(w, []string{"01-01 01:00"}, w.jobs())
		})
	}
}

// The 31st of February is valid, and never comes.
func TestAStartThatNeverComesIsNotWaitedFor(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 0 31 2 *"))
		w.sleepUntil("01-01 12:00")
		require.Empty(w, w.jobs())
		reconciles := 0
		for _, e := range w.Cluster.Trace.Events() {
			if e.Kind == trace.ReconcileEnd {
				reconciles++
			}
		}
		require.Equal(w, 1, reconciles)
	})
}

// kubectl patch cronjob backup -p '{"spec":{"suspend":true}}'
func TestASuspendedCronJobStartsNothingAndIsStillReported(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("0 * * * *"))
		w.sleepUntil("01-01 01:30")
		w.change(suspended(true))
		w.sleepUntil("01-01 04:30")
		w.ends(batchv1.JobComplete)
		require.Equal(w, []string{"01-01 01:00"}, w.jobs())
		require.Zero(w, w.active())
		w.change(suspended(false))
		require.Equal(w, []string{"01-01 01:00", "01-01 04:00"}, w.jobs(), "the last missed start, as after any pause")
	})
}

// Its Jobs are deleted with it, and a new one would be left over.
func TestACronJobThatIsBeingDeletedStartsNothing(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		cj := cronJob("0 * * * *")
		cj.Finalizers = []string{"example.com/wait"}
		w.create(cj)
		w.sleepUntil("01-01 01:30")
		require.NoError(w, w.Other.BatchV1().CronJobs("default").Delete(w.ctx, "backup", metav1.DeleteOptions{}))
		w.sleepUntil("01-01 03:30")
		require.Equal(w, []string{"01-01 01:00"}, w.jobs())
		w.ends(batchv1.JobComplete)
		require.Zero(w, w.active())
	})
}

// An error that isn't returned isn't retried.
func TestACronJobThatCannotBeReadIsAFailure(t *testing.T) {
	for _, resource := range []string{"cronjobs", "jobs"} {
		inCron(t, func(w *cronWorld) {
			w.create(cronJob("0 * * * *"))
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
			m := mini.NewManager(w.Cluster)
			c, err := mini.NewCronJobController(m)
			require.NoError(w, err)
			w.run(m.Cache.Run)
			require.Error(w, w.once(c, mini.Request{Namespace: "default", Name: "backup"}), "there are no %s in the cache", resource)
			gone := w.once(c, mini.Request{Namespace: "default", Name: "gone"})
			require.Equal(w, resource == "jobs", gone == nil, "%v", gone)
		})
	}
}

// One CronJob whose Job is created slowly must not keep the others waiting, and more workers would send
// more requests at once.
func TestFiveCronJobsAreReconciledAtTheSameTime(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", Resource: "jobs"}, Delay: time.Second})
		w.runCron()
		for i := range 7 {
			cj := cronJob("0 * * * *")
			cj.Name = fmt.Sprint("backup-", i)
			w.create(cj)
		}
		w.sleepUntil("01-01 01:30")
		require.Equal(w, 5, w.atOnce("cronjob"))
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error would say so.
func TestTheCronJobControllerNeedsBothKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := mini.NewCronJobController(w.withKinds(&batchv1.CronJob{}, &batchv1.Job{}))
		require.NoError(w, err)
		for _, kind := range []runtime.Object{&batchv1.CronJob{}, &batchv1.Job{}} {
			_, err := mini.NewCronJobController(w.withKinds(kind))
			require.Error(w, err, "the scheme has one of two kinds")
		}
	})
}
