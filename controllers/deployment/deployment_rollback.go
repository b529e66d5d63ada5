package deployment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// kubectl rollout undo writes the old template into the Deployment itself: the controller finds the old ReplicaSet by
// its template, and all else is a rollout. But the API before apps/v1 had a field for it, which lives on as an
// annotation, and old programs may still write it.

// rollbackTo is the revision to which somebody wants to go back; 0 is the last one.
func rollbackTo(d *appsv1.Deployment) (revision int64, ok bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// rollBack puts the template of the ReplicaSet with a revision into the Deployment, and removes the annotation.
func (t *turn) rollBack(ctx context.Context, revision int64) error {
	sets := t.all()
	if revision == 0 {
		revision = lastRevision(sets)
	}
	d := t.d.DeepCopy()
	delete(d.Annotations, appsv1.DeprecatedRollbackTo)
	i := slices.IndexFunc(sets, func(rs *appsv1.ReplicaSet) bool { return revision > 0 && revisionOf(rs) == revision })
	kind, reason, note := corev1.EventTypeWarning, "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to."
	switch {
	case i < 0:
	case sameTemplate(&sets[i].Spec.Template, &d.Spec.Template):
		reason, note = "DeploymentRollbackTemplateUnchanged", fmt.Sprintf("The rollback revision contains the same template as current deployment %q", d.Name)
	default:
		kind, reason, note = corev1.EventTypeNormal, "DeploymentRollback", fmt.Sprintf("Rolled back deployment %q to revision %d", d.Name, revision)
		goBack(d, sets[i])
	}
	// An update and no patch: it may not overwrite a template that somebody writes at this moment.
	if err := t.client.Update(ctx, d); err != nil {
		return fmt.Errorf("rolling back to revision %d: %w", revision, err)
	}
	t.events.Eventf(t.d, nil, kind, reason, "Rollback", "%s", note)
	return nil
}

// goBack takes the template of a ReplicaSet, and the annotations that were copied to it, such as the cause of the change.
func goBack(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	d.Spec.Template = *plain(rs.Spec.Template.DeepCopy())
	maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return isCopied(key) })
	for key, value := range rs.Annotations {
		if isCopied(key) {
			d.Annotations[key] = value
		}
	}
}

// lastRevision is the second highest revision, and 0 if there is none.
func lastRevision(sets []*appsv1.ReplicaSet) int64 {
	var revisions []int64
	for _, rs := range sets {
		revisions = append(revisions, revisionOf(rs))
	}
	slices.Sort(revisions)
	if len(revisions) < 2 {
		return 0
	}
	return revisions[len(revisions)-2]
}
