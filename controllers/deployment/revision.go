package deployment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Annotations of a ReplicaSet. kubectl reads the first, which a Deployment has, too.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// historyAnnotation has the earlier revisions of a ReplicaSet that a rollback has made the new
	// one again.
	historyAnnotation = "deployment.kubernetes.io/revision-history"
	// desiredAnnotation is the Deployment's spec.replicas when the controller last sized the
	// ReplicaSet. If it differs now, a user has scaled the Deployment, which isn't a rollout.
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	// maxAnnotation is how many Pods all ReplicaSets together were allowed then. Proportional
	// scaling divides by it.
	maxAnnotation = "deployment.kubernetes.io/max-replicas"
)

// historyLimit is the maximum length of historyAnnotation, in bytes.
const historyLimit = 2000

// isCopied reports whether a Deployment's annotation is copied to its new ReplicaSet. Those that
// describe the Deployment itself aren't.
func isCopied(annotation string) bool {
	switch annotation {
	case corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation,
		desiredAnnotation, maxAnnotation, appsv1.DeprecatedRollbackTo:
		return false
	}
	return true
}

// annotationsFor returns the annotations that a Deployment's new ReplicaSet should have; has is
// what it has now. An annotation that the user removed from the Deployment stays.
//
// revision is one more than the highest of the old ReplicaSets. The ReplicaSet keeps its own
// revision if that is higher: the old ReplicaSets with the revisions in between may have been
// cleaned up.
func annotationsFor(d *appsv1.Deployment, has map[string]string, revision int64) map[string]string {
	wants := maps.Clone(has)
	if wants == nil {
		wants = map[string]string{}
	}
	for key, value := range d.Annotations {
		if isCopied(key) {
			wants[key] = value
		}
	}
	text, had := has[revisionAnnotation]
	before, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 64)
	if err != nil || before >= revision {
		return wants // not a number: another program wrote it; Kubernetes leaves it, too
	}
	wants[revisionAnnotation] = strconv.FormatInt(revision, 10)
	if had {
		wants[historyAnnotation] = withRevision(has[historyAnnotation], text)
	}
	return wants
}

// withRevision appends a revision to a list, and drops the oldest if the list gets too long.
func withRevision(list, revision string) string {
	if list == "" {
		return revision
	}
	revisions := append(strings.Split(list, ","), revision)
	for length := len(list) + 1 + len(revision); length > historyLimit; {
		length -= len(revisions[0]) + 1
		revisions = revisions[1:]
	}
	return strings.Join(revisions, ",")
}

// revisionOf returns a ReplicaSet's revision, or 0 if it has none.
func revisionOf(rs *appsv1.ReplicaSet) int64 {
	revision, err := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

func highestRevision(sets []*appsv1.ReplicaSet) (highest int64) {
	for _, rs := range sets {
		highest = max(highest, revisionOf(rs))
	}
	return highest
}

// scaleAnnotations record on a ReplicaSet how large its Deployment was.
func scaleAnnotations(d *appsv1.Deployment) map[string]string {
	l := limitsOf(&d.Spec)
	return map[string]string{
		desiredAnnotation: strconv.Itoa(int(l.desired)),
		maxAnnotation:     strconv.Itoa(int(l.desired + l.surge)),
	}
}

// numberIn parses an annotation that is a number.
func numberIn(rs *appsv1.ReplicaSet, annotation string) (n int32, ok bool) {
	number, err := strconv.ParseUint(rs.Annotations[annotation], 10, 31)
	return int32(number), err == nil
}

// expired returns the old ReplicaSets beyond the revision history limit: those with the lowest
// revisions. It keeps one that has Pods or is being scaled, but counts it.
func expired(d *appsv1.Deployment, oldRSs []*appsv1.ReplicaSet) (out []*appsv1.ReplicaSet) {
	limit := d.Spec.RevisionHistoryLimit
	if limit == nil {
		return nil
	}
	alive := slices.DeleteFunc(slices.Clone(oldRSs), func(rs *appsv1.ReplicaSet) bool {
		return rs.DeletionTimestamp != nil
	})
	slices.SortStableFunc(alive, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Compare(revisionOf(a), revisionOf(b))
	})
	for _, rs := range alive[:max(len(alive)-int(*limit), 0)] {
		if replicasOf(rs.Spec.Replicas) == 0 && rs.Status.Replicas == 0 &&
			rs.Status.ObservedGeneration >= rs.Generation {
			out = append(out, rs)
		}
	}
	return out
}

// kubectl rollout undo writes the old template into the Deployment; then the controller finds the
// old ReplicaSet by its template, and rolls out as usual. The APIs before apps/v1 had a field for a
// rollback. It lives on as an annotation, and old programs may still write it.

// rollbackTo returns the revision in the rollback annotation; 0 is the previous one.
func rollbackTo(d *appsv1.Deployment) (revision int64, ok bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// rollBack copies the template of the ReplicaSet with a revision into the Deployment, and removes
// the annotation.
func (s *deploymentSync) rollBack(ctx context.Context, revision int64) error {
	sets := s.all()
	if revision == 0 {
		revision = lastRevision(sets)
	}
	d := s.d.DeepCopy()
	delete(d.Annotations, appsv1.DeprecatedRollbackTo)
	i := slices.IndexFunc(sets, func(rs *appsv1.ReplicaSet) bool {
		return revision > 0 && revisionOf(rs) == revision
	})
	kind, reason, note := corev1.EventTypeWarning, "DeploymentRollbackRevisionNotFound",
		"Unable to find the revision to rollback to."
	switch {
	case i < 0:
	case sameTemplate(&sets[i].Spec.Template, &d.Spec.Template):
		reason, note = "DeploymentRollbackTemplateUnchanged",
			fmt.Sprintf("The rollback revision contains the same template as current deployment %q",
				d.Name)
	default:
		kind, reason, note = corev1.EventTypeNormal, "DeploymentRollback",
			fmt.Sprintf("Rolled back deployment %q to revision %d", d.Name, revision)
		goBack(d, sets[i])
	}
	// An update, not a patch: it must not overwrite a template that a user has just written.
	if err := s.client.Update(ctx, d); err != nil {
		return fmt.Errorf("rolling back to revision %d: %w", revision, err)
	}
	s.events.Eventf(s.d, nil, kind, reason, "Rollback", "%s", note)
	return nil
}

// goBack copies the template of a ReplicaSet into the Deployment, and the annotations that came
// from it, such as the change cause.
func goBack(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	d.Spec.Template = *plain(rs.Spec.Template.DeepCopy())
	maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return isCopied(key) })
	for key, value := range rs.Annotations {
		if isCopied(key) {
			d.Annotations[key] = value
		}
	}
}

// lastRevision returns the second highest revision, or 0 if there's none.
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
