package deployment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// world is an API server, kubelets, users, and a process with the controllers of Deployments and of ReplicaSets.
type world struct {
	*simulation.World
	t *testing.T
}

// inWorld runs a test in a bubble. The controllers do not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulation.New(t, simulation.Options{Controllers: bothControllers, Did: map[string]int{}}), t}
		defer w.End()
		w.Go(func() { w.Kubelet(isGood) })
		test(t, w)
	})
}

// bothControllers makes the process.
func bothControllers(connection *rest.Config) (manager.Manager, error) {
	mgr, err := manager.New(connection, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	options := controllers.Options{Controller: controller.Options{GracePeriod: -1}, Probe: controllers.ProbeOptions{Skip: true}}
	if err := replicaset.Add(mgr, options); err != nil {
		return nil, err
	}
	return mgr, Add(mgr, options)
}

// isGood reports whether a Pod becomes ready.
func isGood(pod *corev1.Pod) bool { return !strings.HasPrefix(pod.Spec.Containers[0].Image, "bad") }

// settle gives everybody time. Events are written within it, too.
func (w *world) settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// template is that of the Deployment web with an image.
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
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("web:1"),
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
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable))}
	}
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// web creates a Deployment, and waits until it stands.
func (w *world) web(replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	w.t.Helper()
	d := newWeb(replicas, changes...)
	require.NoError(w.t, w.Live.Create(w.t.Context(), d))
	w.Start()
	w.settle()
	return d
}

// edit changes a Deployment as it is now, and waits.
func (w *world) edit(d *appsv1.Deployment, changes ...func(*appsv1.Deployment)) {
	w.t.Helper()
	w.read(d)
	for _, change := range changes {
		change(d)
	}
	require.NoError(w.t, w.Live.Update(w.t.Context(), d))
	w.settle()
}

func (w *world) read(object client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.Live.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
}

// sets are all ReplicaSets, the oldest first.
func (w *world) sets() []*appsv1.ReplicaSet {
	w.t.Helper()
	var list appsv1.ReplicaSetList
	require.NoError(w.t, w.Live.List(w.t.Context(), &list))
	sets := make([]*appsv1.ReplicaSet, len(list.Items))
	for i := range list.Items {
		sets[i] = &list.Items[i]
	}
	slices.SortFunc(sets, compareAge)
	return sets
}

// sizes are the images and the sizes of all ReplicaSets, the oldest first.
func (w *world) sizes() (sizes []string) {
	w.t.Helper()
	for _, rs := range w.sets() {
		sizes = append(sizes, fmt.Sprintf("%s: %d", rs.Spec.Template.Spec.Containers[0].Image, *rs.Spec.Replicas))
	}
	return sizes
}

// conditions are the Deployment's, by type.
func (w *world) conditions(d *appsv1.Deployment) map[appsv1.DeploymentConditionType]string {
	w.t.Helper()
	w.read(d)
	out := map[appsv1.DeploymentConditionType]string{}
	for _, c := range d.Status.Conditions {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

// did counts the writes of the Deployment controller by verb and resource, and forgets all.
func (w *world) did() map[string]int {
	did := map[string]int{}
	for _, r := range w.Writes() {
		what := r.Verb + " " + r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		if r.Resource != "pods" && what != "patch replicasets/status" { // which are the other controller's
			did[what]++
		}
	}
	w.Server.ForgetRequests()
	return did
}

// events are the notes of the Deployments' events with a reason, in their order.
func (w *world) events(reason string) (notes []string) {
	var list eventsv1.EventList
	require.NoError(w.t, w.Live.List(w.t.Context(), &list))
	slices.SortStableFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	for _, event := range list.Items {
		if event.Regarding.Kind == "Deployment" && event.Reason == reason {
			require.Equal(w.t, controllerName, event.ReportingController)
			notes = append(notes, event.Note)
		}
	}
	return notes
}
