package mini

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clockTime reads a moment, such as "Jan 2 03:04:05". "" is the zero time, which is never.
func clockTime(t *testing.T, moment string) (at time.Time) {
	t.Helper()
	if moment == "" {
		return at
	}
	at, err := time.Parse("2006 Jan 2 15:04:05", "2026 "+moment)
	require.NoError(t, err)
	return at
}

// shownTime is a moment as clockTime reads it, for messages.
func shownTime(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format("Jan 2 15:04:05")
}

// countingSchedule is a schedule that counts how often it is asked.
type countingSchedule struct {
	cron.Schedule
	asked int
}

func (q *countingSchedule) Next(t time.Time) time.Time {
	q.asked++
	return q.Schedule.Next(t)
}

func scheduled(t *testing.T, text string) cron.Schedule {
	t.Helper()
	schedule, err := cron.ParseStandard("TZ=UTC " + text)
	require.NoError(t, err)
	return schedule
}

// Ten backups that begin at the same moment are worse than nine that are missing.
//
// Function: startsAround
func TestOfTheStartsSinceThenTheLastOneCounts(t *testing.T) {
	for _, c := range []struct{ schedule, since, now, last, next string }{
		{"0 0 * * *", "Jan 1 00:00:00", "Jan 11 12:00:00", "Jan 11 00:00:00", "Jan 12 00:00:00"},
		{"0 0 * * *", "Jan 1 00:00:00", "Jan 2 00:00:01", "Jan 2 00:00:00", "Jan 3 00:00:00"},
		{"* * * * *", "Jan 1 00:00:00", "Jan 1 00:01:30", "Jan 1 00:01:00", "Jan 1 00:02:00"},
		// On weekdays, every four hours from six to four. Jan 5 is a Monday.
		{"0 6-16/4 * * 1-5", "Jan 1 06:00:00", "Jan 5 05:00:00", "Jan 2 14:00:00", "Jan 5 06:00:00"},
	} {
		last, next := startsAround(
			scheduled(t, c.schedule), clockTime(t, c.since), clockTime(t, c.now))
		require.Equal(t, shownTime(clockTime(t, c.last)), shownTime(last),
			"the last start of %q after %s and up to %s", c.schedule, c.since, c.now)
		require.Equal(t, shownTime(clockTime(t, c.next)), shownTime(next),
			"the first start of %q after %s", c.schedule, c.now)
	}
}

// An alarm rings at the very moment of a start, and the start in the status has its Job.
//
// Function: startsAround
func TestAStartIsDueAtItsMomentAndOnlyOnce(t *testing.T) {
	for _, c := range []struct{ since, now, last, next string }{
		{"Jan 1 00:00:00", "Jan 1 23:59:59", "", "Jan 2 00:00:00"},
		{"Jan 1 00:00:00", "Jan 2 00:00:00", "Jan 2 00:00:00", "Jan 3 00:00:00"},
		{"Jan 2 00:00:00", "Jan 2 00:00:00", "", "Jan 3 00:00:00"},
		{"Jan 2 00:00:00", "Jan 2 00:00:05", "", "Jan 3 00:00:00"},
	} {
		last, next := startsAround(
			scheduled(t, "0 0 * * *"), clockTime(t, c.since), clockTime(t, c.now))
		require.Equal(t, shownTime(clockTime(t, c.last)), shownTime(last),
			"the last midnight after %s and up to %s", c.since, c.now)
		require.Equal(t, shownTime(clockTime(t, c.next)), shownTime(next), "the first midnight after %s", c.now)
	}
}

// A controller that was down for a year must not go over half a million starts: another
// CronJob waits for this worker.
//
// Function: startsAround
func TestAYearOfMissedStartsIsFoundWithFewQuestions(t *testing.T) {
	schedule := &countingSchedule{Schedule: scheduled(t, "* * * * *")}
	last, next := startsAround(schedule, clockTime(t, "Jan 1 00:00:00"), clockTime(t, "Dec 31 12:00:30"))
	require.Equal(t, "Dec 31 12:00:00", shownTime(last), "the last minute")
	require.Equal(t, "Dec 31 12:01:00", shownTime(next), "the next minute")
	require.Less(t, schedule.asked, 100, "the schedule was asked this often: search by halves")
}

// Such a schedule knows no time of day: it counts from the last start.
//
// Function: startsAround
func TestEveryNinetyMinutesCountsFromTheLastStart(t *testing.T) {
	for _, c := range []struct{ now, last, next string }{
		{"Jan 1 01:00:00", "", "Jan 1 01:37:00"},
		{"Jan 1 01:37:00", "Jan 1 01:37:00", "Jan 1 03:07:00"},
		{"Jan 1 05:00:00", "Jan 1 04:37:00", "Jan 1 06:07:00"},
	} {
		last, next := startsAround(
			scheduled(t, "@every 90m"), clockTime(t, "Jan 1 00:07:00"), clockTime(t, c.now))
		require.Equal(t, shownTime(clockTime(t, c.last)), shownTime(last), "the last one up to %s", c.now)
		require.Equal(t, shownTime(clockTime(t, c.next)), shownTime(next), "the first one after %s", c.now)
	}
}

