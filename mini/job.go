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
// until the finalizer has been removed; then a single write takes it out and raises the
// number. So the process may end at any point, and any write may be refused or lose its
// answer.
//
// Caveats: it can't run Indexed Jobs, or Jobs that count a deleted Pod only when it has
// ended (podReplacementPolicy: Failed, podFailurePolicy). Their status says so in the
// condition loopwright.dev/Unsupported. It doesn't adopt Pods. It doesn't count a Pod if
// another client removes the Pod's finalizer.
type Jobs struct {
	Client *CachedClient
}

// NewJobController returns two controllers, one for Jobs and one for Pods that no Job
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

// Reconcile takes one Job a step further. It writes the status first, and then does what
// the status allows.
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
	p := planJob(job, pods, metav1.Now().Rfc3339Copy()) // in seconds, as it's stored
	// If our cache is behind, this may be the Job from before its Pods were counted. The
	// API server refuses an update of an old version, so write before creating more.
	if p.create > 0 || !equality.Semantic.DeepEqual(job.Status, p.status) {
		job.Status = p.status
		if err := j.Client.UpdateStatus(ctx, job); err != nil {
			return Result{}, IgnoreNotFound(err) // deleted a moment ago
		}
	}
	return Result{RequeueAfter: p.next}, j.carryOut(ctx, job, p)
}

// podsOf returns the Job's Pods. If a Pod is in the status but not in the cache, it was
// deleted, or it's too new for the late cache of a new process. The latter would be
// counted now, and again when it appears, so podsOf asks the API server.
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

// carryOut does what the plan says. It never deletes a Pod that has yet to be counted.
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

// untrack removes the Job's finalizer from the Pod, if it has one. The patch names only
// this finalizer, because the garbage collector may write the list at the same time. It
// has the UID, so it can't change another Pod of the same name.
func (j *Jobs) untrack(ctx context.Context, pod *corev1.Pod) error {
	if !ContainsFinalizer(pod, batchv1.JobTrackingFinalizer) {
		return nil
	}
	patch := fmt.Appendf(nil,
		`{"metadata": {"uid": %q, "$deleteFromPrimitiveList/finalizers": [%q]}}`,
		pod.UID, batchv1.JobTrackingFinalizer)
	return IgnoreNotFound(j.Client.Patch(ctx, pod, types.StrategicMergePatchType, patch))
}

// releaseOrphan removes the finalizer from a Pod that no Job will count: its Job was
// deleted or has finished, or another client has removed the owner from the Pod. With the
// finalizer, the Pod could never be deleted.
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
		return Result{}, nil // another kind of controller uses the finalizer
	}
	// The cache may not have the Job yet, so ask the API server as well.
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
