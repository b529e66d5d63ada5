package scenarios

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func addresses(name string, steps ...Step) Scenario { return about("endpoints", name, steps...) }

var twoPods = many("create the Pods a and b", createPod(pod("a", web)), createPod(pod("b", web)))

var endpointsScenarios = []Scenario{
	addresses("Pods first", twoPods, serve()),
	addresses("the Service first", serve(), twoPods, deletePod(named("a")), deletePod(named("b"))),
	addresses("of a Deployment", serve(), deploy(deployment(app, 3)), scale(5), roll("works:2"), scale(0)),
	addresses("a rollout that gets stuck", serve(), deploy(deployment(app, 3)), roll("breaks:1"), undo(1)),
	addresses("Pods that are not ready", serve(), createPod(pod("a", web, runsImage("breaks:1"))), createPod(pod("b", web)), becomeReady(named("a")), becomeUnready(named("b"))),
	addresses("Pods without an address", serve(), createPod(pod("a", web, runsImage("pulls:1"))), createPod(pod("b", web))),
	addresses("Pods that end", serve(), createPod(pod("a", web, runsImage("lingers:1"))), createPod(pod("b", web)), deletePod(named("a")), letGo),
	addresses("Pods that end, published", serve(publishes(true)), createPod(pod("a", web, runsImage("lingers:1"))), deletePod(named("a")), letGo),
	addresses("Pods that fail", serve(), twoPods, fail(named("a"))),
	addresses("Pods that fail and never start again", serve(), createPod(pod("a", web, never)), createPod(pod("b", web, never)), fail(named("a")), succeed(named("b"))),
	addresses("Pods that fail, published", serve(publishes(true)), createPod(pod("a", web, never)), fail(named("a"))),
	addresses("publishNotReadyAddresses", serve(publishes(true)), createPod(pod("a", web, runsImage("breaks:1"))), createPod(pod("b", web))),
	addresses("publishNotReadyAddresses changes", serve(), createPod(pod("a", web, runsImage("breaks:1"))), editService("publish", publishes(true)), editService("do not", publishes(false))),
	addresses("headless", serve(headless), twoPods),
	addresses("headless without ports", serve(headless, noPorts), twoPods, becomeUnready(named("a"))),
	addresses("a Service without Pods", serve(), editService("another label", func(s *corev1.Service) { s.Labels["team"] = "a" })),
	addresses("several ports", serve(ports([3]string{"http", "80", "8080"}, [3]string{"https", "443", "8443"})), twoPods),
	addresses("several protocols", serve(ports([3]string{"tcp", "53", "53"}, [3]string{"dns", "53", "53"})), twoPods),
	addresses("a port without a target", serve(ports([3]string{"", "80", "0"})), twoPods),
	addresses("targets with names", serve(ports([3]string{"http", "80", "web"})), createPod(pod("a", web, listens("web", 8080))), createPod(pod("b", web, listens("web", 9090)))),
	addresses("a name that no container has", serve(ports([3]string{"http", "80", "web"})), createPod(pod("a", web)), createPod(pod("b", web, listens("web", 9090)))),
	addresses("a name with another protocol", serve(ports([3]string{"http", "80", "dns"})), createPod(pod("a", web, listens("dns", 53)))),
	addresses("several names, which resolve to different subsets", serve(ports([3]string{"http", "80", "web"}, [3]string{"admin", "81", "admin"}, [3]string{"fixed", "82", "1234"})),
		createPod(pod("a", web, listens("web", 8080), listens("admin", 9000))), createPod(pod("b", web, listens("web", 8080))),
		createPod(pod("c", web, listens("web", 8081), listens("admin", 9000), runsImage("breaks:1")))),
	addresses("the ports change", serve(), twoPods, editService("another target", ports([3]string{"", "80", "9090"})), editService("two ports", ports([3]string{"x", "80", "9090"}, [3]string{"y", "81", "9091"}))),
	addresses("the selector changes", serve(), twoPods, createPod(pod("c", map[string]string{"app": "shop"})), editService("select the shop", selects(map[string]string{"app": "shop"}))),
	addresses("the selector becomes narrower", serve(), twoPods, editService("select tier=front", selects(with(web, "tier", "front"))), addLabel(named("a"), "tier", "front")),
	addresses("a Pod is relabelled", serve(), twoPods, addLabel(named("a"), "app", "shop"), addLabel(named("a"), "app", "web")),
	addresses("without a selector", serve(noSelector), twoPods),
	addresses("without a selector, and somebody's own Endpoints", serve(noSelector), ownEndpoints, twoPods),
	addresses("the selector goes", serve(), twoPods, editService("no selector", noSelector), deletePod(named("a"))),
	addresses("a selector comes", serve(noSelector), ownEndpoints, twoPods, editService("select", selects(web))),
	addresses("ExternalName", serve(external), twoPods),
	addresses("to ExternalName", serve(), twoPods, editService("ExternalName", external), deletePod(named("a"))),
	addresses("from ExternalName", serve(external), twoPods, editService("an address", internal)),
	addresses("hostnames", serve(headless), createPod(pod("a", web, hostname("db-0", app))), createPod(pod("b", web, hostname("db-1", "other")))),
	addresses("hostnames of a Service with an address", serve(), createPod(pod("a", web, hostname("db-0", app)))),
	addresses("labels of the Service", serve(), twoPods, editService("a label", func(s *corev1.Service) { s.Labels["team"] = "a" }), editService("no labels", func(s *corev1.Service) { s.Labels = nil })),
	addresses("headless becomes visible in a label", serve(headless), editService("a label of others", func(s *corev1.Service) { s.Labels = map[string]string{"service.kubernetes.io/headless": "no"} })),
	addresses("the Service is deleted", serve(), twoPods, deleteService()),
	addresses("the Service is deleted and made again", serve(), twoPods, deleteService(), serve(headless)),
	addresses("somebody deletes the Endpoints", serve(), twoPods, remove("Endpoints", app, background, endpoints)),
	addresses("somebody changes the Endpoints", serve(), twoPods, edit("remove all addresses", app, endpoints, func(e *corev1.Endpoints) { e.Subsets = nil }),
		createPod(pod("c", web))),
	addresses("somebody labels the Endpoints", serve(), twoPods, edit("label them", app, endpoints, func(e *corev1.Endpoints) { e.Labels = with(e.Labels, "mine", "1") }), createPod(pod("c", web))),
	addresses("Endpoints before the Service", ownEndpoints, twoPods, serve()),
	addresses("two Services", serve(), create("create another", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "second"},
		Spec: corev1.ServiceSpec{Selector: web, Ports: []corev1.ServicePort{{Name: "x", Port: 1}}}}, services), twoPods, deletePod(named("a"))),
	addresses("Pods of different nodes", serve(), createPod(pod("a", web, onNode("node-2"))), createPod(pod("b", web, onNode("node-3")))),
	addresses("Pods on the network of their hosts", serve(), createPod(pod("a", web, onHost))),
	addresses("40 Pods at once", serve(), somePods(40), deleteAllPods),
	addresses("more Pods than there is room for", somePods(1003, onNode("node-2")), serve(), deletePod(named("p0000")), many("delete two more", deletePod(named("p0001")), deletePod(named("p0002")), deletePod(named("p0003")))),
}

// ownEndpoints are made by the user.
var ownEndpoints = create("create Endpoints by hand", &corev1.Endpoints{
	ObjectMeta: metav1.ObjectMeta{Name: app, Labels: map[string]string{"mine": "1"}},
	Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.7"}}, Ports: []corev1.EndpointPort{{Port: 7}}}},
}, endpoints)