// The API server accepts it. A worker that looks for this day would never be free again.
//
// Function: startsAround
func TestAScheduleForTheThirtiethOfFebruaryHasNoStart(t *testing.T) {
	last, next := startsAround(
		scheduled(t, "0 0 30 2 *"), clockTime(t, "Jan 1 00:00:00"), clockTime(t, "Apr 1 00:00:00"))
	require.Equal(t, "never never", shownTime(last)+" "+shownTime(next))
}

// plannedCron starts at each midnight, and was created on New Year's morning.
func plannedCron(t *testing.T, changes ...func(*batchv1.CronJob)) *batchv1.CronJob {
	cj := &batchv1.CronJob{}
	cj.CreationTimestamp = metav1.NewTime(clockTime(t, "Jan 1 08:00:00"))
	cj.Spec.Schedule, cj.Spec.Suspend = "0 0 * * *", new(bool)
	cj.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent
	cj.Spec.SuccessfulJobsHistoryLimit = new(int32(3))
	cj.Spec.FailedJobsHistoryLimit = new(int32(1))
	for _, change := range changes {
		change(cj)
	}
	return cj
}

// dueAt is what dueStart returns at this moment, in words.
func dueAt(t *testing.T, cj *batchv1.CronJob, now string, jobs ...*batchv1.Job) string {
	t.Helper()
	due, next, invalid := dueStart(cj, jobs, clockTime(t, now))
	require.NoError(t, invalid)
	return "due: " + shownTime(due) + ", next: " + shownTime(next)
}

// A new CronJob has no start in its status, and none of the time before it existed.
//
// Function: dueStart
func TestStartsCountFromTheLastOneOrElseFromTheCreation(t *testing.T) {
	cj := plannedCron(t)
	require.Equal(t, "due: never, next: Jan 2 00:00:00", dueAt(t, cj, "Jan 1 09:00:00"),
		"it was created an hour ago")
	require.Equal(t, "due: Jan 3 00:00:00, next: Jan 4 00:00:00", dueAt(t, cj, "Jan 3 09:00:00"),
		"two starts have passed since its creation")
	last := metav1.NewTime(clockTime(t, "Jan 3 00:00:00"))
	cj.Status.LastScheduleTime = &last
	require.Equal(t, "due: never, next: Jan 4 00:00:00", dueAt(t, cj, "Jan 3 09:00:00"),
		"the start of Jan 3 is in the status")
}

// A backup at midnight in Auckland isn't one at midnight in Berlin.
// Function: dueStart
func TestAScheduleIsInItsZoneAndInUTCWithoutOne(t *testing.T) {
	cj := plannedCron(t)
	require.Equal(t, "due: never, next: Jan 2 00:00:00", dueAt(t, cj, "Jan 1 12:00:00"), "UTC")
	cj.Spec.TimeZone = new("Europe/Berlin")
	require.Equal(t, "due: never, next: Jan 1 23:00:00", dueAt(t, cj, "Jan 1 12:00:00"),
		"Berlin is an hour ahead")
	cj.Spec.Schedule = "every now and then"
	_, _, invalid := dueStart(cj, nil, clockTime(t, "Jan 1 12:00:00"))
	require.Error(t, invalid, "a user has to learn that the schedule can't be read")
}

// The same CronJob must not start at another hour because the controller's machine is in Berlin: a client reads the API server's
// times in the zone of its own machine.
//
// Function: dueStart
func TestAScheduleWithoutAZoneIsInUTCWhereverTheControllerRuns(t *testing.T) {
	here := time.FixedZone("here", 3600)
	cj := plannedCron(t)
	cj.CreationTimestamp = metav1.NewTime(cj.CreationTimestamp.In(here))
	due, next, invalid := dueStart(cj, nil, clockTime(t, "Jan 2 12:00:00").In(here))
	require.NoError(t, invalid)
	require.Equal(t, "Jan 2 00:00:00 Jan 3 00:00:00", shownTime(due)+" "+shownTime(next))
}

// A user suspends it because its Jobs do harm.
//
// Function: dueStart
func TestASuspendedCronJobAndOneThatIsDeletedHaveNoStarts(t *testing.T) {
	want := "due: never, next: never"
	require.Equal(t, want, dueAt(t, plannedCron(t, func(cj *batchv1.CronJob) {
		cj.Spec.Suspend = new(true)
	}), "Jan 3 09:00:00"), "it's suspended")
	require.Equal(t, want, dueAt(t, plannedCron(t, func(cj *batchv1.CronJob) {
		cj.DeletionTimestamp = &metav1.Time{Time: clockTime(t, "Jan 3 08:00:00")}
	}), "Jan 3 09:00:00"), "it's being deleted")
}

