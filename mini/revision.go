package mini

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// history is the ControllerRevisions of a DaemonSet or a StatefulSet: the templates that
// its Pods have had. A Deployment keeps its old templates in ReplicaSets, but these two
// own their Pods themselves. kubectl rollout history and undo read the revisions.
type history struct {
	update     *appsv1.ControllerRevision   // has the owner's current template
	duplicates []*appsv1.ControllerRevision // also have it
	old        []*appsv1.ControllerRevision // all others, oldest first
}

// syncHistory claims the revisions of owner, and creates the one for its template if
// there's none. Each name that turns out to be taken adds one to collisions.
func syncHistory(
	ctx context.Context, c *CachedClient, owner Object, selector *metav1.LabelSelector,
	template *corev1.PodTemplateSpec, collisions *int32,
) (h history, err error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return h, TerminalError(err)
	}
	all, err := List[*appsv1.ControllerRevision](
		ctx, c, Selection{Namespace: owner.GetNamespace()})
	if err != nil {
		return h, err
	}
	mine, err := Claim(ctx, c, owner, matching, all)
	if err != nil {
		return h, err
	}
	h = findRevision(mine, template)
	newest := int64(1)
	for _, rev := range h.old {
		newest = max(newest, rev.Revision+1)
	}
	switch {
	case h.update == nil:
		h.update, err = createRevision(ctx, c, owner, template, newest, collisions)
	case h.update.Revision < newest: // the owner has returned to an earlier template
		h.update.Revision = newest
		err = c.Update(ctx, h.update)
	}
	return h, err
}

// findRevision sorts the owner's revisions. The newest one with the template is the
// update; others have it too if a user has returned to it. It compares the templates
// themselves, because another version of a controller may write the same template in
// other bytes, and that mustn't restart all Pods.
func findRevision(
	mine []*appsv1.ControllerRevision, template *corev1.PodTemplateSpec,
) (h history) {
	oldestFirst := slices.SortedStableFunc(slices.Values(mine),
		func(a, b *appsv1.ControllerRevision) int {
			return cmp.Compare(a.Revision, b.Revision)
		})
	for _, rev := range slices.Backward(oldestFirst) {
		switch {
		case !hasTemplate(rev, template):
			h.old = append(h.old, rev)
		case h.update == nil:
			h.update = rev
		default:
			h.duplicates = append(h.duplicates, rev)
		}
	}
	slices.Reverse(h.old)
	return h
}

// dedup relabels the Pods of duplicates with the revision that counts, and deletes the
// duplicates, because a second revision is no reason to restart a Pod. label returns what
// podRevision returns for the Pods of a revision.
func (h *history) dedup(
	ctx context.Context, c *CachedClient, pods []*corev1.Pod,
	label func(*appsv1.ControllerRevision) string,
) error {
	for _, duplicate := range h.duplicates {
		for _, pod := range pods {
			if podRevision(pod) != label(duplicate) {
				continue // it may have an old template
			}
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] = label(h.update)
			if err := c.Update(ctx, pod); err != nil {
				return err
			}
		}
		err := c.Delete(ctx, duplicate, metav1.DeleteOptions{})
		if IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// createRevision creates a revision whose name follows from the template, so a second try
// can't create a second one.
func createRevision(
	ctx context.Context, c *CachedClient, owner Object, template *corev1.PodTemplateSpec,
	number int64, collisions *int32,
) (*appsv1.ControllerRevision, error) {
	kind, _ := c.Cluster.KindOf(owner) // the client has read it, so it's known
	for {
		hash := ComputeHash(template, collisions)
		rev := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: owner.GetNamespace(), Name: owner.GetName() + "-" + hash,
				Labels: maps.Clone(template.Labels), Annotations: owner.GetAnnotations(),
				OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(owner, kind),
				},
			},
			Data: revisionData(template), Revision: number,
		}
		const key = appsv1.ControllerRevisionHashLabelKey
		metav1.SetMetaDataLabel(&rev.ObjectMeta, key, hash)
		err := c.Create(ctx, rev)
		if err == nil {
			return rev, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		// The cache may not have the object with this name yet, so ask the API server.
		other, err := Get[*appsv1.ControllerRevision](ctx, c.Client, KeyOf(rev))
		if err != nil {
			return nil, err
		}
		if metav1.IsControlledBy(other, owner) && hasTemplate(other, template) {
			return other, nil // ours, and the answer to its creation was lost
		}
		*collisions++ // makes another hash, and so another name
	}
}

// revisionData is a patch that gives the owner this template back. Its fields are sorted
// like the original's, which compares bytes.
func revisionData(template *corev1.PodTemplateSpec) runtime.RawExtension {
	var fields map[string]any
	data, _ := json.Marshal(template) // none of this can fail: these are API types
	_ = json.Unmarshal(data, &fields)
	fields["$patch"] = "replace"
	spec := map[string]any{"template": fields}
	data, _ = json.Marshal(map[string]any{"spec": spec})
	return runtime.RawExtension{Raw: data}
}

// templateOf returns the template that a revision keeps.
func templateOf(rev *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var data struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	err := json.Unmarshal(rev.Data.Raw, &data)
	return &data.Spec.Template, err
}

// hasTemplate returns true if the revision and the template make the same Pods.
func hasTemplate(rev *appsv1.ControllerRevision, template *corev1.PodTemplateSpec) bool {
	kept, err := templateOf(rev)
	return err == nil && EqualIgnoreHash(kept, template)
}

// hashOf returns the hash of a revision. If another controller wrote it without one, its
// name does as well.
func hashOf(rev *appsv1.ControllerRevision) string {
	return cmp.Or(rev.Labels[appsv1.ControllerRevisionHashLabelKey], rev.Name)
}

// podRevision says which template the Pod has: a DaemonSet labels its Pods with a
// revision's hash, and a StatefulSet with its name.
func podRevision(pod *corev1.Pod) string {
	return pod.Labels[appsv1.ControllerRevisionHashLabelKey]
}

// truncateHistory deletes the oldest of the revisions that no Pod has, and keeps the
// number that the user wants to be able to roll back to.
func truncateHistory(
	ctx context.Context, c *CachedClient, old []*appsv1.ControllerRevision,
	pods []*corev1.Pod, limit *int32,
) error {
	used := map[string]bool{}
	for _, pod := range pods {
		used[podRevision(pod)] = true
	}
	var unused []*appsv1.ControllerRevision
	for _, rev := range old {
		if !used[rev.Name] && !used[hashOf(rev)] {
			unused = append(unused, rev)
		}
	}
	for _, rev := range unused[:max(len(unused)-int(*limit), 0)] {
		err := c.Delete(ctx, rev, metav1.DeleteOptions{})
		if IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// podOf returns a new Pod from the template of owner, still without a name.
func podOf(owner Object, kind string, template *corev1.PodTemplateSpec) *corev1.Pod {
	template = template.DeepCopy()
	ref := metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Labels: template.Labels,
			Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*ref},
		},
		Spec: template.Spec,
	}
}

// deletePods deletes these Pods, but no others that have taken their names.
func deletePods(ctx context.Context, c *CachedClient, pods []*corev1.Pod) error {
	return inParallel(len(pods), func(i int) error {
		err := c.Delete(ctx, pods[i], metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // another process was faster
		}
		return err
	})
}
