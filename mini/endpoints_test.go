package mini_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

//lint:file-ignore SA1019 Endpoints are deprecated, and still the simplest picture.

// Each write of Endpoints is answered with a warning that they are deprecated.
func init() { rest.SetDefaultWarningHandler(rest.NoWarnings{}) }

// service returns one that selects app=name, with one port 80 that is 8080 in the Pods.
func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.1",
			Selector:  map[string]string{"app": name},
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
	return mini.EndpointSubsets(s, pods)
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

// Function: FindPort
func TestAPortIsFoundByItsNumberAndByItsNameInThePod(t *testing.T) {
	port := func(name string, number int32, protocol corev1.Protocol) []corev1.ContainerPort {
		return []corev1.ContainerPort{{Name: name, ContainerPort: number, Protocol: protocol}}
	}
	pod := servingPod("a", "10.0.0.1")
	pod.Spec.Containers = []corev1.Container{
		{Name: "one", Ports: append(port("", 70, corev1.ProtocolTCP), port("dns", 53, corev1.ProtocolTCP)...)},
		{Name: "two", Ports: append(port("dns", 54, corev1.ProtocolUDP), port("web", 81, corev1.ProtocolTCP)...)},
	}
	pod.Spec.InitContainers = []corev1.Container{{Name: "setup", Ports: port("setup", 99, corev1.ProtocolTCP)}}
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
		{intstr.FromString("setup"), corev1.ProtocolTCP, 0, false, "an init container has ended when the Pod serves"},
		{intstr.FromString("other"), corev1.ProtocolTCP, 0, false, "no container has it"},
	} {
		number, found := mini.FindPort(pod, &corev1.ServicePort{TargetPort: test.target, Protocol: test.protocol})
		require.Equal(t, test.found, found, "%s %s: %s", test.target.String(), test.protocol, test.why)
		require.Equal(t, test.number, number, "%s %s: %s", test.target.String(), test.protocol, test.why)
	}
}

// A program that reads Endpoints learns where to connect, and which Pod is there.
//
// Function: EndpointSubsets
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

// Function: EndpointSubsets
func TestOnlyAReadyPodGetsTraffic(t *testing.T) {
	starting := servingPod("b", "10.0.0.2")
	starting.Status.Conditions = nil
	for _, notReady := range []*corev1.Pod{
		setReady(servingPod("b", "10.0.0.2"), corev1.ConditionFalse),
		setReady(servingPod("b", "10.0.0.2"), corev1.ConditionUnknown),
		starting,
	} {
		require.Equal(t, []string{"10.0.0.1 | 10.0.0.2 http:8080"},
			summary(subsets(service("web"), servingPod("a", "10.0.0.1"), notReady)),
			"10.0.0.1 is ready; 10.0.0.2 isn't, so it belongs to the addresses that aren't ready")
	}
}

// Function: shouldPodBeInEndpoints
func TestAPodThatHasNoAddressOrWillNotServeAnyMoreIsLeftOut(t *testing.T) {
	starting := servingPod("a", "")
	starting.Status.PodIPs = nil
	require.Empty(t, subsets(service("web"), starting), "the Pod has no address yet")
	terminating := servingPod("b", "10.0.0.2")
	terminating.DeletionTimestamp = &metav1.Time{}
	require.Empty(t, subsets(service("web"), terminating), "the Pod is being deleted")
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		ended := servingPod("c", "10.0.0.3")
		ended.Status.Phase = phase
		require.Empty(t, subsets(service("web"), ended), "the Pod's containers have ended")
	}
}

// The members of a database have to find each other before they are ready.
func TestAServiceMayPublishPodsThatAreNotReady(t *testing.T) {
	s := service("web")
	s.Spec.PublishNotReadyAddresses = true
	terminating := servingPod("b", "10.0.0.2")
	terminating.DeletionTimestamp = &metav1.Time{}
	pods := []*corev1.Pod{setReady(servingPod("a", "10.0.0.1"), corev1.ConditionFalse), terminating}
	require.Equal(t, []string{"10.0.0.1 10.0.0.2 | http:8080"}, summary(subsets(s, pods...)),
		"publishNotReadyAddresses: one Pod isn't ready and one is being deleted, but both are published as ready")
	failed := servingPod("c", "10.0.0.3")
	failed.Status.Phase = corev1.PodFailed
	require.Empty(t, subsets(s, failed), "publishNotReadyAddresses: a Pod that has ended is not published")
}

