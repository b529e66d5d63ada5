package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

func pods(s *stage.Stage) calls[*corev1.Pod] { return s.Client.CoreV1().Pods(s.Namespace) }

// container is the one container of a Pod that behaves as its image says.
func container(image string, ports ...corev1.ContainerPort) corev1.PodSpec {
	return corev1.PodSpec{
		Containers:                   []corev1.Container{{Name: "main", Image: image, Ports: ports}},
		AutomountServiceAccountToken: new(false), // its volume would have a random name
	}
}

// pod is a Pod that nobody controls. It may go onto any node, so it needs no scheduler, and its age is known.
func pod(name string, labels map[string]string, more ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(labels)}, Spec: container("works:1")}
	for _, change := range more {
		change(pod)
	}
	return pod
}

const costs = corev1.PodDeletionCost

func onNode(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = name } }
func runsImage(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Image = name }
}
func cost(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{costs: value}
	}
}

func createPod(p *corev1.Pod) Step { return create("create the Pod "+p.Name, p, pods) }

// which picks one of the Pods that count. It must not matter which of those that fit.
type which struct {
	text string
	fits func(*corev1.Pod) bool
}

var (
	aReadyPod    = which{"a ready Pod", isReady}
	anUnreadyPod = which{"an unready Pod", func(p *corev1.Pod) bool { return !isReady(p) }}
	anyPod       = which{"a Pod", func(*corev1.Pod) bool { return true }}
)

func named(name string) which {
	return which{"the Pod " + name, func(p *corev1.Pod) bool { return p.Name == name }}
}

func labelled(key, value string) which {
	return which{fmt.Sprintf("a Pod with the label %s=%s", key, value), func(p *corev1.Pod) bool { return p.Labels[key] == value }}
}

func isReady(p *corev1.Pod) bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// errNone says that nothing fits.
var errNone = errors.New("there is none")

// pick returns the first Pod that fits: by image, by what else can be seen of it, and by age. Names are made by chance, so
// they decide only among Pods that are all the same.
func (w which) pick(s *stage.Stage) (*corev1.Pod, error) {
	found := s.Pods(func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded && w.fits(p)
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", errNone, w.text)
	}
	slices.SortStableFunc(found, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Spec.Containers[0].Image, b.Spec.Containers[0].Image), cmp.Compare(looks(a), looks(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	return found[0], nil
}

// looks is what is the same for a Pod in both worlds. The hash of a template is not, nor what has it in its name.
func looks(p *corev1.Pod) string {
	labels := maps.Clone(p.Labels)
	delete(labels, appsv1.DefaultDeploymentUniqueLabelKey)
	owner := ""
	if c := metav1.GetControllerOf(p); c != nil {
		owner = c.Kind
	}
	restarts := int32(0)
	for _, c := range p.Status.ContainerStatuses {
		restarts += c.RestartCount
	}
	return fmt.Sprint(owner, labels, p.Annotations, p.Status.Phase, isReady(p), restarts) // fmt sorts maps by their keys
}

func deletePod(w which) Step {
	return Step{Text: "delete " + w.text, Do: func(ctx context.Context, s *stage.Stage) error {
		p, err := w.pick(s)
		if err != nil {
			return err
		}
		s.Deletes(p)
		return pods(s).Delete(ctx, p.Name, metav1.DeleteOptions{})
	}}
}

// deleteAllPods deletes all of them at once.
var deleteAllPods = Step{Text: "delete all Pods", Do: func(ctx context.Context, s *stage.Stage) error {
	for _, p := range s.Pods(func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil }) {
		s.Deletes(p)
		if err := pods(s).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}}

func relabel(w which, labels map[string]string) Step {
	return Step{Text: fmt.Sprintf("give %s the labels %v", w.text, labels), Do: func(ctx context.Context, s *stage.Stage) error {
		p, err := w.pick(s)
		if err != nil {
			return err
		}
		return change(ctx, pods(s), p.Name, func(p *corev1.Pod) { p.Labels = maps.Clone(labels) })
	}}
}

// addLabel changes one label of a Pod; without a value it goes.
func addLabel(w which, key, value string) Step {
	return Step{Text: fmt.Sprintf("give %s the label %s=%s", w.text, key, value), Do: func(ctx context.Context, s *stage.Stage) error {
		p, err := w.pick(s)
		if err != nil {
			return err
		}
		return change(ctx, pods(s), p.Name, func(p *corev1.Pod) {
			if p.Labels[key] = value; value == "" {
				delete(p.Labels, key)
			}
		})
	}}
}

func annotate(w which, key, value string) Step {
	return Step{Text: fmt.Sprintf("annotate %s with %s=%s", w.text, key, value), Do: func(ctx context.Context, s *stage.Stage) error {
		p, err := w.pick(s)
		if err != nil {
			return err
		}
		return change(ctx, pods(s), p.Name, func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} })
	}}
}