// A report for the morning is useless in the afternoon. The next one is.
// Function: dueStart
func TestAStartThatIsTooLateIsDroppedAndTheNextOneComes(t *testing.T) {
	cj := plannedCron(t, func(cj *batchv1.CronJob) { cj.Spec.StartingDeadlineSeconds = new(int64(60)) })
	for _, c := range []struct{ now, due string }{
		{"Jan 2 00:00:59", "Jan 2 00:00:00"},
		{"Jan 2 00:01:00", "Jan 2 00:00:00"}, // the last moment
		{"Jan 2 00:01:01", "never"},
	} {
		require.Equal(t, "due: "+c.due+", next: Jan 3 00:00:00", dueAt(t, cj, c.now),
			"a start at midnight may be 60 s late; now it's %s", c.now)
	}
}

// plannedCronJob is a Job that a start has made.
func plannedCronJob(t *testing.T, name, created string, ended batchv1.JobConditionType) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(clockTime(t, created)),
		Annotations: map[string]string{batchv1.CronJobScheduledTimestampAnnotation: created},
	}}
	if ended != "" {
		job.Status.Conditions = []batchv1.JobCondition{{Type: ended, Status: corev1.ConditionTrue}}
	}
	return job
}

// Two backups that write to one disk at the same time are no backup.
//
// Function: dueStart
func TestWithForbidAStartIsNotDueWhileAJobOfAnEarlierOneRuns(t *testing.T) {
	forbid := plannedCron(t, func(cj *batchv1.CronJob) { cj.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent })
	runs := plannedCronJob(t, "runs", "Jan 1 10:00:00", "")
	manual := plannedCronJob(t, "manual", "Jan 1 10:00:00", "")
	manual.Annotations = nil
	ended := plannedCronJob(t, "ended", "Jan 1 10:00:00", batchv1.JobComplete)
	failed := plannedCronJob(t, "failed", "Jan 1 10:00:00", batchv1.JobFailed)
	const now, isDue = "Jan 2 09:00:00", "due: Jan 2 00:00:00, next: Jan 3 00:00:00"
	require.Equal(t, isDue, dueAt(t, forbid, now, ended, failed), "the earlier Jobs have ended")
	require.Equal(t, isDue, dueAt(t, forbid, now, manual), "a user has made this Job by hand")
	require.Equal(t, "due: never, next: Jan 3 00:00:00", dueAt(t, forbid, now, ended, runs),
		"one still runs: this start waits, and the alarm for the next one is set")
	for _, other := range []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ReplaceConcurrent} {
		cj := plannedCron(t, func(cj *batchv1.CronJob) { cj.Spec.ConcurrencyPolicy = other })
		require.Equal(t, isDue, dueAt(t, cj, now, runs), "with %s, it doesn't matter what runs", other)
	}
}

// Users look at the last Jobs to see what went wrong. Thousands of them fill etcd.
//
// Function: jobsToForget
func TestTheOldestJobsOfEachKindAreForgotten(t *testing.T) {
	jobs := []*batchv1.Job{
		plannedCronJob(t, "good-3", "Jan 3 00:00:00", batchv1.JobComplete),
		plannedCronJob(t, "good-1", "Jan 1 00:00:00", batchv1.JobComplete),
		plannedCronJob(t, "good-2", "Jan 2 00:00:00", batchv1.JobComplete),
		plannedCronJob(t, "bad-2", "Jan 2 00:00:00", batchv1.JobFailed),
		plannedCronJob(t, "bad-1", "Jan 1 00:00:00", batchv1.JobFailed),
		plannedCronJob(t, "runs", "Jan 1 00:00:00", ""),
	}
	for _, c := range []struct {
		good, bad int32
		want      []string
	}{
		{2, 1, []string{"good-1", "bad-1"}},
		{1, 2, []string{"good-1", "good-2"}},
		{3, 2, nil},
		{5, 5, nil}, // there are fewer than may stay
		{0, 0, []string{"good-1", "good-2", "good-3", "bad-1", "bad-2"}},
	} {
		cj := plannedCron(t)
		cj.Spec.SuccessfulJobsHistoryLimit, cj.Spec.FailedJobsHistoryLimit = &c.good, &c.bad
		var forgotten []string
		for _, job := range jobsToForget(cj, jobs) {
			forgotten = append(forgotten, job.Name)
		}
		require.Equal(t, c.want, forgotten,
			"up to %d that succeeded may stay, up to %d that failed, and all that still run", c.good, c.bad)
		require.Equal(t, "good-3", jobs[0].Name, "the list belongs to the caller: sort a copy")
	}
}

// The first backup took all day, and ended after the second. It's the older one all the same.
//
// Function: jobsToForget
func TestTheOlderJobIsTheOneThatWasCreatedFirst(t *testing.T) {
	long := plannedCronJob(t, "b-long", "Jan 1 00:00:00", batchv1.JobComplete)
	long.Status.Conditions[0].LastTransitionTime = metav1.NewTime(clockTime(t, "Jan 2 20:00:00"))
	short := plannedCronJob(t, "a-short", "Jan 2 00:00:00", batchv1.JobComplete)
	short.Status.Conditions[0].LastTransitionTime = metav1.NewTime(clockTime(t, "Jan 2 00:01:00"))
	cj := plannedCron(t)
	cj.Spec.SuccessfulJobsHistoryLimit = new(int32(1))
	require.Equal(t, []*batchv1.Job{long}, jobsToForget(cj, []*batchv1.Job{short, long}))
}
