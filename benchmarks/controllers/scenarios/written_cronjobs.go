package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

func concurrency(policy batchv1.ConcurrencyPolicy) func(*batchv1.CronJob) {
	return func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = policy }
}

func cronSuspended(is bool) func(*batchv1.CronJob) {
	return func(c *batchv1.CronJob) { c.Spec.Suspend = &is }
}

// reschedule moves the schedule to a day whose start has been missed.
func reschedule(schedule string) Step {
	return editCron("another schedule, of which a start is missed", func(c *batchv1.CronJob) { c.Spec.Schedule = schedule })
}

// startAgain does so, too. The original waits for another change before it starts what a new schedule has missed.
func startAgain(schedule string) Step {
	return many("another schedule, of which a start is missed, and another label", reschedule(schedule),
		editCron("another label", func(c *batchv1.CronJob) { c.Labels = map[string]string{"schedule": "another"} }))
}

var (
	aMonthAgo = onceAYear(30)
	longAgo   = missed(40)
	missesIt  = []string{"Job=0"}
	startsIt  = []string{"Job=1", "Pod=1", oneActive}
	oneActive = "CronJob/web.status.active[web-start1].name=web-start1"
)

var cronJobScenarios = []Scenario{
	about("cronjob", "its time has not come", createCron(cronJob(onceAYear(-30), "works:1")).until("Job=0")),
	about("cronjob", "a start that was missed",
		createCron(cronJob(aMonthAgo, "works:1")).until("Job=0"), longAgo.until("Job=1", "Pod=1", oneActive)),
	about("cronjob", "a Job that completes",
		createCron(cronJob(aMonthAgo, "completes:1")).until("Job=0"),
		longAgo.until("Job=1", "CronJob/web.status.lastSuccessfulTime=<time>")),
	about("cronjob", "a Job that fails",
		createCron(cronJob(aMonthAgo, "fails:1", func(c *batchv1.CronJob) { c.Spec.JobTemplate.Spec.BackoffLimit = new(int32(0)) })).until("Job=0"),
		longAgo.until("Job/web-start1.status.conditions[Failed].status=True", "CronJob/web.status.active[web-start1].name=(none)")),
	about("cronjob", "of many starts that were missed, the last",
		createCron(cronJob(fmt.Sprintf("0 %d * * *", time.Now().UTC().Add(-12*time.Hour).Hour()), "works:1")).until("Job=0"), longAgo.until("Job=1", oneActive)),
	about("cronjob", "of many starts on one day of the year, the last",
		createCron(cronJob("* *"+strings.TrimPrefix(aMonthAgo, "0 0"), "works:1")).until("Job=0"), longAgo.until("CronJob=1").differs(missesIt, startsIt)),
	about("cronjob", "a new schedule, of which a start is missed",
		createCron(cronJob(onceAYear(-30), "works:1")).until("Job=0"), longAgo.until("Job=0"),
		reschedule(aMonthAgo).until("CronJob=1").differs(missesIt, startsIt)),
	about("cronjob", "missed by more than its deadline",
		createCron(cronJob(aMonthAgo, "works:1", func(c *batchv1.CronJob) { c.Spec.StartingDeadlineSeconds = new(int64(60)) })).until("Job=0"),
		longAgo.until("Job=0", "CronJob/web.status.lastScheduleTime=<time>")),
	about("cronjob", "suspended, then resumed",
		createCron(cronJob(aMonthAgo, "works:1", cronSuspended(true))).until("Job=0"), longAgo.until("Job=0"),
		editCron("resume", cronSuspended(false)).until("Job=1", oneActive)),
	about("cronjob", "two Jobs at a time",
		createCron(cronJob(aMonthAgo, "works:1")).until("Job=0"), longAgo.until("Job=1", "Pod=1"),
		startAgain(onceAYear(20)).until("Job=2", "Pod=2", oneActive)),
	about("cronjob", "one Job at a time: it waits",
		createCron(cronJob(aMonthAgo, "works:1", concurrency(batchv1.ForbidConcurrent))).until("Job=0"),
		longAgo.until("Job=1", "Pod=1"), startAgain(onceAYear(20)).until("Job=1", "Pod=1"),
		exitsWell(aReadyPod).until("Job=2", "CronJob/web.status.active[web-start2].name=web-start2")),
	about("cronjob", "one Job at a time: it replaces",
		createCron(cronJob(aMonthAgo, "works:1", concurrency(batchv1.ReplaceConcurrent))).until("Job=0"),
		longAgo.until("Job=1", "Pod=1"),
		startAgain(onceAYear(20)).until("Job=1", "Pod=1", "CronJob/web.status.active[web-start2].name=web-start2")),
	about("cronjob", "a Job that a user has made of it",
		createCron(cronJob(aMonthAgo, "works:1", concurrency(batchv1.ForbidConcurrent))).until("Job=0"),
		jobByHand.until("Job=1", "Pod=1"), longAgo.until("Job=2", "Pod=2")),
	about("cronjob", "it forgets old Jobs",
		createCron(cronJob(aMonthAgo, "completes:1", func(c *batchv1.CronJob) { c.Spec.SuccessfulJobsHistoryLimit = new(int32(1)) })).until("Job=0"),
		longAgo.until("Job=1", "Pod=1", "CronJob/web.status.lastSuccessfulTime=<time>"),
		startAgain(onceAYear(20)).until("Job=1", "Pod=1", "Job/web-start2.status.succeeded=1")),
	about("cronjob", "its Job is deleted while it runs",
		createCron(cronJob(aMonthAgo, "works:1")).until("Job=0"), longAgo.until("Job=1", "Pod=1", oneActive),
		act("delete all Jobs", func(ctx context.Context, s *stage.Stage) error {
			policy := background
			return s.Client.BatchV1().Jobs(s.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &policy}, metav1.ListOptions{})
		}).until("Job=0", "Pod=0", "CronJob/web.status.active[web-start1].name=(none)")),
	about("cronjob", "a time zone",
		createCron(cronJob(aMonthAgo, "works:1", func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Asia/Kolkata") })).until("Job=0"),
		longAgo.until("Job=1", oneActive)),
	about("cronjob", "labels, annotations and a new template",
		createCron(cronJob(aMonthAgo, "works:1", func(c *batchv1.CronJob) {
			c.Spec.JobTemplate.Labels, c.Spec.JobTemplate.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		})).until("Job=0"),
		longAgo.until("Job=1", oneActive),
		editCron("another template", func(c *batchv1.CronJob) { c.Spec.JobTemplate.Labels["a"] = "e" }).until("Job=1"),
		startAgain(onceAYear(20)).until("Job=2", "Job/web-start2.metadata.labels.a=e")),
	about("cronjob", "deleted with its Jobs",
		createCron(cronJob(aMonthAgo, "works:1")).until("Job=0"), longAgo.until("Job=1", "Pod=1"),
		remove("CronJob", "web", background, cronJobs).until("CronJob=0", "Job=0", "Pod=0")),
}

// jobByHand is what kubectl create job --from=cronjob/web does.
var jobByHand = act("create a Job of the CronJob by hand", func(ctx context.Context, s *stage.Stage) error {
	c, err := cronJobs(s).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Annotations: map[string]string{"cronjob.kubernetes.io/instantiate": "manual"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: c.Name, UID: c.UID, Controller: new(true)}}}, Spec: c.Spec.JobTemplate.Spec}
	_, err = jobs(s).Create(ctx, j, metav1.CreateOptions{})
	return err
})