// say is a step in which a Pod's kubelet reports something.
func say(w which, what string, report func(*corev1.Pod, metav1.Time)) Step {
	return Step{Text: w.text + " " + what, Do: func(ctx context.Context, s *stage.Stage) error {
		p, err := w.pick(s)
		if err != nil {
			return err
		}
		return s.Report(ctx, p.Name, func(p *corev1.Pod) { report(p, metav1.NewTime(time.Now())) })
	}}
}

func fail(w which) Step {
	return say(w, "fails", func(p *corev1.Pod, now metav1.Time) {
		stage.SetReady(p, false, now) // as a kubelet does
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
	})
}

func succeed(w which) Step {
	return say(w, "succeeds", func(p *corev1.Pod, now metav1.Time) {
		stage.SetReady(p, false, now)
		p.Status.Phase = corev1.PodSucceeded
	})
}

func becomeReady(w which) Step {
	return say(w, "becomes ready", func(p *corev1.Pod, now metav1.Time) { stage.SetReady(p, true, now) })
}

func becomeUnready(w which) Step {
	return say(w, "is no longer ready", func(p *corev1.Pod, now metav1.Time) { stage.SetReady(p, false, now) })
}

func restart(w which, times int32) Step {
	return say(w, fmt.Sprintf("has restarted %d times", times), func(p *corev1.Pod, _ metav1.Time) { p.Status.ContainerStatuses[0].RestartCount = times })
}

// readySince moves the moment at which a Pod became ready into the past.
func readySince(w which, ago time.Duration) Step {
	return say(w, fmt.Sprintf("has been ready for %v", ago), func(p *corev1.Pod, now metav1.Time) {
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now.Add(-ago))
		}
	})
}

// letGo ends the Pods that take their time to end.
var letGo = Step{Text: "the Pods that were deleted come to their end", Do: func(ctx context.Context, s *stage.Stage) error {
	return s.EndPods(ctx, s.Pods(func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }))
}}

// sameReady makes Pods ready for the same time.
func sameReady(names ...string) Step {
	moment := metav1.NewTime(time.Now().Add(-time.Hour))
	var steps []Step
	for _, name := range names {
		steps = append(steps, say(named(name), "has been ready for an hour", func(p *corev1.Pod, _ metav1.Time) {
			for i := range p.Status.Conditions {
				p.Status.Conditions[i].LastTransitionTime = moment
			}
		}))
	}
	return many("all have been ready for an hour", steps...)
}

// createOwnedPod makes a Pod of which a ReplicaSet is an owner, but not the controller.
func createOwnedPod(name string, labels map[string]string, owner string) Step {
	return Step{Text: fmt.Sprintf("create the Pod %s, which belongs to %s too", name, owner), Do: func(ctx context.Context, s *stage.Stage) error {
		set, err := sets(s).Get(ctx, owner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		p := pod(name, labels)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: set.UID}}
		_, err = pods(s).Create(ctx, p, metav1.CreateOptions{})
		return err
	}}
}
