package chapters

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/mini"
)

// One of a Job's Pods changes, and all of them are counted again.
func Benchmark31(b *testing.B) {
	compare(b, "a look at a Job", "Pods", []int{10, 500}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		controllers, err := mini.NewJobController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		job := &batchv1.Job{ObjectMeta: named("sum"), Spec: batchv1.JobSpec{
			Parallelism: new(int32(n)), Completions: new(int32(n)), BackoffLimit: new(int32(6)), Template: template(0),
			CompletionMode: new(batchv1.NonIndexedCompletion), Suspend: new(false), PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
		}}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		w.create(job)
		w.settle(controllers[0].Reconciler, mini.KeyOf(job))
		count[*corev1.Pod](w, job, n)
		w.look(controllers[0].Reconciler, mini.KeyOf(job))
	}})
}
