package endpoints

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// runningPod is the Pod pod-n with the address 10.0.0.n, which is ready.
func runningPod(n int, changes ...func(*corev1.Pod)) *corev1.Pod {
	ip := fmt.Sprintf("10.0.%d.%d", n/250, n%250)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprint("pod-", n),
			UID: types.UID(fmt.Sprint("pod-", n)), Labels: map[string]string{"app": "web"},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{
			{
				Name: "web", Image: "web",
				Ports: []corev1.ContainerPort{
					{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
				},
			},
		}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{
				{
					Type: corev1.PodReady, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(noon),
				},
			},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func notReady(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }
func deleted(pod *corev1.Pod)  { pod.DeletionTimestamp = new(metav1.NewTime(noon)) }
func failed(pod *corev1.Pod)   { pod.Status.Phase = corev1.PodFailed }

func withIPs(ips ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.PodIP, pod.Status.PodIPs = "", nil
		for _, ip := range ips {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		if len(ips) > 0 {
			pod.Status.PodIP = ips[0]
		}
	}
}

// webService selects app=web, and has the port 80 with the target port http.
func webService(changes ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", Labels: map[string]string{"team": "shop"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.9",
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Selector:   map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{
				{
					Name: "http", Port: 80, Protocol: corev1.ProtocolTCP,
					TargetPort: intstr.FromString("http"),
				},
			},
		},
	}
	for _, change := range changes {
		change(service)
	}
	return service
}

func headless(service *corev1.Service) { service.Spec.ClusterIP = corev1.ClusterIPNone }
func publishes(service *corev1.Service) {
	service.Spec.PublishNotReadyAddresses = true
}
func withoutPorts(service *corev1.Service) { service.Spec.Ports = nil }

// text returns subsets as kubectl describe shows them: addresses, those that are not ready, ports.
func text(subsets []corev1.EndpointSubset) (lines []string) {
	for _, s := range subsets {
		line := ""
		for _, a := range s.Addresses {
			line += a.IP + " "
		}
		for _, a := range s.NotReadyAddresses {
			line += "(" + a.IP + ") "
		}
		for _, p := range s.Ports {
			line += fmt.Sprintf(" %s=%d/%s", p.Name, p.Port, p.Protocol)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAPodThatIsNotListedDoesNotKeepTheOthersOut(t *testing.T) {
	pods := []*corev1.Pod{runningPod(1, failed), runningPod(2, withIPs()),
		runningPod(3, func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = nil
		}), runningPod(4)}
	require.Equal(t, []string{"10.0.0.4  http=8080/TCP"},
		text(contentOf(webService(), pods).subsets))
	require.Equal(t, []string{"IPv4 : 10.0.0.3 on n1 in east",
		"IPv4 http=8080/TCP: 10.0.0.4 on n1 in east"},
		showGroups(groupsOf(webService(), pods, someNodes)))
}

// Connections would go to Pods that are gone, or not to some that run.
func TestWhichPodsAreListed(t *testing.T) {
	for _, c := range []struct {
		name    string
		service *corev1.Service
		pod     *corev1.Pod
		want    []string
	}{
		{"a ready one", webService(), runningPod(1), []string{"10.0.0.1  http=8080/TCP"}},
		{
			"one that is not ready", webService(), runningPod(1, notReady),
			[]string{"(10.0.0.1)  http=8080/TCP"},
		},
		{"one that never said whether it is", webService(), runningPod(1, func(p *corev1.Pod) {
			p.Status.Conditions = nil
		}), []string{"(10.0.0.1)  http=8080/TCP"}},
		{"one without an address", webService(), runningPod(1, withIPs()), nil},
		{"one that has failed", webService(), runningPod(1, failed), nil},
		{"one that has succeeded", webService(), runningPod(1, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
		}), nil},
		{"one that is being deleted", webService(), runningPod(1, deleted), nil},
		{
			"all that have an address: one that is not ready", webService(publishes),
			runningPod(1, notReady), []string{"10.0.0.1  http=8080/TCP"},
		},
		{
			"all that have an address: one that is being deleted", webService(publishes),
			runningPod(1, deleted, notReady), []string{"10.0.0.1  http=8080/TCP"},
		},
		{
			"all that have an address: not one that has finished", webService(publishes),
			runningPod(1, failed), nil,
		},
		{
			"a headless Service", webService(headless), runningPod(1),
			[]string{"10.0.0.1  http=8080/TCP"},
		},
		{
			"a headless Service without ports", webService(headless, withoutPorts),
			runningPod(1, notReady), []string{"(10.0.0.1) "},
		},
		{"no ports, and not headless", webService(withoutPorts), runningPod(1), nil},
		{"a Pod without the port", webService(headless), runningPod(1, func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = nil
		}), nil},
	} {
		require.Equal(t, c.want, text(contentOf(c.service, []*corev1.Pod{c.pod}).subsets), c.name)
	}
}

