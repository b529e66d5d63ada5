package mini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
)

// RevisionAnnotation numbers the ReplicaSets of a Deployment in the order in which their
// templates were rolled out. kubectl rollout history and undo read it.
const RevisionAnnotation = "deployment.kubernetes.io/revision"

// hashLabel is in the selector of a ReplicaSet and on its Pods. The Deployment's own
// selector matches the Pods of all its ReplicaSets.
const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// Deployments brings the Pods of Deployments from one template to the next. It never
// touches a Pod: each template has a ReplicaSet, and the Deployment says how many Pods
// each of them has.
type Deployments struct {
	Client *CachedClient
}

// rollout is a Deployment and its ReplicaSets, as one reconcile finds and changes them.
type rollout struct {
	d      *appsv1.Deployment
	newRS  *appsv1.ReplicaSet   // has the Deployment's template; nil: not created yet
	oldRSs []*appsv1.ReplicaSet // all others, oldest first
}

// allRSs returns the old ReplicaSets, and then the new one if there is one.
func (r *rollout) allRSs() []*appsv1.ReplicaSet {
	if r.newRS == nil {
		return r.oldRSs
	}
	return append(slices.Clone(r.oldRSs), r.newRS)
}

// ReplaceAll is a Reconciler with the simplest strategy: all Pods of the new template at
// once, and none of the old ones. Until the first new Pod is ready, no Pod serves.
func (c *Deployments) ReplaceAll(ctx context.Context, req Request) (Result, error) {
	r, err := c.getRollout(ctx, req)
	if r == nil {
		return Result{}, err // nil if there is nothing to do
	}
	if err := c.getNewReplicaSet(ctx, r); err != nil {
		return Result{}, err
	}
	for _, rs := range r.allRSs() {
		replicas := int32(0)
		if rs == r.newRS {
			replicas = *r.d.Spec.Replicas
		}
		err := c.updateReplicaSet(ctx, rs, func() { rs.Spec.Replicas = &replicas })
		if err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

// getRollout reads the Deployment, and claims its ReplicaSets. It returns nil with an
// error, and without one if there is nothing to do: the Deployment is gone, or is being
// deleted.
func (c *Deployments) getRollout(ctx context.Context, req Request) (*rollout, error) {
	d, err := Get[*appsv1.Deployment](ctx, c.Client, req)
	if err != nil {
		return nil, IgnoreNotFound(err)
	}
	if d.DeletionTimestamp != nil {
		return nil, nil // the garbage collector is at work
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, err
	}
	all, err := List[*appsv1.ReplicaSet](
		ctx, c.Client, Selection{Namespace: d.Namespace})
	if err != nil {
		return nil, err
	}
	rsList, err := Claim(ctx, c.Client, d, selector, all)
	if err != nil {
		return nil, err
	}
	newRS, oldRSs := FindNewReplicaSet(d, rsList)
	return &rollout{d, newRS, oldRSs}, nil
}

// FindNewReplicaSet returns the ReplicaSet that has the Deployment's template, or nil if
// there is none, and all others, oldest first. If several have the template, it is the
// oldest of them: each call has to take the same one.
func FindNewReplicaSet(
	d *appsv1.Deployment, rsList []*appsv1.ReplicaSet,
) (newRS *appsv1.ReplicaSet, oldRSs []*appsv1.ReplicaSet) {
	oldRSs = slices.SortedStableFunc(slices.Values(rsList), olderFirst)
	for i, rs := range oldRSs {
		if EqualIgnoreHash(&rs.Spec.Template, &d.Spec.Template) {
			return rs, slices.Delete(oldRSs, i, i+1)
		}
	}
	return nil, oldRSs
}

// olderFirst compares the times of creation, which are in seconds. Two of one second stay
// in the order of the list, which the client has sorted by name.
func olderFirst(a, b *appsv1.ReplicaSet) int {
	return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
}

// EqualIgnoreHash returns true if both templates make the same Pods. Comparing hashes
// would not do: other versions of a controller compute other ones of the same template.
func EqualIgnoreHash(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, hashLabel)
	delete(b.Labels, hashLabel)
	return equality.Semantic.DeepEqual(a, b)
}

// getNewReplicaSet creates the new ReplicaSet if there is none, and otherwise makes its
// revision the highest: the template may be one that the Deployment has returned to.
func (c *Deployments) getNewReplicaSet(ctx context.Context, r *rollout) error {
	revision := 1
	for _, rs := range r.oldRSs {
		revision = max(revision, Revision(rs)+1)
	}
	if r.newRS != nil {
		follow := func() { inherit(r.d, r.newRS, revision) }
		return c.updateReplicaSet(ctx, r.newRS, follow)
	}
	r.newRS = newReplicaSet(r.d, revision)
	err := c.Client.Create(ctx, r.newRS)
	if apierrors.IsAlreadyExists(err) {
		return errors.Join(err, c.nameIsTaken(ctx, r)) // an error: try again
	}
	return err
}

// nameIsTaken finds out why there is a ReplicaSet with the name of the new one. The cache
// may not show it yet, so it asks the API server.
func (c *Deployments) nameIsTaken(ctx context.Context, r *rollout) error {
	other, err := Get[*appsv1.ReplicaSet](ctx, c.Client.Client, KeyOf(r.newRS))
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(other, r.d) &&
		EqualIgnoreHash(&other.Spec.Template, &r.d.Spec.Template) {
		return nil // it is ours, and the answer to its creation was lost
	}
	// One collision more makes another hash, and so another name.
	r.d.Status.CollisionCount = new(ptr.Deref(r.d.Status.CollisionCount, 0) + 1)
	return c.Client.UpdateStatus(ctx, r.d)
}

// newReplicaSet returns one without Pods: the strategy decides how many it may have. Its
// name follows from the template, so that a second try cannot create a second one.
func newReplicaSet(d *appsv1.Deployment, revision int) *appsv1.ReplicaSet {
	hash := ComputeHash(&d.Spec.Template, d.Status.CollisionCount)
	template, selector := d.Spec.Template.DeepCopy(), d.Spec.Selector.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, hashLabel, hash)
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + hash, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(0)),
			Selector: metav1.AddLabelToSelector(selector, hashLabel, hash),
			Template: *template,
		},
	}
	inherit(d, rs, revision)
	return rs
}

