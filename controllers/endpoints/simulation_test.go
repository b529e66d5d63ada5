package endpoints

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// Users make, change and delete Services and Pods, and touch Endpoints themselves. Meanwhile the
// controller's requests fail or lose their answers, its watches are late and break, and its process
// crashes after a write and starts again. In the end, the Endpoints are as in a run in which
// nothing went wrong, and as the Services and Pods say. And when all is done, the controller writes
// nothing.
func TestWhateverBreaksTheEndpointsAreRight(t *testing.T) {
	simulation.Story{
		Name: "endpoints", Seeds: 60, Short: 15, Race: 15,
		Controllers: Add, Steps: 15, Mishaps: mishaps, Crashes: crashes, Cast: cast,
		Least: map[string]int{
			"crash":                                155,
			"crash after create endpoints":         26,
			"crash after update endpoints":         118,
			"crash after delete endpoints":         10,
			"fault: answer to a create lost":       15,
			"fault: answer to an update lost":      67,
			"fault: answer to a delete lost":       12,
			"fault: conflict of an update":         125,
			"fault: write fails":                   86,
			"fault: watch cut":                     627,
			"fault: watch of Endpoints late":       204,
			"fault: watch of Pods late":            231,
			"fault: watch of Services late":        120,
			"user: create a Pod":                   635,
			"user: delete a Pod":                   95,
			"user: relabel a Pod":                  75,
			"kubelet: readiness":                   382,
			"kubelet: end a Pod":                   100,
			"user: change a selector":              144,
			"user: delete a Service":               260,
			"user: make a Service again":           170,
			"user: delete Endpoints":               54,
			"user: write Endpoints":                56,
			"user: remove the labels of Endpoints": 67,
			"mishap: compaction":                   68,
			"mishap: crash":                        178,
			"mishap: stale views":                  10,
			"mishap: missed states":                9,
			"mishap: time travel":                  11,
			"mishap: two at once":                  14,
			"mishap: clocks":                       9,
			"mishap: wrong answer":                 8,
			"mishap: wrong answers":                23,
		},
	}.Test(t)
}

// cast are users of Services and Pods.
func cast(w *simulation.World) simulation.Cast {
	u := &crowd{World: w}
	return simulation.Cast{
		Begin: u.begin, Act: u.live, State: u.state, Judge: func() {},
	}
}

func (u *crowd) begin() {
	for range 12 {
		u.act()
	}
}

// live lets some users act.
func (u *crowd) live() {
	for range 1 + u.Users.IntN(4) {
		u.act()
		time.Sleep(time.Duration(u.Users.IntN(200)) * time.Millisecond)
	}
}

// crashes are the writes after which the process may die.
var crashes = []fakeapi.Match{
	{Verb: "create", Resource: "endpoints"}, {Verb: "update", Resource: "endpoints"},
	{Verb: "update", Resource: "endpoints"}, {Verb: "delete", Resource: "endpoints"},
}

// mishaps are those of writes, and of single watches: for example, that of Pods is late, but not
// that of Services.
func mishaps(random *rand.Rand, often float64) []simulation.Mishap {
	on := func(verb, resource string) fakeapi.Match {
		return fakeapi.Match{Verb: verb, Resource: resource}
	}
	late := time.Duration(random.IntN(4000)) * time.Millisecond
	return []simulation.Mishap{
		{
			Name: "answer to a create lost",
			Fault: fakeapi.Fault{
				Match: on("create", "endpoints"), Probability: often, LoseResponse: true,
			},
		},
		{
			Name: "answer to an update lost",
			Fault: fakeapi.Fault{
				Match: on("update", "endpoints"), Probability: often, LoseResponse: true,
			},
		},
		{
			Name: "answer to a delete lost",
			Fault: fakeapi.Fault{
				Match: on("delete", "endpoints"), Probability: often, LoseResponse: true,
			},
		},
		{
			Name: "conflict of an update",
			Fault: fakeapi.Fault{
				Match: on("update", ""), Probability: often, Status: fakeapi.Conflict(),
			},
		},
		{
			Name: "write fails",
			Fault: fakeapi.Fault{
				Match: on("update", ""), Probability: often, Status: fakeapi.InternalError(),
			},
		},
		{
			Name: "write fails",
			Fault: fakeapi.Fault{
				Match: on("create", ""), Probability: often, Status: fakeapi.Forbidden(),
			},
		},
		{
			Name:  "watch of Pods late",
			Fault: fakeapi.Fault{Match: on("watch", "pods"), DelayEvents: late},
		},
		{
			Name:  "watch of Services late",
			Fault: fakeapi.Fault{Match: on("watch", "services"), DelayEvents: late},
		},
		{
			Name:  "watch of Endpoints late",
			Fault: fakeapi.Fault{Match: on("watch", "endpoints"), DelayEvents: late},
		},
	}
}

// crowd are the users of a simulation, and its kubelets.
type crowd struct {
	*simulation.World
	pods int // created so far
}

// act lets a user or a kubelet do something. It takes the same random numbers in each run, and
// finds the same objects, because it reads none that the controller writes.
func (u *crowd) act() {
	what, which, how := u.Users.IntN(24), u.Users.IntN(1000), u.Users.IntN(1000)
	switch {
	case what < 6:
		u.createPod(how)
	case what < 14:
		u.changePod(what, which, how)
	case what < 21:
		u.changeService(what, fmt.Sprint("s", which%3), how)
	default:
		u.touchEndpoints(what, fmt.Sprint("s", which%3))
	}
}

var colours = []string{"red", "green"}