func TestEndpointsGetTheLabelsOfTheirService(t *testing.T) {
	managed := map[string]string{
		"team": "shop", "endpoints.kubernetes.io/managed-by": "endpoint-controller",
	}
	require.Equal(t, managed, labelsOf(webService()))
	require.Equal(t, managed, labelsOf(webService(func(s *corev1.Service) {
		s.Labels = map[string]string{
			"team": "shop", "service.kubernetes.io/headless": "",
			"endpoints.kubernetes.io/managed-by": "me",
		}
	})), "a Service's own labels do not make it headless")
	managed["service.kubernetes.io/headless"] = ""
	require.Equal(t, managed, labelsOf(webService(headless)))
	require.Equal(t, managed, labelsOf(webService(func(s *corev1.Service) {
		s.Spec.ClusterIP = ""
	})))
}

// Each reconcile would write, and the API server would send the object to each node.
func TestWhatIsThereAlreadyIsNotWritten(t *testing.T) {
	service := webService()
	pods := []*corev1.Pod{runningPod(1), runningPod(2, notReady)}
	want := contentOf(service, pods)
	endpoints := func(changes ...func(*corev1.Endpoints)) *corev1.Endpoints {
		e := &corev1.Endpoints{}
		contentOf(service, pods).writeTo(e, noon)
		for _, change := range changes {
			change(e)
		}
		return e
	}
	require.True(t, want.isIn(endpoints()))
	require.True(t, want.isIn(endpoints(func(e *corev1.Endpoints) {
		e.Annotations = map[string]string{"note": "yes"}
	})))
	require.True(t, want.isIn(endpoints(func(e *corev1.Endpoints) {
		e.Subsets[0].Addresses[0].TargetRef.ResourceVersion = "5"
	})), "older controllers wrote the Pod's version")
	split := func(e *corev1.Endpoints) {
		s := e.Subsets[0]
		e.Subsets = []corev1.EndpointSubset{
			{NotReadyAddresses: s.NotReadyAddresses, Ports: s.Ports},
			{Addresses: s.Addresses, Ports: s.Ports},
		}
	}
	require.True(t, want.isIn(endpoints(split)), "another form of the same")

	for _, c := range []struct {
		name   string
		change func(*corev1.Endpoints)
	}{
		{"an address is missing", func(e *corev1.Endpoints) { e.Subsets[0].Addresses = nil }},
		{"an address is not ready", func(e *corev1.Endpoints) {
			e.Subsets[0].NotReadyAddresses, e.Subsets[0].Addresses = append(e.Subsets[0].Addresses,
				e.Subsets[0].NotReadyAddresses...), nil
		}},
		{"another port", func(e *corev1.Endpoints) { e.Subsets[0].Ports[0].Port = 1 }},
		{"an application protocol", func(e *corev1.Endpoints) {
			e.Subsets[0].Ports[0].AppProtocol = new("http")
		}},
		{"another node", func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses[0].NodeName = new("n2")
		}},
		{"no node", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].NodeName = nil }},
		{"another Pod of this name", func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses[0].TargetRef.UID = "new"
		}},
		{"another Pod of this UID", func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses[0].TargetRef.Name = "new"
		}},
		{"no Pod", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].TargetRef = nil }},
		{"a hostname", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].Hostname = "db-0" }},
		{"a label too many", func(e *corev1.Endpoints) { e.Labels["mine"] = "" }},
		{"a label of another value", func(e *corev1.Endpoints) { e.Labels["team"] = "other" }},
		{"no sign of who manages them", func(e *corev1.Endpoints) { delete(e.Labels, managedBy) }},
		{"no limit was exceeded", func(e *corev1.Endpoints) {
			e.Annotations[corev1.EndpointsOverCapacity] = truncated
		}},
	} {
		require.False(t, want.isIn(endpoints(c.change)), c.name)
	}
}

