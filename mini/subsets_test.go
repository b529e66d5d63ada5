package mini_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/mini"
)

//lint:file-ignore SA1019 Endpoints are deprecated, and still the simplest picture.

// service returns one that selects app=name, with one port 80 that is 8080 in the Pods.
func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{
				Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080),
			}},
		},
	}
}

// servingPod returns a ready Pod with an address.
func servingPod(name, ip string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			Labels: map[string]string{"app": "web"},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func setReady(pod *corev1.Pod, status corev1.ConditionStatus) *corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: status},
	}
	return pod
}

// withPort gives the Pod's container a named port.
func withPort(pod *corev1.Pod, name string, number int32) *corev1.Pod {
	pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports,
		corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP})
	return pod
}

// subsets are what the Service's Endpoints should have.
func subsets(s *corev1.Service, pods ...*corev1.Pod) []corev1.EndpointSubset {
	all, _ := mini.EndpointSubsets(s, pods)
	return all
}

// summary writes each subset as "ready|not ready ports".
func summary(subsets []corev1.EndpointSubset) (all []string) {
	for _, s := range subsets {
		text := ""
		for _, a := range s.Addresses {
			text += a.IP + " "
		}
		text += "|"
		for _, a := range s.NotReadyAddresses {
			text += " " + a.IP
		}
		for _, p := range s.Ports {
			text += fmt.Sprintf(" %s:%d", p.Name, p.Port)
		}
		all = append(all, text)
	}
	return all
}

func TestAPortIsFoundByItsNumberAndByItsNameInThePod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	port := func(name string, number int32, protocol corev1.Protocol) []corev1.ContainerPort {
		return []corev1.ContainerPort{{Name: name, ContainerPort: number, Protocol: protocol}}
	}
	pod := servingPod("a", "10.0.0.1")
	pod.Spec.Containers = []corev1.Container{
		{Name: "one", Ports: port("dns", 53, corev1.ProtocolTCP)},
		{Name: "two", Ports: append(port("dns", 54, corev1.ProtocolUDP), port("web", 81, corev1.ProtocolTCP)...)},
	}
	pod.Spec.InitContainers = []corev1.Container{
		{Name: "sidecar", RestartPolicy: &always, Ports: port("mesh", 15000, corev1.ProtocolTCP)},
		{Name: "setup", Ports: port("setup", 99, corev1.ProtocolTCP)},
		{Name: "once", RestartPolicy: new(corev1.ContainerRestartPolicyNever), Ports: port("once", 98, corev1.ProtocolTCP)},
	}
	for _, test := range []struct {
		target   intstr.IntOrString
		protocol corev1.Protocol
		number   int32
		found    bool
		why      string
	}{
		{intstr.FromInt32(9090), corev1.ProtocolTCP, 9090, true, "a number needs no container that declares it"},
		{intstr.FromString("web"), corev1.ProtocolTCP, 81, true, "any container may have the port"},
		{intstr.FromString("dns"), corev1.ProtocolTCP, 53, true, "the protocol decides between two of one name"},
		{intstr.FromString("dns"), corev1.ProtocolUDP, 54, true, "the protocol decides between two of one name"},
		{intstr.FromString("web"), corev1.ProtocolUDP, 0, false, "the protocol has to be right"},
		{intstr.FromString("mesh"), corev1.ProtocolTCP, 15000, true, "a sidecar runs as long as the Pod"},
		{intstr.FromString("setup"), corev1.ProtocolTCP, 0, false, "an init container has ended"},
		{intstr.FromString("once"), corev1.ProtocolTCP, 0, false, "an init container has ended"},
		{intstr.FromString("other"), corev1.ProtocolTCP, 0, false, "no container has it"},
	} {
		before := pod.DeepCopy()
		number, found := mini.FindPort(pod, &corev1.ServicePort{TargetPort: test.target, Protocol: test.protocol})
		require.Equal(t, test.found, found, "%s %s: %s", test.target.String(), test.protocol, test.why)
		require.Equal(t, test.number, number, "%s %s: %s", test.target.String(), test.protocol, test.why)
		require.Equal(t, before, pod, "the Pod belongs to the cache")
	}
}

func TestAReadyPodIsAnAddressWithItsPorts(t *testing.T) {
	s := service("web")
	s.Spec.Ports[0].AppProtocol = new("http2")
	require.Equal(t, []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{
			IP: "10.0.0.1", NodeName: new("node"),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", UID: "uid-a"},
		}},
		Ports: []corev1.EndpointPort{
			{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP, AppProtocol: new("http2")},
		},
	}}, subsets(s, servingPod("a", "10.0.0.1")))
}

func TestOnlyAReadyPodGetsTraffic(t *testing.T) {
	ready := servingPod("a", "10.0.0.1")
	for _, notReady := range []*corev1.Pod{
		setReady(servingPod("b", "10.0.0.2"), corev1.ConditionFalse),
		setReady(servingPod("b", "10.0.0.2"), corev1.ConditionUnknown),
	} {
		require.Equal(t, []string{"10.0.0.1 | 10.0.0.2 http:8080"}, summary(subsets(service("web"), ready, notReady)))
	}
	starting := servingPod("b", "10.0.0.2")
	starting.Status.Conditions = nil
	require.Equal(t, []string{"10.0.0.1 | 10.0.0.2 http:8080"}, summary(subsets(service("web"), ready, starting)))
}