func (u *crowd) createPod(how int) {
	u.pods++
	n := u.pods
	pod := runningPod(n, func(p *corev1.Pod) {
		p.UID, p.Labels = "", map[string]string{"app": colours[how%2], "tier": "front"}
		p.Spec.Containers[0].Ports[0].ContainerPort = int32(8080 + how%3)
	})
	status := pod.Status
	u.OthersDid(u.Live.Create(context.Background(), pod), "user: create a Pod", pod.Name)
	if how%5 == 0 {
		return // it has no address yet
	}
	pod.Status = status
	if how%4 == 0 {
		notReady(pod)
	}
	u.OthersDid(u.Live.Status().Update(context.Background(), pod), "kubelet: start a Pod", pod.Name)
}

func (u *crowd) changePod(what, which, how int) {
	ctx := context.Background()
	pods := u.Pods()
	if len(pods) == 0 {
		return
	}
	pod := pods[which%len(pods)]
	switch what {
	case 6, 7, 8, 9:
		ip := fmt.Sprintf("10.1.0.%d", u.pods)
		if len(pod.Status.PodIPs) == 0 {
			withIPs(ip)(pod)
		}
		status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue,
			corev1.ConditionFalse}[how%3]
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()},
		}
		u.OthersDid(u.Live.Status().Update(ctx, pod), "kubelet: readiness", pod.Name)
	case 10:
		pod.Status.Phase = []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded}[how%2]
		u.OthersDid(u.Live.Status().Update(ctx, pod), "kubelet: end a Pod", pod.Name)
	case 11:
		u.OthersDid(u.Live.Delete(ctx, pod), "user: delete a Pod", pod.Name)
	case 12:
		u.OthersDid(u.Live.Delete(ctx, pod, client.GracePeriodSeconds(0)), "kubelet: remove a Pod",
			pod.Name)
	case 13:
		pod.Labels["app"] = []string{"red", "green", "none"}[how%3]
		u.OthersDid(u.Live.Update(ctx, pod), "user: relabel a Pod", pod.Name)
	}
}

// changeService changes a Service, or creates it.
func (u *crowd) changeService(what int, name string, how int) {
	ctx := context.Background()
	service := webService(func(s *corev1.Service) {
		s.Name, s.Spec.Selector = name, map[string]string{"app": colours[how%2]}
		if name == "s2" {
			s.Spec.Selector = map[string]string{"tier": "front"}
			publishes(s)
		}
	})
	if err := u.Live.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		u.OthersDid(u.Live.Create(ctx, service), "user: create a Service", name)
		return
	}
	switch what {
	case 14, 15:
		service.Spec.Selector = map[string]string{"app": colours[how%2]}
		u.OthersDid(u.Live.Update(ctx, service), "user: change a selector", name)
	case 16:
		service.Spec.Ports[0].TargetPort = []intstr.IntOrString{intstr.FromString("http"),
			intstr.FromInt32(9000), intstr.FromString("absent")}[how%3]
		u.OthersDid(u.Live.Update(ctx, service), "user: change a port", name)
	case 17:
		service.Labels = map[string]string{"team": fmt.Sprint(how % 3)}
		u.OthersDid(u.Live.Update(ctx, service), "user: change a label", name)
	case 18:
		u.OthersDid(u.Live.Delete(ctx, service), "user: delete a Service", name)
	case 19, 20:
		u.OthersDid(u.Live.Delete(ctx, service), "user: delete a Service", name)
		time.Sleep(time.Duration(how%50) * time.Millisecond)
		again := webService(func(s *corev1.Service) {
			s.Name, s.Spec.Selector = name, map[string]string{"app": colours[how%2]}
		})
		u.OthersDid(u.Live.Create(ctx, again), "user: make a Service again", name)
	}
}

// touchEndpoints lets a user do what only the controller should.
func (u *crowd) touchEndpoints(what int, name string) {
	ctx := context.Background()
	endpoints := &corev1.Endpoints{}
	if err := u.Live.Get(
		ctx, client.ObjectKey{Namespace: "default", Name: name}, endpoints,
	); err != nil {
		return // in the other run they may exist; nothing else depends on them
	}
	switch what {
	case 21:
		u.OthersDid(u.Live.Delete(ctx, endpoints), "user: delete Endpoints", name)
	case 22:
		endpoints.Subsets = byHand().Subsets
		u.OthersDid(u.Live.Update(ctx, endpoints), "user: write Endpoints", name)
	case 23:
		endpoints.Labels = nil
		u.OthersDid(u.Live.Update(ctx, endpoints), "user: remove the labels of Endpoints", name)
	}
}

// state returns the content of all Endpoints. It also checks it against the Services and Pods,
// because it could be wrong in both runs.
func (u *crowd) state() string {
	ctx := context.Background()
	var services corev1.ServiceList
	require.NoError(u.T, u.Live.List(ctx, &services))
	var all corev1.EndpointsList
	require.NoError(u.T, u.Live.List(ctx, &all))
	state := map[string]string{}
	for i := range all.Items {
		state[all.Items[i].Name] = fmt.Sprint(text(all.Items[i].Subsets), all.Items[i].Labels)
	}
	want := map[string]string{}
	for i := range services.Items {
		service := &services.Items[i]
		var selected []*corev1.Pod
		for _, pod := range u.Pods() {
			if pod.Labels["app"] == service.Spec.Selector["app"] ||
				pod.Labels["tier"] == service.Spec.Selector["tier"] &&
					service.Spec.Selector["app"] == "" {
				selected = append(selected, pod)
			}
		}
		c := contentOf(service, selected)
		want[service.Name] = fmt.Sprint(text(c.subsets), c.labels)
	}
	if !maps.Equal(want, state) {
		u.Breaks(simulation.ActedOn, time.Now(), "the Endpoints are %v, and the Services and Pods say %v",
			state, want)
	}
	return fmt.Sprint(state)
}