// ComputeHash returns a short name for a template. It is 32 bits, so two templates may
// have the same one: the number of collisions so far makes the next one different.
func ComputeHash(template *corev1.PodTemplateSpec, collisionCount *int32) string {
	hash := fnv.New32a()
	_ = json.NewEncoder(hash).Encode([]any{template, collisionCount}) // cannot fail
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// Revision returns the revision of a ReplicaSet or Deployment, or 0 if it has none.
func Revision(obj Object) int {
	revision, _ := strconv.Atoi(obj.GetAnnotations()[RevisionAnnotation])
	return revision
}

// inherit copies to the new ReplicaSet what makes no other Pods and so needs no other
// ReplicaSet, and sets the revision, which never falls: others may have been deleted.
func inherit(d *appsv1.Deployment, rs *appsv1.ReplicaSet, revision int) {
	rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	for key, value := range d.Annotations {
		if !isOwnAnnotation(key) {
			metav1.SetMetaDataAnnotation(&rs.ObjectMeta, key, value)
		}
	}
	highest := fmt.Sprint(max(Revision(rs), revision))
	metav1.SetMetaDataAnnotation(&rs.ObjectMeta, RevisionAnnotation, highest)
}

// isOwnAnnotation: a Deployment and its ReplicaSets have values of their own for these.
func isOwnAnnotation(key string) bool {
	return strings.HasPrefix(key, "deployment.kubernetes.io/") ||
		key == corev1.LastAppliedConfigAnnotation
}

// updateReplicaSet writes what change makes of the ReplicaSet, if that is different.
func (c *Deployments) updateReplicaSet(
	ctx context.Context, rs *appsv1.ReplicaSet, change func(),
) error {
	before := rs.DeepCopy()
	change()
	if equality.Semantic.DeepEqual(before, rs) {
		return nil
	}
	return c.Client.Update(ctx, rs)
}
