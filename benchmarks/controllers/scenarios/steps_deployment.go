package scenarios

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

func deployments(s *stage.Stage) calls[*appsv1.Deployment] {
	return s.Client.AppsV1().Deployments(s.Namespace)
}

// deployment is a Deployment of Pods with the label app=web.
func deployment(name string, replicas int32, more ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(web)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(web)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(web)}, Spec: container("works:1")},
		},
	}
	for _, change := range more {
		change(d)
	}
	return d
}

type option = func(*appsv1.Deployment)

func runs(image string) option {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

func rolling(surge, unavailable string) option {
	return func(d *appsv1.Deployment) {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}
	}
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func deadline(seconds int32) option {
	return func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &seconds }
}

func minReady(seconds int32) option {
	return func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = seconds }
}

func history(limit int32) option {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit }
}

func paused(is bool) option { return func(d *appsv1.Deployment) { d.Spec.Paused = is } }

func templateNote(value string) option {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": value}
	}
}

func both(options ...option) option {
	return func(d *appsv1.Deployment) {
		for _, option := range options {
			option(d)
		}
	}
}

func deploy(d *appsv1.Deployment) Step {
	return create(fmt.Sprintf("create the Deployment %s of %d", d.Name, *d.Spec.Replicas), d, deployments)
}

const app = "web"

func editApp(text string, how option) Step { return edit(text, app, deployments, how) }

// roll changes the image.
func roll(image string) Step { return editApp("change the image to "+image, runs(image)) }

var (
	pause  = editApp("pause", paused(true))
	resume = editApp("resume", paused(false))
)

func scale(to int32) Step {
	return Step{Text: fmt.Sprintf("scale to %d", to), Do: func(ctx context.Context, s *stage.Stage) error {
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: s.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: to}}
		_, err := s.Client.AppsV1().Deployments(s.Namespace).UpdateScale(ctx, app, scale, metav1.UpdateOptions{})
		return err
	}}
}

func deleteDeployment(policy metav1.DeletionPropagation) Step {
	return remove("Deployment", app, policy, deployments)
}

// revision returns the ReplicaSet of a revision; 0 is the newest, -1 the one before. Those that nobody owns any more come
// last: a new one may have their number.
func revision(s *stage.Stage, number int) (*appsv1.ReplicaSet, error) {
	of := func(rs *appsv1.ReplicaSet) int {
		n, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/revision"])
		return n
	}
	if number <= 0 {
		newest := 0
		for _, rs := range s.ReplicaSets(func(rs *appsv1.ReplicaSet) bool { return len(rs.OwnerReferences) > 0 }) {
			newest = max(newest, of(rs))
		}
		number += newest
	}
	found := s.ReplicaSets(func(rs *appsv1.ReplicaSet) bool { return of(rs) == number })
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: a ReplicaSet of revision %d", errNone, number)
	}
	slices.SortStableFunc(found, func(a, b *appsv1.ReplicaSet) int { return len(b.OwnerReferences) - len(a.OwnerReferences) })
	return found[0], nil
}

// undo does what kubectl rollout undo does: it takes the template of an earlier revision.
func undo(to int) Step {
	return Step{Text: fmt.Sprintf("undo to revision %d", to), Do: func(ctx context.Context, s *stage.Stage) error {
		rs, err := revision(s, to)
		if err != nil {
			return err
		}
		template := rs.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return change(ctx, deployments(s), app, func(d *appsv1.Deployment) { d.Spec.Template = *template })
	}}
}

// onSet does something to the ReplicaSet of a revision.
func onSet(text string, number int, do func(context.Context, *stage.Stage, *appsv1.ReplicaSet) error) Step {
	return Step{Text: fmt.Sprintf("%s the ReplicaSet of revision %d", text, number), Do: func(ctx context.Context, s *stage.Stage) error {
		rs, err := revision(s, number)
		if err != nil {
			return err
		}
		return do(ctx, s, rs)
	}}
}

func changeRevision(text string, number int, how func(*appsv1.ReplicaSet)) Step {
	return onSet(text, number, func(ctx context.Context, s *stage.Stage, rs *appsv1.ReplicaSet) error {
		return change(ctx, sets(s), rs.Name, how)
	})
}

func deleteRevision(number int, policy metav1.DeletionPropagation) Step {
	return onSet("delete ("+string(policy)+")", number, func(ctx context.Context, s *stage.Stage, rs *appsv1.ReplicaSet) error {
		for _, p := range s.Pods(func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, rs) }) {
			s.Deletes(p)
		}
		return sets(s).Delete(ctx, rs.Name, metav1.DeleteOptions{PropagationPolicy: &policy})
	})
}

// collide makes a Deployment whose first ReplicaSet has a name that is taken: it learns the name, and takes it.
func collide(replicas int32) []Step {
	return []Step{
		deploy(deployment(app, 0)),
		onSet("note the name of", 1, func(_ context.Context, s *stage.Stage, rs *appsv1.ReplicaSet) error {
			s.Note = rs.Name
			return nil
		}),
		deleteDeployment(background),
		{Text: "make a ReplicaSet of that name", Do: func(ctx context.Context, s *stage.Stage) error {
			_, err := sets(s).Create(ctx, set(s.Note, 0, otherLabels), metav1.CreateOptions{})
			return err
		}},
		deploy(deployment(app, replicas)),
	}
}