func TestMoreThanAThousandAddressesAreTruncated(t *testing.T) {
	var pods []*corev1.Pod
	for n := range 1003 {
		pods = append(pods, runningPod(n))
	}
	notReady(pods[0])
	want := contentOf(webService(), pods)
	e := &corev1.Endpoints{}
	want.writeTo(e, time.Time{})
	ready, unready := count(e.Subsets)
	require.Equal(t, []int{1000, 0}, []int{ready, unready})
	require.Equal(t, map[string]string{"endpoints.kubernetes.io/over-capacity": "truncated"},
		e.Annotations)
	require.True(t, want.isIn(e), "and that is it")
	delete(e.Annotations, corev1.EndpointsOverCapacity)
	require.False(t, want.isIn(e), "unless it does not say so")
}

func TestAnUpdateSaysWhatTriggeredIt(t *testing.T) {
	e := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{"note": "yes", corev1.EndpointsOverCapacity: truncated},
		},
	}
	want := contentOf(webService(), nil)
	want.writeTo(e, noon.In(time.FixedZone("", 3600)))
	require.Equal(t, map[string]string{"note": "yes",
		"endpoints.kubernetes.io/last-change-trigger-time": "2026-05-04T12:00:00Z"}, e.Annotations)
	want.writeTo(e, time.Time{})
	require.Equal(t, map[string]string{"note": "yes"}, e.Annotations,
		"that of an earlier change does not stay")
	require.Nil(t, e.Subsets)
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// timesAt are the times of a Service that was created at noon, with Pods whose readiness changed
// this many seconds later.
func timesAt(pods map[string]int) *times {
	t := &times{service: noon, pods: map[string]time.Time{}}
	for name, seconds := range pods {
		t.pods[name] = noon.Add(time.Duration(seconds) * time.Second)
	}
	return t
}

// A program that measures the latency of the network would measure something else.
func TestTheTriggerIsTheOldestChangeThatIsNew(t *testing.T) {
	before := map[string]int{"a": 10, "b": 20}
	for _, c := range []struct {
		name   string
		before *times
		now    map[string]int
		want   int // seconds after noon; negative is none
	}{
		{"a Service that nobody has looked at", nil, map[string]int{"a": 10}, 0},
		{"nothing has changed", timesAt(before), before, -1},
		{"a Pod has changed", timesAt(before), map[string]int{"a": 10, "b": 30}, 30},
		{"two have: the older counts", timesAt(before), map[string]int{"a": 40, "b": 30}, 30},
		{"a Pod is new", timesAt(before), map[string]int{"a": 10, "b": 20, "c": 5}, 5},
		{"a Pod is gone: nobody knows since when", timesAt(before), map[string]int{"a": 10}, -1},
		{"a clock was put back", timesAt(before), map[string]int{"a": 10, "b": 15}, -1},
	} {
		want := time.Time{}
		if c.want >= 0 {
			want = noon.Add(time.Duration(c.want) * time.Second)
		}
		require.Equal(t, want, timesAt(c.now).trigger(c.before), c.name)
	}
	again := timesAt(before)
	again.service = noon.Add(time.Hour)
	require.Equal(t, noon.Add(time.Hour), again.trigger(timesAt(before)),
		"the Service was made again")
	again.pods["c"] = noon.Add(2 * time.Hour)
	require.Equal(t, noon.Add(time.Hour), again.trigger(timesAt(before)),
		"and a Pod has changed later")
	again.pods["c"] = noon.Add(time.Minute)
	require.Equal(t, noon.Add(time.Minute), again.trigger(timesAt(before)),
		"and a Pod has changed earlier")
}

func TestTheMomentsOfPodsAreThoseOfTheirReadiness(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)},
	}
	pods := []*corev1.Pod{
		runningPod(1, func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(time.Minute))
		}),
		runningPod(2, notReady, func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon)
		}),
		runningPod(3, func(p *corev1.Pod) { p.Status.Conditions = nil }),
	}
	require.Equal(t, timesAt(map[string]int{"pod-1": 60, "pod-2": 0}), timesOf(service, pods))
}
