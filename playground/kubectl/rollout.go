package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	causeAnnotation    = "kubernetes.io/change-cause"
	restartAnnotation  = "kubectl.kubernetes.io/restartedAt"
)

// rolloutOf returns the Deployment that the line names.
func rolloutOf(ctx context.Context, c *call) (target, *appsv1.Deployment, error) {
	if len(c.args) == 0 {
		return target{}, nil, errors.New("required resource not specified")
	}
	t, err := c.one(2)
	if err != nil {
		return t, nil, err
	}
	if t.kind.name != "Deployment" {
		return t, nil, fmt.Errorf(
			"rollouts of %s aren't supported here, only those of deployments",
			t.kind.plural,
		)
	}
	u, err := c.on(t.kind).Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return t, nil, err
	}
	d, err := as[appsv1.Deployment](u)
	return t, d, err
}

// rolloutStatus says how far a rollout is, until it is done or has failed.
func rolloutStatus(ctx context.Context, c *call) error {
	t, d, err := rolloutOf(ctx, c)
	if err != nil {
		return err
	}
	last := ""
	for {
		said, done, err := progress(d)
		if err != nil {
			return err
		}
		if said != last {
			last = said
			if err := c.say("%s", said); err != nil {
				return err
			}
		}
		if done || !c.watch {
			return nil
		}
		if d, err = c.next(ctx, t, d); err != nil || d == nil {
			return err
		}
	}
}

// next waits for a change of the Deployment. It returns nil when ctx ends.
func (c *call) next(
	ctx context.Context,
	t target,
	d *appsv1.Deployment,
) (*appsv1.Deployment, error) {
	for ctx.Err() == nil {
		w, err := c.on(t.kind).Watch(ctx, metav1.ListOptions{
			FieldSelector: "metadata.name=" + t.name, ResourceVersion: d.ResourceVersion,
		})
		if err != nil {
			return nil, err
		}
		event, open := <-w.ResultChan()
		w.Stop()
		u, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case !open:
		case !ok:
			return nil, fmt.Errorf("the watch failed: %v", event.Object)
		case event.Type == "DELETED":
			return nil, fmt.Errorf("object has been deleted")
		default:
			return as[appsv1.Deployment](u)
		}
	}
	return nil, nil
}

func progress(d *appsv1.Deployment) (said string, done bool, err error) {
	s, wanted := d.Status, ptr.Deref(d.Spec.Replicas, 1)
	if s.ObservedGeneration < d.Generation {
		return "Waiting for deployment spec update to be observed...", false, nil
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			return "", false, fmt.Errorf("deployment %q exceeded its progress deadline", d.Name)
		}
	}
	waiting := fmt.Sprintf("Waiting for deployment %q rollout to finish: ", d.Name)
	switch {
	case s.UpdatedReplicas < wanted:
		return waiting + fmt.Sprintf(
			"%d out of %d new replicas have been updated...",
			s.UpdatedReplicas,
			wanted,
		), false, nil
	case s.Replicas > s.UpdatedReplicas:
		return waiting + fmt.Sprintf(
			"%d old replicas are pending termination...",
			s.Replicas-s.UpdatedReplicas,
		), false, nil
	case s.AvailableReplicas < s.UpdatedReplicas:
		return waiting + fmt.Sprintf(
			"%d of %d updated replicas are available...",
			s.AvailableReplicas,
			s.UpdatedReplicas,
		), false, nil
	}
	return fmt.Sprintf("deployment %q successfully rolled out", d.Name), true, nil
}

// revision is what is left of one state of a Deployment's template.
type revision struct {
	number int64
	set    *appsv1.ReplicaSet
}

// revisions returns the ReplicaSets of a Deployment, the oldest revision first.
func (c *call) revisions(ctx context.Context, d *appsv1.Deployment) (all []revision, err error) {
	k, _ := kindCalled("replicasets")
	list, err := c.on(k).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		rs, err := as[appsv1.ReplicaSet](&list.Items[i])
		if err != nil {
			return nil, err
		}
		number, err := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
		if err == nil && metav1.IsControlledBy(rs, d) {
			all = append(all, revision{number, rs})
		}
	}
	slices.SortFunc(all, func(a, b revision) int { return int(a.number - b.number) })
	return all, nil
}

