package deployment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager"
)

// world is an API server, kubelets, users, and a process with the controllers of Deployments and of
// ReplicaSets.
type world struct{ *simulation.World }

// inWorld runs a test in a bubble. The controllers do not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulation.New(t, ours.Process(bothControllers))}
		w.Latency()
		w.Go(func() { w.Kubelet(isGood) })
		test(t, w)
	})
}

// bothControllers adds the controllers of Deployments and of ReplicaSets.
func bothControllers(mgr manager.Manager, options controllers.Options) error {
	return errors.Join(replicaset.Add(mgr, options), Add(mgr, options))
}

// isGood reports whether a Pod becomes ready.
func isGood(pod *corev1.Pod) bool { return !strings.HasPrefix(pod.Spec.Containers[0].Image, "bad") }

// template is the template of the Deployment web, with this image.
func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

// newWeb is a Deployment with the name web that selects app=web.
func newWeb(replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: template("web:1"),
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func image(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func pause(is bool) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Paused = is }
}

func limit(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
		}
	}
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// web creates a Deployment, and waits until it is rolled out.
func (w *world) web(replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	w.T.Helper()
	d := newWeb(replicas, changes...)
	w.Create(d)
	w.Start()
	w.Settle()
	return d
}

// edit reads a Deployment, updates it, and waits.
func (w *world) edit(d *appsv1.Deployment, changes ...func(*appsv1.Deployment)) {
	w.T.Helper()
	simulation.Edit(w.World, d, changes...)
	w.Settle()
}

// sets returns all ReplicaSets, the oldest first.
func (w *world) sets() []*appsv1.ReplicaSet {
	w.T.Helper()
	var list appsv1.ReplicaSetList
	require.NoError(w.T, w.Live.List(w.T.Context(), &list))
	sets := make([]*appsv1.ReplicaSet, len(list.Items))
	for i := range list.Items {
		sets[i] = &list.Items[i]
	}
	slices.SortFunc(sets, compareAge)
	return sets
}

// sizes returns the images and sizes of all ReplicaSets, the oldest first.
func (w *world) sizes() (sizes []string) {
	w.T.Helper()
	for _, rs := range w.sets() {
		sizes = append(sizes, fmt.Sprintf("%s: %d", rs.Spec.Template.Spec.Containers[0].Image,
			*rs.Spec.Replicas))
	}
	return sizes
}

// conditions returns the Deployment's conditions by type.
func (w *world) conditions(d *appsv1.Deployment) map[appsv1.DeploymentConditionType]string {
	w.T.Helper()
	w.Read(d)
	out := map[appsv1.DeploymentConditionType]string{}
	for _, c := range d.Status.Conditions {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

// did counts the writes of the Deployment controller by verb and resource, and clears the log.
func (w *world) did() map[string]int {
	did := w.Wrote()
	for _, ofReplicaSets := range []string{"create pods", "delete pods", "patch pods",
		"patch replicasets/status"} {
		delete(did, ofReplicaSets)
	}
	return did
}

// events returns the notes of the Deployments' events with a reason, in their order.
func (w *world) events(reason string) []string {
	return w.Notes(controllerName, "Deployment")[reason]
}
