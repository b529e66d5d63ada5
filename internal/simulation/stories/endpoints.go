package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// Endpoints is the story of three Services and the Pods that they select. Users make, change and delete
// them, and touch Endpoints themselves. In the end, the Endpoints must be as the Services and Pods say:
// see services.go.
func Endpoints(controller simulation.Process) simulation.Story {
	return simulation.Story{
		Name: "endpoints", Seeds: 60, Short: 15, Race: 15,
		Controllers: controller, Steps: 15, Mishaps: endpointsMishaps, Crashes: endpointsCrashes,
		Cast: castEndpoints,
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
	}
}

func castEndpoints(w *simulation.World) simulation.Cast {
	u := &crowd{World: w, touched: map[string]string{}}
	return simulation.Cast{
		Begin: u.begin, Act: u.live, State: u.endpointsState, Judge: u.endpointsAreDone,
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

// endpointsCrashes are the writes after which the process may die.
var endpointsCrashes = []fakeapi.Match{
	{Verb: "create", Resource: "endpoints"}, {Verb: "update|patch", Resource: "endpoints"},
	{Verb: "update|patch", Resource: "endpoints"}, {Verb: "delete", Resource: "endpoints"},
}

// endpointsMishaps are those of writes, and of single watches: for example, that of Pods is late, but not
// that of Services.
func endpointsMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	delay := milliseconds(random, 4000)
	return []simulation.Mishap{
		lost("answer to a create lost", on("create", "endpoints"), often),
		lost("answer to an update lost", on("update|patch", "endpoints"), often),
		lost("answer to a delete lost", on("delete", "endpoints"), often),
		fails("conflict of an update", on("update|patch", ""), often, fakeapi.Conflict()),
		fails("write fails", on("update|patch", ""), often, fakeapi.InternalError()),
		fails("write fails", on("create", ""), often, fakeapi.Forbidden()),
		late("watch of Pods late", "pods", delay),
		late("watch of Services late", "services", delay),
		late("watch of Endpoints late", "endpoints", delay),
	}
}

// crowd are the users of a simulation, and its kubelets.
type crowd struct {
	*simulation.World
	pods int // created so far
	// touched has the version of Endpoints that a user has written last.
	touched map[string]string
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
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprint("pod-", n),
			Labels: map[string]string{"app": colours[how%2], "tier": "front"},
		},
		Spec: webSpec("web"),
	}
	pod.Spec.NodeName = "n1"
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{
		{Name: "http", ContainerPort: int32(8080 + how%3), Protocol: corev1.ProtocolTCP},
	}
	u.OthersDid(u.Live.Create(context.Background(), pod), "user: create a Pod", pod.Name)
	if how%5 == 0 {
		return // it has no address yet
	}
	pod.Status.Phase = corev1.PodRunning
	u.setIPs(pod, fmt.Sprintf("10.0.%d.%d", n/250, n%250), n)
	ready := corev1.ConditionTrue
	if how%4 == 0 {
		ready = corev1.ConditionFalse
	}
	u.setReady(pod, ready)
	u.OthersDid(u.Live.Status().Update(context.Background(), pod), "kubelet: start a Pod", pod.Name)
}

// setIPs gives a Pod its addresses. Half of the Pods have one of each family.
func (u *crowd) setIPs(pod *corev1.Pod, ip string, n int) {
	pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	if n%2 == 0 {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: fmt.Sprintf("fd00::%x", n)})
	}
}

func (u *crowd) setReady(pod *corev1.Pod, status corev1.ConditionStatus) {
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()},
	}
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
		if len(pod.Status.PodIPs) == 0 {
			u.setIPs(pod, fmt.Sprintf("10.1.0.%d", u.pods), 1000+u.pods)
		}
		u.setReady(pod, []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue,
			corev1.ConditionFalse}[how%3])
		u.OthersDid(u.Live.Status().Update(ctx, pod), "kubelet: readiness", pod.Name)
	case 10:
		pod.Status.Phase = []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded}[how%2]
		u.setReady(pod, corev1.ConditionFalse) // in the same write, as kubelets do
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

// webService is a Service that selects an app. s1 wants both IP families, and s2 publishes all Pods of
// the tier, ready or not.
func webService(name, app string) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"team": "shop"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.9",
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Selector:   map[string]string{"app": app},
			Ports: []corev1.ServicePort{
				{
					Name: "http", Port: 80, Protocol: corev1.ProtocolTCP,
					TargetPort: intstr.FromString("http"),
				},
			},
		},
	}
	switch name {
	case "s1":
		service.Spec.IPFamilies = append(service.Spec.IPFamilies, corev1.IPv6Protocol)
	case "s2":
		service.Spec.Selector = map[string]string{"tier": "front"}
		service.Spec.PublishNotReadyAddresses = true
	}
	return service
}

// changeService changes a Service, or creates it.
func (u *crowd) changeService(what int, name string, how int) {
	ctx := context.Background()
	service := webService(name, colours[how%2])
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
		u.OthersDid(u.Live.Create(ctx, webService(name, colours[how%2])), "user: make a Service again", name)
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
		endpoints.Subsets = []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}},
			Ports:     []corev1.EndpointPort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}},
		}}
		u.OthersDid(u.Live.Update(ctx, endpoints), "user: write Endpoints", name)
	case 23:
		endpoints.Labels = nil
		u.OthersDid(u.Live.Update(ctx, endpoints), "user: remove the labels of Endpoints", name)
	}
	u.touched[name] = endpoints.ResourceVersion
}

// endpointsState returns the content of all Endpoints.
func (u *crowd) endpointsState() string {
	var all corev1.EndpointsList
	require.NoError(u.T, u.Live.List(context.Background(), &all))
	var state strings.Builder
	for i := range all.Items {
		fmt.Fprintln(&state, all.Items[i].Name, all.Items[i].Labels, plainly(targetsIn(&all.Items[i])))
	}
	return state.String()
}