// A client of one of the Pods would connect to a port at which nothing listens.
//
// Function: EndpointSubsets
func TestPodsWithDifferentNumbersForANamedPortAreInDifferentSubsets(t *testing.T) {
	s := service("web")
	s.Spec.Ports[0].TargetPort = intstr.FromString("http")
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
		Name: "metrics", Port: 9, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("metrics"),
	})
	old1 := withPort(servingPod("a", "10.0.0.1"), "http", 8080)
	old2 := withPort(servingPod("b", "10.0.0.2"), "http", 8080)
	new1 := withPort(withPort(servingPod("c", "10.0.0.3"), "http", 9090), "metrics", 99)
	more := withPort(withPort(servingPod("d", "10.0.0.4"), "http", 8080), "metrics", 99)
	none := servingPod("a-none", "10.0.0.5")
	require.ElementsMatch(t, []string{
		"10.0.0.1 10.0.0.2 | http:8080", "10.0.0.3 | http:9090 metrics:99", "10.0.0.4 | http:8080 metrics:99",
	}, summary(subsets(s, old1, old2, new1, more, none)),
		"Pods with the same ports share a subset, and a Pod that has none of the ports is in no subset")
}

// Function: EndpointSubsets
func TestAHeadlessServiceMayHaveNoPorts(t *testing.T) {
	s := service("web")
	s.Spec.Ports, s.Spec.ClusterIP = nil, corev1.ClusterIPNone
	pods := []*corev1.Pod{servingPod("a", "10.0.0.1"), servingPod("b", "10.0.0.2")}
	require.Equal(t, []string{"10.0.0.1 10.0.0.2 |"}, summary(subsets(s, pods...)), "the Service asks for addresses alone")
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}}
	require.Empty(t, subsets(s, pods...), "the Service has a port, but the Pods don't")
}

// dualStackPod returns a ready Pod with an address of each family, IPv4 first.
func dualStackPod() *corev1.Pod {
	pod := servingPod("a", "10.0.0.1")
	pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: "fd00::1"})
	return pod
}

// A client of an IPv6 Service couldn't connect to an IPv4 address.
//
// Function: EndpointSubsets
func TestAnAddressHasTheFamilyOfItsService(t *testing.T) {
	ipv4, ipv6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	for _, test := range []struct {
		families  []corev1.IPFamily
		clusterIP string
		want      string
		why       string
	}{
		{[]corev1.IPFamily{ipv4}, "10.96.0.1", "10.0.0.1", "an IPv4 Service"},
		{[]corev1.IPFamily{ipv6}, "fd00:96::1", "fd00::1", "an IPv6 Service"},
		{[]corev1.IPFamily{ipv6, ipv4}, "fd00:96::1", "fd00::1", "a dual-stack Service that prefers IPv6"},
		{[]corev1.IPFamily{ipv4, ipv6}, "10.96.0.1", "10.0.0.1", "a dual-stack Service that prefers IPv4"},
		{[]corev1.IPFamily{ipv6}, corev1.ClusterIPNone, "fd00::1", "a headless IPv6 Service"},
		{nil, "10.96.0.1", "10.0.0.1", "the Service has only its own address to go by"},
		{nil, "fd00:96::1", "fd00::1", "the Service has only its own address to go by"},
		{nil, corev1.ClusterIPNone, "10.0.0.1", "a headless Service without families: the Pod's first address"},
		{nil, "", "10.0.0.1", "a Service that has no address yet: the Pod's first address"},
	} {
		s := service("web")
		s.Spec.IPFamilies, s.Spec.ClusterIP = test.families, test.clusterIP
		require.Equal(t, []string{test.want + " | http:8080"}, summary(subsets(s, dualStackPod())), test.why)
	}
	s := service("web")
	s.Spec.ClusterIP = corev1.ClusterIPNone
	pod := dualStackPod()
	slices.Reverse(pod.Status.PodIPs)
	pod.Status.PodIP = pod.Status.PodIPs[0].IP
	require.Equal(t, []string{"fd00::1 | http:8080"}, summary(subsets(s, pod)),
		"a headless Service without families: the Pod's first address")
}

