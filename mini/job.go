package mini

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Jobs is the Job controller.
//
// Guarantees: each Pod that finishes is counted exactly once. A finalizer keeps the Pod,
// even if a user deletes it, until its UID is in the Job's status. The UID stays there
// until the finalizer is gone, and one write takes it out and raises the number. So a
// process may end, and a write may be refused or its answer get lost, at any point.
//
// Caveats: it runs neither Indexed Jobs nor those that count a deleted Pod only after its
// end (podReplacementPolicy: Failed, podFailurePolicy). The Job's status says so, in the
// condition loopwright.dev/Unsupported. It adopts no Pods. A Pod whose finalizer somebody
// else takes off is not counted.
type Jobs struct {
	Client *CachedClient
}

// NewJobController returns two controllers: one for Jobs, and one for Pods that no Job
// will count. Add them to m.
func NewJobController(m *Manager) ([]*Controller, error) {
	jobs := m.Informer(&batchv1.Job{})
	pods := m.Informer(&corev1.Pod{})
	j := &Jobs{Client: m.Client}
	c := m.NewController("job", 5, j)
	c.Watch(jobs, EnqueueObject)
	c.Watch(pods, EnqueueOwner(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind()))
	orphans := m.NewController("job-orphans", 5, ReconcilerFunc(j.releaseOrphan))
	orphans.Watch(pods, EnqueueObject, func(change Change) bool {
		return ContainsFinalizer(change.Object(), batchv1.JobTrackingFinalizer)
	})
	orphans.Watch(jobs, EnqueueMapped(func(job Object) (all []Request) {
		owned, _ := pods.ByIndex(ByOwner, string(job.GetUID())) // it has the index
		for _, pod := range owned {
			all = append(all, KeyOf(pod))
		}
		return all
	}), func(change Change) bool {
		return change.New == nil || isJobFinished(change.New.(*batchv1.Job))
	})
	return []*Controller{c, orphans}, m.err
}

// Reconcile brings one Job a step on: first the status, then what the status allows.
func (j *Jobs) Reconcile(ctx context.Context, req Request) (Result, error) {
	job, err := Get[*batchv1.Job](ctx, j.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if isJobFinished(job) || isManagedByOther(job) {
		return Result{}, nil
	}
	pods, err := j.podsOf(ctx, job)
	if err != nil {
		return Result{}, err
	}
	p := planJob(job, pods, metav1.Now().Rfc3339Copy()) // in seconds, as it is stored
	// If our cache is behind, this may be the Job from before its Pods were counted. The
	// API server refuses to write an old version, so we write before we make more.
	if p.create > 0 || !equality.Semantic.DeepEqual(job.Status, p.status) {
		job.Status = p.status
		if err := j.Client.UpdateStatus(ctx, job); err != nil {
			return Result{}, IgnoreNotFound(err) // deleted a moment ago
		}
	}
	return Result{RequeueAfter: p.next}, j.carryOut(ctx, job, p)
}

// podsOf returns the Job's Pods. One that is in the status and not in the cache is gone,
// or too new for the late cache of a new process: it would be counted now, and again when
// it appears. The API server knows.
func (j *Jobs) podsOf(ctx context.Context, job *batchv1.Job) ([]*corev1.Pod, error) {
	pods, err := OwnedBy[*corev1.Pod](ctx, j.Client, job)
	if err != nil {
		return nil, err
	}
	missing := func(uid types.UID) bool {
		isIt := func(pod *corev1.Pod) bool { return pod.UID == uid }
		return !slices.ContainsFunc(pods, isIt)
	}
	if slices.ContainsFunc(uncountedPods(&job.Status), missing) {
		in := Selection{Namespace: job.Namespace}
		if pods, err = List[*corev1.Pod](ctx, j.Client.Client, in); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return !metav1.IsControlledBy(pod, job)
	}), nil
}

// carryOut does what the plan says. It deletes nothing that may still be counted.
func (j *Jobs) carryOut(ctx context.Context, job *batchv1.Job, p *jobPlan) error {
	err := inParallel(len(p.untrack), func(i int) error {
		return j.untrack(ctx, p.untrack[i])
	})
	if err == nil {
		err = inParallel(len(p.remove), func(i int) error {
			err := j.Client.Delete(ctx, p.remove[i], metav1.DeleteOptions{})
			return IgnoreNotFound(err)
		})
	}
	return errors.Join(err, slowStartBatch(p.create, func(int) error {
		template, kind := job.Spec.Template, batchv1.SchemeGroupVersion.WithKind("Job")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, GenerateName: job.Name + "-",
			Labels: template.Labels, Annotations: template.Annotations,
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind)},
		}, Spec: template.Spec}
		AddFinalizer(pod, batchv1.JobTrackingFinalizer)
		return j.Client.Create(ctx, pod)
	}))
}

// untrack takes the Job's finalizer off the Pod, if it is there. The patch names only
// this one: the garbage collector may write the list at the same time. With the UID, it
// changes no other Pod of the name.
func (j *Jobs) untrack(ctx context.Context, pod *corev1.Pod) error {
	if !ContainsFinalizer(pod, batchv1.JobTrackingFinalizer) {
		return nil
	}
	patch := fmt.Appendf(nil,
		`{"metadata": {"uid": %q, "$deleteFromPrimitiveList/finalizers": [%q]}}`,
		pod.UID, batchv1.JobTrackingFinalizer)
	return IgnoreNotFound(j.Client.Patch(ctx, pod, types.StrategicMergePatchType, patch))
}

// releaseOrphan takes the finalizer off a Pod that no Job will count: its Job is gone, or
// finished, or somebody has taken the owner out of the Pod. Otherwise it could never end.
func (j *Jobs) releaseOrphan(ctx context.Context, req Request) (Result, error) {
	pod, err := Get[*corev1.Pod](ctx, j.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if !ContainsFinalizer(pod, batchv1.JobTrackingFinalizer) {
		return Result{}, nil
	}
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return Result{}, j.untrack(ctx, pod)
	}
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	if ref.Kind != "Job" || group != batchv1.GroupName {
		return Result{}, nil // another kind of controller has use for it
	}
	// The cache may not show the Job yet, so the API server is asked, too.
	for _, reader := range []Reader{j.Client, j.Client.Client} {
		key := Request{Namespace: pod.Namespace, Name: ref.Name}
		job, err := Get[*batchv1.Job](ctx, reader, key)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		counts := !isJobFinished(job) || isManagedByOther(job)
		if job.UID == ref.UID && counts {
			return Result{}, nil
		}
	}
	return Result{}, j.untrack(ctx, pod)
}