func rolloutHistory(ctx context.Context, c *call) error {
	t, d, err := rolloutOf(ctx, c)
	if err != nil {
		return err
	}
	all, err := c.revisions(ctx, d)
	if err != nil {
		return err
	}
	if c.revision > 0 {
		at := slices.IndexFunc(all, func(r revision) bool { return r.number == c.revision })
		if at < 0 {
			return errors.New("unable to find the specified revision")
		}
		text := &text{}
		text.template(&all[at].set.Spec.Template)
		return c.say("%s/%s with revision #%d\n%s", t.kind.full(), t.name, c.revision, text)
	}
	rows := [][]string{{"REVISION", "CHANGE-CAUSE"}}
	for _, r := range all {
		cause := r.set.Annotations[causeAnnotation]
		if cause == "" {
			cause = none
		}
		rows = append(rows, []string{fmt.Sprint(r.number), cause})
	}
	if err := c.say("%s/%s ", t.kind.full(), t.name); err != nil {
		return err
	}
	history := &table{}
	if err := history.print(c.out, rows); err != nil {
		return err
	}
	return c.say("")
}

func rolloutUndo(ctx context.Context, c *call) error {
	t, d, err := rolloutOf(ctx, c)
	if err != nil {
		return err
	}
	all, err := c.revisions(ctx, d)
	if err != nil {
		return err
	}
	to, err := undoTo(all, c.toRevision, d.Name)
	if err != nil {
		return err
	}
	if d.Spec.Paused {
		return errors.New(
			"you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
		)
	}
	template := to.set.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	if equality.Semantic.DeepEqual(template, &d.Spec.Template) {
		return c.say(
			"%s/%s skipped rollback (current template already matches revision %d)",
			t.kind.full(),
			t.name,
			c.toRevision,
		)
	}
	// A JSON patch: a merge would keep what only the template of now has.
	body, err := json.Marshal(
		[]fields{{"op": "replace", "path": "/spec/template", "value": template}},
	)
	if err != nil {
		return err
	}
	if _, err := c.on(t.kind).Patch(ctx, t.name, types.JSONPatchType, body, metav1.PatchOptions{}); err != nil {
		return err
	}
	return c.say("%s/%s rolled back", t.kind.full(), t.name)
}

// undoTo finds a revision, or with 0 the one before the last.
func undoTo(all []revision, number int64, name string) (revision, error) {
	if number == 0 {
		if len(all) < 2 {
			return revision{}, fmt.Errorf("no rollout history found for deployment %q", name)
		}
		return all[len(all)-2], nil
	}
	for _, r := range all {
		if r.number == number {
			return r, nil
		}
	}
	return revision{}, fmt.Errorf("unable to find specified revision %d in history", number)
}

func rolloutPause(ctx context.Context, c *call) error  { return c.pause(ctx, true) }
func rolloutResume(ctx context.Context, c *call) error { return c.pause(ctx, false) }

func (c *call) pause(ctx context.Context, paused bool) error {
	t, d, err := rolloutOf(ctx, c)
	if err != nil {
		return err
	}
	if d.Spec.Paused == paused {
		already := map[bool]string{true: "is already paused", false: "is not paused"}[paused]
		return stderr{fmt.Errorf("error: %s %q %s", t.kind.resources(), t.name, already)}
	}
	done := map[bool]string{true: "paused", false: "resumed"}[paused]
	var value any // null removes the field
	if paused {
		value = true
	}
	return c.patch(ctx, t, fields{"spec": fields{"paused": value}}, done)
}

func rolloutRestart(ctx context.Context, c *call) error {
	t, d, err := rolloutOf(ctx, c)
	if err != nil {
		return err
	}
	if d.Spec.Paused {
		return errors.New("can't restart paused deployment (run rollout resume first)")
	}
	when := fields{restartAnnotation: time.Now().Format(time.RFC3339)}
	return c.patch(
		ctx,
		t,
		fields{"spec": fields{"template": fields{"metadata": fields{"annotations": when}}}},
		"restarted",
	)
}