// The API server refuses Endpoints with an empty address, and then no Pod of the Service gets traffic.
//
// Function: shouldPodBeInEndpoints
func TestAPodWithoutAnAddressOfTheServicesFamilyIsLeftOut(t *testing.T) {
	s := service("web")
	s.Spec.IPFamilies, s.Spec.ClusterIP = []corev1.IPFamily{corev1.IPv6Protocol}, "fd00:96::1"
	only4 := servingPod("b", "10.0.0.2")
	require.Equal(t, []string{"fd00::1 | http:8080"}, summary(subsets(s, dualStackPod(), only4)),
		"the Service is an IPv6 one: Pod a has both families, and b has IPv4 only")
}

// DNS knows the Pod of a StatefulSet by its name in the Service.
func TestAPodHasAHostNameInTheServiceThatIsItsSubdomain(t *testing.T) {
	pod := servingPod("a", "10.0.0.1")
	pod.Spec.Hostname = "db-0"
	for _, subdomain := range []string{"web", "other"} {
		pod.Spec.Subdomain = subdomain
		all := subsets(service("web"), pod)
		require.Len(t, all, 1)
		require.Equal(t, subdomain == "web", all[0].Addresses[0].Hostname == "db-0", "subdomain %s", subdomain)
	}
}

// The controller writes if the subsets have changed. If they depend on the order of the Pods, or of a map, each
// reconcile is a write.
//
// Function: EndpointSubsets
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
	require.Equal(t, "pod-0", pods[0].Name, "the slice of Pods belongs to the caller, who does not expect it to be sorted")
	require.Equal(t, "pod-2", pods[2].Name, "the slice of Pods belongs to the caller, who does not expect it to be sorted")
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		require.Equal(t, first, subsets(s, pods...), "the same Pods in another order make different subsets")
	}
}

// runEndpoints runs a manager with the Endpoints controller.
func (w *world) runEndpoints() {
	w.Helper()
	m := mini.NewManager(w.Cluster)
	c, err := mini.NewEndpointsController(m)
	require.NoError(w, err)
	require.NotNil(w, c, "NewEndpointsController returns no controller")
	m.AddController(c)
	w.run(m.Run)
}

func (w *world) addService(s *corev1.Service) {
	w.Helper()
	_, err := w.Other.CoreV1().Services(s.Namespace).Create(w.ctx, s, metav1.CreateOptions{})
	require.NoError(w, err)
}

// changeService is what kubectl edit does.
func (w *world) changeService(name string, change func(*corev1.Service)) {
	w.Helper()
	s, err := w.Other.CoreV1().Services("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	change(s)
	_, err = w.Other.CoreV1().Services("default").Update(w.ctx, s, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// addServingPod creates the Pod, and writes its status as the kubelet does.
func (w *world) addServingPod(pod *corev1.Pod) *corev1.Pod {
	w.Helper()
	pods := w.Other.CoreV1().Pods(pod.Namespace)
	status := pod.Status
	pod = pod.DeepCopy()
	pod.UID = ""
	pod, err := pods.Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w, err)
	pod.Status = status
	pod, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
	require.NoError(w, err)
	return pod
}

// endpoints returns what the API server has when all is quiet, or nil.
func (w *world) endpoints(name string) *corev1.Endpoints {
	w.Helper()
	synctest.Wait()
	e, err := w.Other.CoreV1().Endpoints("default").Get(w.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w, err)
	return e
}

// addresses returns the summary of a Service's Endpoints, which must be there.
func (w *world) addresses(name string) []string {
	w.Helper()
	e := w.endpoints(name)
	require.NotNil(w, e, "the Service %s has no Endpoints", name)
	return summary(e.Subsets)
}

// Function: Endpoints.Reconcile
func TestTheEndpointsOfAServiceAreItsPods(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		s := service("web")
		s.Labels = map[string]string{"team": "a"}
		w.addService(s)
		require.Empty(w, w.addresses("web"), "a Service without Pods has empty Endpoints")
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "create", Resource: "endpoints"}), 1,
			"missing Endpoints are created, because an update could overwrite those that another client has just created")

		pod := w.addServingPod(servingPod("a", "10.0.0.1"))
		stranger := servingPod("x", "10.0.0.9")
		stranger.Labels = map[string]string{"app": "other"}
		w.addServingPod(stranger)
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"), "one Pod has the labels that the Service selects")
		e := w.endpoints("web")
		require.Equal(w, map[string]string{
			"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller",
		}, e.Labels, "the Service's labels, and who writes the Endpoints")
		require.Equal(w, pod.UID, e.Subsets[0].Addresses[0].TargetRef.UID, "the address names its Pod")

		_, err := w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, setReady(pod, corev1.ConditionFalse), metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Equal(w, []string{"| 10.0.0.1 http:8080"}, w.addresses("web"), "the Pod is no longer ready")
		require.NoError(w, w.Other.CoreV1().Pods("default").Delete(w.ctx, "a", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		require.Empty(w, w.addresses("web"), "the Pod is deleted")
	})
}

