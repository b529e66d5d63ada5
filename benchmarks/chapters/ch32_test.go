package chapters

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// A CronJob is looked at when one of its Jobs changes. Its next start is next New Year's Day, so that there's nothing to do.
func Benchmark32(b *testing.B) {
	compare(b, "a look at a CronJob", "active-Jobs", []int{1, 100}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		c, err := mini.NewCronJobController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		cron := &batchv1.CronJob{ObjectMeta: named("backup"), Spec: batchv1.CronJobSpec{
			Schedule: "0 0 1 1 *", ConcurrencyPolicy: batchv1.AllowConcurrent, Suspend: new(false),
			SuccessfulJobsHistoryLimit: new(int32(3)), FailedJobsHistoryLimit: new(int32(1)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template(0)}},
		}}
		cron.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		w.create(cron)
		for i := range n {
			job := &batchv1.Job{ObjectMeta: named(fmt.Sprint("backup-", i)), Spec: cron.Spec.JobTemplate.Spec}
			job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
			w.create(job)
		}
		count[*batchv1.Job](w, cron, n)
		w.look(c.Reconciler, mini.KeyOf(cron))
	}})
}
