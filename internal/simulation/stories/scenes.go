package stories

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
)

// Scene is a short day without chance. Kubernetes' controllers break a promise in each of them, as
// docs/bad-days.md tells. The library's controllers play them, too, and keep it.
type Scene struct {
	Name  string
	play  func(*simulation.World)
	judge func(*simulation.World)
}

// Play plays a Scene, and returns the promises that were broken.
func (s Scene) Play(t *testing.T, controllers simulation.Process) (broken []simulation.Broken) {
	synctest.Test(t, func(t *testing.T) {
		w := simulation.NewDirect(t, controllers)
		w.Latency()
		w.Watch(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{})
		s.play(w)
		time.Sleep(30 * time.Minute)
		s.judge(w)
		w.End()
		broken = w.Broken()
	})
	return broken
}

// ScenesOfReplicaSets are about answers that get lost, while the watch of Pods is late. A user wants nine
// Pods, and later one.
func ScenesOfReplicaSets() []Scene {
	lost := func(verb string, times int) func(w *simulation.World) {
		return func(w *simulation.World) {
			late := w.Server.Inject(fakeapi.Fault{
				Match:       fakeapi.Match{UserAgent: simulation.Agent, Verb: "watch", Resource: "pods"},
				DelayEvents: 2 * time.Second,
			})
			defer late()
			defer w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{UserAgent: simulation.Agent, Verb: verb, Resource: "pods"},
				Times: times, LoseResponse: true,
			})()
			w.Go(func() { w.Kubelet(nil) })
			rs := webReplicaSet(9)
			w.Create(rs)
			w.Start()
			w.Settle()
			simulation.Edit(w, rs, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(1)) })
			w.Settle()
		}
	}
	judge := func(w *simulation.World) {
		w.ReplicaSetsAreDone()
		w.JudgePods()
	}
	return []Scene{
		{"the answers to three creates get lost", lost("create", 3), judge},
		{"the answers to the deletes get lost", lost("delete", 8), judge},
	}
}

// ScenesOfDeployments are about a rollout that doesn't get anywhere. A user mends it: another image,
// another strategy, and another size.
func ScenesOfDeployments() []Scene {
	return []Scene{{
		"a rollout that is stuck is mended with Recreate, and another size",
		func(w *simulation.World) {
			w.Go(func() { w.Kubelet(isGood) })
			d := webDeployment()
			replicas(4)(d)
			w.Create(d)
			w.Start()
			w.Settle()
			simulation.Edit(w, d, image("bad:1"))
			w.Settle()
			simulation.Edit(w, d, image("web:2"), recreate, replicas(2))
		},
		func(w *simulation.World) {
			w.ReplicaSetsAreDone()
			w.DeploymentsAreDone()
		},
	}}
}

// serve makes a Service and two Pods, of which the second isn't ready, and starts the controllers.
func (u *crowd) serve() (service *corev1.Service, ready, unready *corev1.Pod) {
	u.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	service = webService("s0", "red")
	u.Create(service)
	u.createPod(2) // ready, and red
	u.createPod(4) // not ready, and red
	pods := u.Pods()
	require.Len(u.T, pods, 2)
	u.Start()
	u.Settle()
	return service, pods[0], pods[1]
}

func (u *crowd) endUnready() {
	_, _, pod := u.serve()
	simulation.EditStatus(u.World, pod, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
}

// ScenesOfEndpoints are about a Pod that ends, and a user who writes to the wrong object.
func ScenesOfEndpoints() []Scene {
	return []Scene{
		scene("a Pod that isn't ready ends", (*crowd).endUnready, (*crowd).endpointsAreDone),
		scene("a user edits Endpoints", func(u *crowd) {
			u.serve()
			u.touchEndpoints(22, "s0")
		}, (*crowd).endpointsAreDone),
	}
}

// ScenesOfSlices are about the same Pod, and a user who takes a slice over. The Service goes on: another
// Pod has to get into a slice.
func ScenesOfSlices() []Scene {
	return []Scene{
		scene("a Pod that isn't ready ends", (*crowd).endUnready, (*crowd).slicesAreDone),
		scene("a user takes a slice over", func(u *crowd) {
			service, _, _ := u.serve()
			for _, slice := range u.slicesOf(service) {
				simulation.Edit(u.World, slice, func(slice *discoveryv1.EndpointSlice) {
					slice.Labels[discoveryv1.LabelManagedBy] = "me"
				})
			}
			u.createPod(2)
		}, (*crowd).slicesAreDone),
	}
}

func scene(name string, play, judge func(*crowd)) Scene {
	users := &crowd{touched: map[string]string{}}
	return Scene{
		name,
		func(w *simulation.World) {
			users.World = w
			play(users)
		},
		func(*simulation.World) { judge(users) },
	}
}