// Function: NewEndpointsController
func TestTheEndpointsFollowTheService(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addServingPod(servingPod("a", "10.0.0.1"))
		other := servingPod("b", "10.0.0.2")
		other.Labels = map[string]string{"app": "other"}
		w.addServingPod(other)
		s := service("web")
		s.Labels = map[string]string{"old": "1"}
		w.addService(s)
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"), "the Pod existed before the Service")
		w.changeService("web", func(s *corev1.Service) {
			s.Spec.Selector, s.Labels = map[string]string{"app": "other"}, map[string]string{"new": "1"}
			s.Spec.Ports[0].TargetPort.IntVal = 9090
		})
		require.Equal(w, []string{"10.0.0.2 | http:9090"}, w.addresses("web"), "the Service selects another Pod, on another port")
		require.Equal(w, map[string]string{
			"new": "1", "endpoints.kubernetes.io/managed-by": "endpoint-controller",
		}, w.endpoints("web").Labels, "the Service has other labels")
	})
}

// Function: NewEndpointsController
func TestAPodWhoseLabelsChangeLeavesOneServiceAndJoinsAnother(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		w.addService(service("canary"))
		pod := w.addServingPod(servingPod("a", "10.0.0.1"))
		require.Len(w, w.addresses("web"), 1, "the Pod is one of web's")
		require.Empty(w, w.addresses("canary"), "the Pod is one of web's")

		pod.Labels = map[string]string{"app": "canary"}
		pod, err := w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Empty(w, w.addresses("web"), "the Pod still gets traffic from the Service that it has left")
		require.Len(w, w.addresses("canary"), 1, "the Pod gets no traffic from the Service that it has joined")

		pod.Labels = nil
		_, err = w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Empty(w, w.addresses("canary"), "a Pod without labels belongs to no Service")
	})
}

// Function: Endpoints.Reconcile
func TestPodsOfAnotherNamespaceAreNotInTheEndpoints(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.Other.CoreV1().Namespaces().Create(w.ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		pod := servingPod("a", "10.0.0.1")
		pod.Namespace = "other"
		w.addServingPod(pod)
		w.runEndpoints()
		w.addService(service("web"))
		require.Empty(w, w.addresses("web"), "the Pod has the right labels, in another namespace")
	})
}

// Each change of any Pod would reconcile each Service of the namespace.
//
// Function: servicesOf
func TestAPodConcernsOnlyTheServicesThatSelectIt(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("canary"))
		database := service("database")
		database.Spec.Selector = nil
		w.addService(database)
		synctest.Wait()
		before := w.Cluster.Trace.Cursor()
		before.Read()
		w.addServingPod(servingPod("a", "10.0.0.1"))
		synctest.Wait()
		events, _ := before.Read()
		for _, e := range events {
			require.Empty(w, e.ToName, "a Service is reconciled because of a Pod that it does not select")
		}
		w.addService(service("web"))
		synctest.Wait()
		events, _ = before.Read()
		require.True(w, slices.ContainsFunc(events, func(e trace.Event) bool {
			return e.Layer == "endpoints" && e.Kind == trace.Handler && e.ToName == "web"
		}), "the flight recorder does not show why the Service is reconciled")
	})
}

// Function: Endpoints.Reconcile
func TestTheEndpointsOfADeletedServiceAreDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		require.NotNil(w, w.endpoints("web"), "a Service without Pods has empty Endpoints")
		require.NoError(w, w.Other.CoreV1().Services("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		require.Nil(w, w.endpoints("web"), "a new Service of this name would begin with old addresses")
	})
}