func TestAPodThatHasNoAddressOrWillNotServeAnyMoreIsLeftOut(t *testing.T) {
	starting := servingPod("a", "10.0.0.1")
	starting.Status.PodIP, starting.Status.PodIPs = "", nil
	terminating := servingPod("b", "10.0.0.2")
	terminating.DeletionTimestamp = &metav1.Time{}
	succeeded := servingPod("c", "10.0.0.3")
	succeeded.Status.Phase = corev1.PodSucceeded
	failed := servingPod("d", "10.0.0.4")
	failed.Status.Phase = corev1.PodFailed
	require.Empty(t, subsets(service("web"), starting, terminating, succeeded, failed))
}

func TestAServiceMayPublishPodsThatAreNotReady(t *testing.T) {
	s := service("web")
	s.Spec.PublishNotReadyAddresses = true
	terminating := servingPod("b", "10.0.0.2")
	terminating.DeletionTimestamp = &metav1.Time{}
	failed := servingPod("c", "10.0.0.3")
	failed.Status.Phase = corev1.PodFailed
	pods := []*corev1.Pod{setReady(servingPod("a", "10.0.0.1"), corev1.ConditionFalse), terminating, failed}
	require.Equal(t, []string{"10.0.0.1 10.0.0.2 | http:8080"}, summary(subsets(s, pods...)))
}

func TestPodsWithDifferentNumbersForANamedPortAreInDifferentSubsets(t *testing.T) {
	s := service("web")
	s.Spec.Ports[0].TargetPort = intstr.FromString("http")
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
		Name: "metrics", Port: 9, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("metrics"),
	})
	old1 := withPort(servingPod("a", "10.0.0.1"), "http", 8080)
	old2 := withPort(servingPod("b", "10.0.0.2"), "http", 8080)
	new1 := withPort(withPort(servingPod("c", "10.0.0.3"), "http", 9090), "metrics", 99)
	none := servingPod("d", "10.0.0.4")
	require.ElementsMatch(t, []string{"10.0.0.1 10.0.0.2 | http:8080", "10.0.0.3 | http:9090 metrics:99"},
		summary(subsets(s, old1, old2, new1, none)), "a Pod that has none of the ports has no place")
}

func TestAHeadlessServiceMayHaveNoPorts(t *testing.T) {
	s := service("web")
	s.Spec.Ports = nil
	require.Empty(t, subsets(s, servingPod("a", "10.0.0.1")), "a virtual address without ports has no traffic")
	s.Spec.ClusterIP = corev1.ClusterIPNone
	require.Equal(t, []string{"10.0.0.1 10.0.0.2 |"}, summary(subsets(s, servingPod("a", "10.0.0.1"), servingPod("b", "10.0.0.2"))))
	require.Empty(t, subsets(s, servingPod("a", "10.0.0.1"))[0].Ports)
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}}
	require.Empty(t, subsets(s, servingPod("a", "10.0.0.1")), "the Service has ports, and the Pod has none of them")
}

func TestAnAddressIsOfTheServicesFirstIPFamily(t *testing.T) {
	pod := servingPod("a", "10.0.0.1")
	pod.Status.PodIPs = []corev1.PodIP{{IP: "rubbish"}, {IP: "10.0.0.1"}, {IP: "2001:0db8::1"}, {IP: "2001:db8::2"}, {IP: "10.0.0.2"}}
	s := service("web")
	require.Equal(t, []string{"10.0.0.1 | http:8080"}, summary(subsets(s, pod)))
	s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	require.Equal(t, []string{"2001:db8::1 | http:8080"}, summary(subsets(s, pod)))
	require.Empty(t, subsets(s, servingPod("b", "10.0.0.2")), "it has no address of the family")
	s.Spec.IPFamilies = nil
	require.Equal(t, []string{"10.0.0.1 | http:8080"}, summary(subsets(s, pod)))
}

func TestAPodHasAHostNameInTheServiceThatIsItsSubdomain(t *testing.T) {
	pod := servingPod("a", "10.0.0.1")
	pod.Spec.Hostname, pod.Spec.Subdomain = "db-0", "web"
	require.Equal(t, "db-0", subsets(service("web"), pod)[0].Addresses[0].Hostname)
	pod.Spec.Subdomain = "other"
	require.Empty(t, subsets(service("web"), pod)[0].Addresses[0].Hostname)
}

