//go:build figures

package controllers

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
)

// Packing is the figure of chapter 27.
var Packing = figure.Definition{
	Name: "packing", Title: "Pods and ports, packed into subsets",
	Hint: "Give a Pod another port, or let it become not ready. Which columns of the table are alike then?",
	New:  func() figure.Figure { return newPacking() },
}

// server is a Pod behind a Service, as far as a reader can change it.
type server struct {
	name, ip      string
	state         string // ready, not ready, being deleted
	http, metrics string // the number of the port of this name, or none
}

type packing struct {
	servers []server
	chosen  string
	all     bool // publishNotReadyAddresses
}

func newPacking() *packing {
	return &packing{chosen: "blue", servers: []server{
		{"blue", "10.0.0.1", "ready", "9000", none},
		{"green", "10.0.0.2", "ready", "8080", "9090"},
		{"red", "10.0.0.3", "ready", "8080", "9090"},
		{"white", "10.0.0.4", "not ready", "8080", "9090"},
	}}
}

const none = "none"

// object is the Pod as the API server would have it.
func (s server) object() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, UID: types.UID(s.name)},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: s.ip, PodIPs: []corev1.PodIP{{IP: s.ip}}},
	}
	for _, port := range []struct{ name, number string }{{"http", s.http}, {"metrics", s.metrics}} {
		if number, err := strconv.Atoi(port.number); err == nil {
			pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{Name: port.name, ContainerPort: int32(number), Protocol: corev1.ProtocolTCP})
		}
	}
	switch s.state {
	case "ready":
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	case "being deleted":
		pod.DeletionTimestamp = &metav1.Time{Time: noon}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return pod
}

// service asks for two ports by name, so each Pod may have other numbers.
func (k *packing) service() *corev1.Service {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString(name)}
	}
	return &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, PublishNotReadyAddresses: k.all,
		Ports: []corev1.ServicePort{port("http", 80), port("metrics", 9100)},
	}}
}

func (k *packing) objects() (objects []*corev1.Pod) {
	for _, s := range k.servers {
		objects = append(objects, s.object())
	}
	return objects
}

func (k *packing) at(name string) *server {
	for i := range k.servers {
		if k.servers[i].name == name {
			return &k.servers[i]
		}
	}
	return &k.servers[0]
}

func (k *packing) Controls() []figure.Control {
	s := k.at(k.chosen)
	names := make([]string, len(k.servers))
	for i := range k.servers {
		names[i] = k.servers[i].name
	}
	choice := func(key, label, value string, options ...string) figure.Control {
		return figure.Control{Key: key, Label: label, Kind: figure.Choice, Group: "This Pod", Value: value, Options: figure.Options(options...)}
	}
	return []figure.Control{
		choice("pod", "Pod", k.chosen, names...),
		choice("state", "It is", s.state, "ready", "not ready", "being deleted"),
		choice("http", "http", s.http, "8080", "9000", none),
		choice("metrics", "metrics", s.metrics, "9090", "9100", none),
		{Key: "all", Label: "publishNotReadyAddresses", Kind: figure.Check, Group: "The Service", Value: strconv.FormatBool(k.all)},
		{Key: "turn", Label: "List the Pods in another order", Kind: figure.Button},
	}
}

func (k *packing) Do(action figure.Action) string {
	s := k.at(k.chosen)
	before := k.inWords()
	switch action.Key {
	case "pod":
		k.chosen = action.Value
		return k.chosen + " is " + k.at(k.chosen).state + ". Change it."
	case "state":
		s.state = action.Value
	case "http":
		s.http = action.Value
	case "metrics":
		s.metrics = action.Value
	case "all":
		k.all = action.Value == "true"
	case "turn":
		k.servers = append(k.servers[1:len(k.servers):len(k.servers)], k.servers[0])
		if k.inWords() == before {
			return "The Pods come in another order, and the subsets are the same, byte for byte. So nothing is written."
		}
		return "The subsets have changed, which must not be."
	}
	if k.inWords() == before {
		return "The subsets stay as they are. There is nothing to write."
	}
	return "The Endpoints have " + subsets(len(k.subsets())) + " now. " + k.grouping()
}

func subsets(n int) string {
	if n == 0 {
		return "no subset"
	}
	return strconv.Itoa(n) + either(n, " subset", " subsets")
}

// grouping says which columns are alike.
func (k *packing) grouping() string {
	said := ""
	for _, s := range k.subsets() {
		if len(s.Ports) > 1 {
			var ports []string
			for _, port := range s.Ports {
				ports = append(ports, portOf(port.Name, port.Port))
			}
			said += "The columns " + list(ports) + " look the same, so they share a subset. "
		}
	}
	switch n := len(k.subsets()); {
	case n == 0:
		return "No Pod is listed: each has none of the ports, or is being deleted."
	case said == "" && n == 1:
		return "There is only one column."
	case said == "":
		return "No two columns look the same, so each has a subset of its own."
	}
	return said[:len(said)-1]
}

func (k *packing) subsets() []corev1.EndpointSubset {
	return endpoints.Subsets(k.service(), k.objects())
}

func portOf(name string, number int32) string { return name + "=" + strconv.Itoa(int(number)) }

// inWords has a line for each subset.
func (k *packing) inWords() string {
	var lines []string
	for _, s := range k.subsets() {
		lines = append(lines, strings.TrimSpace(k.names(s.Addresses, false)+k.names(s.NotReadyAddresses, true))+": "+portsInWords(s.Ports))
	}
	return strings.Join(lines, "; ")
}

func (k *packing) names(addresses []corev1.EndpointAddress, notReady bool) string {
	var names []string
	for _, address := range addresses {
		names = append(names, address.TargetRef.Name)
	}
	text := strings.Join(names, ", ")
	if notReady && text != "" {
		return " (not ready: " + text + ")"
	}
	return text
}

func portsInWords(ports []corev1.EndpointPort) string {
	var words []string
	for _, port := range ports {
		words = append(words, portOf(port.Name, port.Port))
	}
	return strings.Join(words, " ")
}

func (k *packing) Words() string {
	if len(k.subsets()) == 0 {
		return "The Endpoints have no subset."
	}
	return "The Endpoints have " + subsets(len(k.subsets())) + ": " + k.inWords() + "."
}
