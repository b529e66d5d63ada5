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

// RevisionAnnotation numbers a Deployment's ReplicaSets in the order in which their
// templates were rolled out. kubectl rollout history and undo read it.
const RevisionAnnotation = "deployment.kubernetes.io/revision"

// hashLabel is in a ReplicaSet's selector and on its Pods, because the Deployment's own
// selector matches the Pods of all its ReplicaSets.
const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// Deployments brings the Pods of Deployments from one template to the next. It never
// touches a Pod: each template has a ReplicaSet, and Deployments decides how many Pods
// each ReplicaSet gets.
type Deployments struct {
	Client *CachedClient
}

// rollout is a Deployment and its ReplicaSets, as one reconcile finds and changes them.
type rollout struct {
	d      *appsv1.Deployment
	newRS  *appsv1.ReplicaSet   // has the Deployment's template; nil: not created yet
	oldRSs []*appsv1.ReplicaSet // all others, oldest first
}

// allRSs returns the old ReplicaSets, followed by the new one if there is one.
func (r *rollout) allRSs() []*appsv1.ReplicaSet {
	if r.newRS == nil {
		return r.oldRSs
	}
	return append(slices.Clone(r.oldRSs), r.newRS)
}

// ReplaceAll is a Reconciler with the simplest strategy: all Pods get the new template at
// once, and the old ones are deleted. Until the first new Pod is ready, none serves.
func (c *Deployments) ReplaceAll(ctx context.Context, req Request) (Result, error) {
	r, err := c.getRollout(ctx, req)
	if r == nil {
		return Result{}, err // nil if there's nothing to do
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

// getRollout reads the Deployment and claims its ReplicaSets. It returns nil along with
// an error. It also returns nil, without one, if there's nothing to do because the
// Deployment has been deleted, or is being deleted.
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
// there's none, and all others, oldest first. If several have the template, it takes the
// oldest, so that each call takes the same one.
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

// olderFirst compares the creation times, which are in seconds. Two from the same second
// stay in the order of the list, which the client has sorted by name.
func olderFirst(a, b *appsv1.ReplicaSet) int {
	return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
}

// EqualIgnoreHash returns true if both templates make the same Pods. It can't compare
// hashes, because another version of a controller may compute a different one from the
// same template.
func EqualIgnoreHash(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, hashLabel)
	delete(b.Labels, hashLabel)
	return equality.Semantic.DeepEqual(a, b)
}

// getNewReplicaSet creates the new ReplicaSet if there's none. Otherwise it makes its
// revision the highest, because the Deployment may have returned to an earlier template.
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
		return errors.Join(err, c.nameIsTaken(ctx, r)) // an error, so that we try again
	}
	return err
}

// nameIsTaken finds out why there's already a ReplicaSet with the new one's name. The
// cache may not show it yet, so it asks the API server.
func (c *Deployments) nameIsTaken(ctx context.Context, r *rollout) error {
	other, err := Get[*appsv1.ReplicaSet](ctx, c.Client.Client, KeyOf(r.newRS))
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(other, r.d) &&
		EqualIgnoreHash(&other.Spec.Template, &r.d.Spec.Template) {
		return nil // it's ours, and the answer to its creation was lost
	}
	// One more collision makes another hash, and so another name.
	r.d.Status.CollisionCount = new(ptr.Deref(r.d.Status.CollisionCount, 0) + 1)
	return c.Client.UpdateStatus(ctx, r.d)
}

// newReplicaSet returns one without Pods: the strategy decides how many it gets. Its name
// follows from the template, so a second try can't create a second one.
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

// ComputeHash returns a short name for a template. It has 32 bits, so two templates may
// get the same one. The count of collisions so far makes the next one different.
func ComputeHash(template *corev1.PodTemplateSpec, collisionCount *int32) string {
	hash := fnv.New32a()
	_ = json.NewEncoder(hash).Encode([]any{template, collisionCount}) // can't fail
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// Revision returns the revision of a ReplicaSet or Deployment, or 0 if it has none.
func Revision(obj Object) int {
	revision, _ := strconv.Atoi(obj.GetAnnotations()[RevisionAnnotation])
	return revision
}

// inherit copies to the new ReplicaSet what doesn't change its Pods and so doesn't need
// another ReplicaSet. It also sets the revision, which never falls, because ReplicaSets
// with higher ones may have been deleted.
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

// isOwnAnnotation is true of annotations for which a ReplicaSet has its own value.
func isOwnAnnotation(key string) bool {
	return strings.HasPrefix(key, "deployment.kubernetes.io/") ||
		key == corev1.LastAppliedConfigAnnotation
}

// updateReplicaSet applies change to the ReplicaSet, and writes it if that made a
// difference.
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