func TestTheOrderOfThePodsDoesNotMatter(t *testing.T) {
	s := service("web")
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
		Name: "admin", Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("admin"),
	})
	var pods []*corev1.Pod
	for i := range 30 {
		pod := servingPod(fmt.Sprint("pod-", i), fmt.Sprint("10.0.0.", i/2)) // two share an address
		switch i % 3 {
		case 0:
			setReady(pod, corev1.ConditionFalse)
		case 1:
			withPort(pod, "admin", int32(9000+i%4))
		}
		pods = append(pods, pod)
	}
	first := subsets(s, pods...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		require.Equal(t, first, subsets(s, pods...))
	}
}

func TestPackingFindsPortsThatTheSameAddressesServe(t *testing.T) {
	address := func(ip string) corev1.EndpointAddress { return corev1.EndpointAddress{IP: ip} }
	port := func(name string, number int32) corev1.EndpointPort {
		return corev1.EndpointPort{Name: name, Port: number, Protocol: corev1.ProtocolTCP, AppProtocol: new("http")}
	}
	given := []corev1.EndpointSubset{
		{Addresses: []corev1.EndpointAddress{address("10.0.0.2")}, Ports: []corev1.EndpointPort{port("b", 2), port("a", 1)}},
		{Addresses: []corev1.EndpointAddress{address("10.0.0.1")}, Ports: []corev1.EndpointPort{port("a", 1)}},
		{Addresses: []corev1.EndpointAddress{address("10.0.0.1")}, Ports: []corev1.EndpointPort{port("b", 2)}},
		{
			NotReadyAddresses: []corev1.EndpointAddress{address("10.0.0.1"), address("10.0.0.2")},
			Ports:             []corev1.EndpointPort{port("c", 3)},
		},
	}
	before := fmt.Sprint(given)
	packed := mini.RepackSubsets(given)
	require.ElementsMatch(t, []string{"10.0.0.1 10.0.0.2 | a:1 b:2", "| 10.0.0.1 10.0.0.2 c:3"}, summary(packed))
	require.Equal(t, before, fmt.Sprint(given), "the subsets belong to the caller")
	require.Equal(t, packed, mini.RepackSubsets(packed), "what is packed stays as it is")
}

func TestPackingKeepsApartWhatIsNotTheSame(t *testing.T) {
	ref := func(uid types.UID) *corev1.ObjectReference { return &corev1.ObjectReference{UID: uid} }
	one := func(a corev1.EndpointAddress, ports ...corev1.EndpointPort) corev1.EndpointSubset {
		return corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{a}, Ports: ports}
	}
	tcp, udp := corev1.EndpointPort{Port: 53, Protocol: corev1.ProtocolTCP}, corev1.EndpointPort{Port: 53, Protocol: corev1.ProtocolUDP}
	https := corev1.EndpointPort{Port: 53, Protocol: corev1.ProtocolTCP, AppProtocol: new("https")}
	packed := mini.RepackSubsets([]corev1.EndpointSubset{
		one(corev1.EndpointAddress{IP: "10.0.0.1"}, udp, https), one(corev1.EndpointAddress{IP: "10.0.0.1"}, tcp),
	})
	require.Len(t, packed, 1)
	require.ElementsMatch(t, []corev1.EndpointPort{tcp, udp, https}, packed[0].Ports)

	packed = mini.RepackSubsets([]corev1.EndpointSubset{
		one(corev1.EndpointAddress{IP: "10.0.0.1", TargetRef: ref("b")}, tcp),
		one(corev1.EndpointAddress{IP: "10.0.0.1", TargetRef: ref("a")}, tcp),
		one(corev1.EndpointAddress{IP: "10.0.0.1", TargetRef: ref("a")}, udp),
	})
	require.Len(t, packed, 2, "two Pods on one node's network have one address, and serve different ports")
	two, single := packed[0], packed[1]
	if len(two.Addresses) == 1 {
		two, single = single, two
	}
	require.Equal(t, []types.UID{"a", "b"}, []types.UID{two.Addresses[0].TargetRef.UID, two.Addresses[1].TargetRef.UID})
	require.Equal(t, []corev1.EndpointPort{udp}, single.Ports)
}

func TestAtMostAThousandPodsAreListedAndTheReadyOnesFirst(t *testing.T) {
	pods := func(ready, notReady int) (all []*corev1.Pod) {
		for i := range notReady {
			pod := servingPod(fmt.Sprint("a", i), fmt.Sprintf("10.1.%d.%d", i/250, i%250))
			all = append(all, setReady(pod, corev1.ConditionFalse))
		}
		for i := range ready {
			all = append(all, servingPod(fmt.Sprint("b", i), fmt.Sprintf("10.2.%d.%d", i/250, i%250)))
		}
		return all
	}
	for _, test := range []struct {
		ready, notReady        int
		listed, listedNotReady int
		truncated              bool
	}{
		{700, 300, 700, 300, false},
		{700, 301, 700, 300, true},
		{1001, 5, 1000, 0, true},
	} {
		all, truncated := mini.EndpointSubsets(service("web"), pods(test.ready, test.notReady))
		require.Equal(t, test.truncated, truncated)
		require.Len(t, all, 1)
		require.Len(t, all[0].Addresses, test.listed)
		require.Len(t, all[0].NotReadyAddresses, test.listedNotReady)
	}
}