// A Service of a cloud's load balancer waits for a finalizer. Until the load balancer is gone, it still sends requests, and its Pods
// still serve.
//
// Function: Endpoints.Reconcile
func TestAServiceThatIsBeingDeletedKeepsItsEndpoints(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		balanced := service("web")
		balanced.Finalizers = []string{"example.com/load-balancer"}
		w.addService(balanced)
		require.NoError(w, w.Other.CoreV1().Services("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		require.NotNil(w, w.endpoints("web"))
		w.changeService("web", func(s *corev1.Service) { s.Finalizers = nil })
		require.Nil(w, w.endpoints("web"))
	})
}

// Function: NewEndpointsController
func TestEndpointsAreDeletedIfTheirServiceWasDeletedWhileTheControllerWasDown(t *testing.T) {
	inMemory(t, func(w *world) {
		left := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			Name: "web", Labels: map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"},
		}}
		_, err := w.Other.CoreV1().Endpoints("default").Create(w.ctx, left, metav1.CreateOptions{})
		require.NoError(w, err)
		w.runEndpoints()
		require.Nil(w, w.endpoints("web"), "these Endpoints have the controller's label, and no Service")
	})
}

// Function: Endpoints.Reconcile
func TestAServiceWithoutASelectorSelectsNoPods(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		s := service("web")
		s.Spec.Selector = nil
		w.addService(s)
		w.addServingPod(servingPod("a", "10.0.0.1"))
		require.Nil(w, w.endpoints("web"), "without a selector, the user writes the Endpoints")
	})
}

// Function: Endpoints.Reconcile
func TestEndpointsThatUsersWriteAreLeftAlone(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		written := func(name string) *corev1.Endpoints {
			e, err := w.Other.CoreV1().Endpoints("default").Create(w.ctx, &corev1.Endpoints{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.168.0.1"}}}},
			}, metav1.CreateOptions{})
			require.NoError(w, err)
			return e
		}
		early, database, external := written("early"), written("database"), written("external")
		s := service("database")
		s.Spec.Selector = nil
		w.addService(s)
		s = service("external")
		s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = corev1.ServiceTypeExternalName, "example.com", ""
		w.addService(s)
		w.addServingPod(servingPod("a", "10.0.0.1"))
		require.Equal(w, early, w.endpoints("early"), "the Service is yet to come")
		require.Equal(w, database, w.endpoints("database"), "the Service has no selector")
		require.Equal(w, external, w.endpoints("external"), "the Service is a name for another one")
	})
}

// Function: Endpoints.Reconcile
func TestEndpointsThatExistedBeforeTheirServiceAreTakenOver(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.Other.CoreV1().Endpoints("default").Create(w.ctx, &corev1.Endpoints{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"theirs": "stays"}},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.addServingPod(servingPod("a", "10.0.0.1"))
		w.addService(service("web"))
		w.runEndpoints()
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"), "the Service has a selector now")
		require.Equal(w, map[string]string{"theirs": "stays"}, w.endpoints("web").Annotations,
			"the controller has no opinion on annotations")
	})
}

// Function: NewEndpointsController
func TestEndpointsThatAnotherClientSpoilsAreRepaired(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		w.addServingPod(servingPod("a", "10.0.0.1"))
		w.addresses("web")
		api := w.Other.CoreV1().Endpoints("default")
		for _, spoil := range []func(*corev1.Endpoints){
			func(e *corev1.Endpoints) { e.Subsets = nil },
			func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].TargetRef.Name = "b" },
			func(e *corev1.Endpoints) { e.Labels = nil },
		} {
			e := w.endpoints("web")
			spoil(e)
			_, err := api.Update(w.ctx, e, metav1.UpdateOptions{})
			require.NoError(w, err)
			require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"), "another client has changed the Endpoints")
			e = w.endpoints("web")
			require.Equal(w, "a", e.Subsets[0].Addresses[0].TargetRef.Name, "another client has changed the name of the Pod")
			require.Contains(w, e.Labels, "endpoints.kubernetes.io/managed-by", "another client has removed the label")
		}
		require.NoError(w, api.Delete(w.ctx, "web", metav1.DeleteOptions{}))
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"), "another client has deleted the Endpoints")
	})
}

// A Service cannot say that its Endpoints belong to another controller.
func TestTheLabelOfTheControllerIsNotTakenFromTheService(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		liar := service("web")
		liar.Labels = map[string]string{"endpoints.kubernetes.io/managed-by": "me"}
		w.addService(liar)
		w.addresses("web")
		require.Equal(w, map[string]string{
			"endpoints.kubernetes.io/managed-by": "endpoint-controller",
		}, w.endpoints("web").Labels, "this label is the controller's")
	})
}

// Function: Endpoints.Reconcile
func TestEqualContentIsNotWrittenAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		s := service("web")
		s.Spec.Ports[0].TargetPort, s.Spec.Ports[0].AppProtocol = intstr.FromString("http"), new("http")
		w.addService(s)
		var pods []*corev1.Pod
		for i := range 9 {
			pod := withPort(servingPod(fmt.Sprint("pod-", i), fmt.Sprint("10.0.0.", i)), "http", int32(8080+i%3))
			pods = append(pods, w.addServingPod(pod))
		}
		require.Len(w, w.addresses("web"), 3)
		w.Server.ForgetRequests()
		for _, pod := range pods {
			pod.Annotations = map[string]string{"note": "nothing that concerns a Service"}
			_, err := w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
			require.NoError(w, err)
			synctest.Wait()
		}
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "update", Resource: "endpoints"}),
			"a Pod got an annotation, so the Endpoints must not be written again")
	})
}

// Function: Endpoints.Reconcile
func TestAWriteThatFailsIsTriedAgain(t *testing.T) {
	for _, verb := range []string{"create", "update", "delete"} {
		t.Run(verb, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.runEndpoints()
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: verb, Resource: "endpoints"}, Times: 2, Status: fakeapi.InternalError(),
				})
				w.addService(service("web"))
				time.Sleep(time.Second)
				w.addServingPod(servingPod("a", "10.0.0.1"))
				time.Sleep(time.Second)
				require.Len(w, w.addresses("web"), 1, "the API server has refused two requests: %s", verb)
				require.NoError(w, w.Other.CoreV1().Services("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
				time.Sleep(time.Second)
				require.Nil(w, w.endpoints("web"), "the API server has refused two requests: %s", verb)
			})
		})
	}
}

// Function: Endpoints.Reconcile
func TestADeletedServiceIsNotAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		w.run(cache.Run)
		e := &mini.Endpoints{Client: mini.NewCachedClient(cache)}
		_, err := e.Reconcile(w.ctx, mini.Request{Namespace: "default", Name: "gone"})
		require.NoError(w, err, "there is neither a Service nor Endpoints, and nothing to do")
	})
}

// withoutKind is a cluster whose scheme lacks the type of missing.
func (w *world) withoutKind(missing runtime.Object) *mini.Cluster {
	w.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	for _, kind := range kindsOfEndpoints {
		if kind != missing {
			scheme.AddKnownTypes(corev1.SchemeGroupVersion, kind)
		}
	}
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ServiceList{}, &corev1.PodList{}, &corev1.EndpointsList{})
	cluster, err := mini.NewCluster(w.Server.Config(), scheme)
	require.NoError(w, err)
	return cluster
}

var kindsOfEndpoints = []runtime.Object{&corev1.Service{}, &corev1.Pod{}, &corev1.Endpoints{}}

// A program whose scheme lacks a kind has to learn that when it starts.
//
// Function: NewEndpointsController
func TestAKindThatTheSchemeDoesNotKnowIsAnError(t *testing.T) {
	for _, missing := range kindsOfEndpoints {
		inMemory(t, func(w *world) {
			_, err := mini.NewEndpointsController(mini.NewManager(w.withoutKind(missing)))
			require.Error(w, err, "the scheme does not know %T", missing)
		})
	}
}

// Function: Endpoints.Reconcile
func TestAReadThatFailsIsAnErrorAndNoWriteFollows(t *testing.T) {
	for _, missing := range kindsOfEndpoints {
		inMemory(t, func(w *world) {
			w.addService(service("web"))
			cache := mini.NewCache(w.withoutKind(missing))
			w.run(cache.Run)
			e := &mini.Endpoints{Client: mini.NewCachedClient(cache)}
			_, err := e.Reconcile(w.ctx, mini.Request{Namespace: "default", Name: "web"})
			require.Error(w, err, "%T cannot be read", missing)
			require.Nil(w, w.endpoints("web"), "%T can't be read, but Endpoints were written", missing)
		})
	}
}
