package stories

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/simulation"
)

// This file judges Endpoints and slices, whoever wrote them. Take two Pods that serve on two ports:
// Endpoints may have one subset or two, and slices may hold the Pods together or apart. The API calls
// all of these the same, so the judge takes them apart into targets, and compares sets of targets.

// target is one address on one port, for clients of a Service.
type target struct {
	ip, port string
	is       string // ready, and for a slice also serving and terminating
	pod, uid string
	node     string
}

func (t target) String() string {
	return fmt.Sprintf("%s %s is %s (%s on %s)", t.ip, t.port, t.is, t.pod, t.node)
}

// plainly returns targets in order, without UIDs, which are different in each run.
func plainly(targets []target) []string {
	lines := make([]string, len(targets))
	for i, t := range targets {
		lines[i] = t.String()
	}
	slices.Sort(lines)
	return lines
}

// same compares targets in any order. A target that stands there twice is one too many.
func same(a, b []target) bool {
	inOrder := func(targets []target) []string {
		lines := make([]string, len(targets))
		for i, t := range targets {
			lines[i] = fmt.Sprint(t, t.uid)
		}
		slices.Sort(lines)
		return lines
	}
	return slices.Equal(inOrder(a), inOrder(b))
}

func targetOf(
	ip, port, is string, pod *corev1.ObjectReference, node *string,
) target {
	t := target{ip: ip, port: port, is: is, node: valueOf(node)}
	if pod != nil {
		t.pod, t.uid = pod.Name, string(pod.UID)
	}
	return t
}

func portText(name string, number int32, protocol corev1.Protocol) string {
	return fmt.Sprintf("%s=%d/%s", name, number, protocol)
}

// targetsIn are those of Endpoints.
func targetsIn(endpoints *corev1.Endpoints) (targets []target) {
	for _, subset := range endpoints.Subsets {
		for _, port := range subset.Ports {
			text := portText(port.Name, port.Port, port.Protocol)
			for _, a := range subset.Addresses {
				targets = append(targets, targetOf(a.IP, text, "ready", a.TargetRef, a.NodeName))
			}
			for _, a := range subset.NotReadyAddresses {
				targets = append(targets, targetOf(a.IP, text, "not ready", a.TargetRef, a.NodeName))
			}
		}
	}
	return targets
}

// targetsInSlices are those of all slices of a Service.
func targetsInSlices(all []*discoveryv1.EndpointSlice) (targets []target) {
	for _, slice := range all {
		for _, port := range slice.Ports {
			text := portText(valueOf(port.Name), valueOf(port.Port), valueOf(port.Protocol))
			for _, e := range slice.Endpoints {
				is := conditions(valueOf(e.Conditions.Ready), valueOf(e.Conditions.Serving),
					valueOf(e.Conditions.Terminating))
				for _, ip := range e.Addresses {
					targets = append(targets, targetOf(ip, text, is, e.TargetRef, e.NodeName))
				}
			}
		}
	}
	return targets
}

func conditions(ready, serving, terminating bool) string {
	return fmt.Sprintf("ready: %t, serving: %t, terminating: %t", ready, serving, terminating)
}

// endpointsOf are the targets that a Service and its Pods ask for, in Endpoints: the Pods that haven't
// finished and aren't being deleted, by their first address in the Service's first family. With
// publishNotReadyAddresses, all Pods are ready, even those that are being deleted.
func endpointsOf(service *corev1.Service, pods []*corev1.Pod) (targets []target) {
	all := service.Spec.PublishNotReadyAddresses
	for _, pod := range selected(service, pods) {
		is := "not ready"
		if all || isReady(pod) {
			is = "ready"
		}
		if pod.DeletionTimestamp == nil || all {
			targets = append(targets, onEachPort(service, pod, service.Spec.IPFamilies[0], is)...)
		}
	}
	return targets
}

// slicesFor are the targets that a Service and its Pods ask for, in slices: each family of the Service
// has its own. A Pod that's being deleted serves on, until it's unready, but isn't ready.
func slicesFor(service *corev1.Service, pods []*corev1.Pod) (targets []target) {
	for _, family := range service.Spec.IPFamilies {
		for _, pod := range selected(service, pods) {
			ends := pod.DeletionTimestamp != nil
			ready := service.Spec.PublishNotReadyAddresses || isReady(pod) && !ends
			targets = append(targets, onEachPort(service, pod, family,
				conditions(ready, isReady(pod), ends))...)
		}
	}
	return targets
}

// selected are the Pods that a Service selects, and that haven't finished: those never serve again.
func selected(service *corev1.Service, pods []*corev1.Pod) (some []*corev1.Pod) {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for _, pod := range pods {
		finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !finished && selector.Matches(labels.Set(pod.Labels)) {
			some = append(some, pod)
		}
	}
	return some
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// onEachPort returns a Pod's address in a family on the ports of a Service that the Pod has. A target
// port that's a number is in each Pod, and one that's a name only in a Pod with a port of that name.
func onEachPort(
	service *corev1.Service, pod *corev1.Pod, family corev1.IPFamily, is string,
) (targets []target) {
	whose := &corev1.ObjectReference{Name: pod.Name, UID: pod.UID}
	for _, ip := range pod.Status.PodIPs {
		address, err := netip.ParseAddr(ip.IP)
		if err != nil || address.Is6() != (family == corev1.IPv6Protocol) {
			continue
		}
		for _, port := range service.Spec.Ports {
			number := port.TargetPort.IntVal
			if port.TargetPort.Type == intstr.String {
				number = numberOf(port, pod)
			}
			if number != 0 {
				targets = append(targets, targetOf(ip.IP,
					portText(port.Name, number, port.Protocol), is, whose, &pod.Spec.NodeName))
			}
		}
		return targets
	}
	return nil
}

// numberOf finds a port of a Pod by its name. It returns zero if there's none.
func numberOf(port corev1.ServicePort, pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		for _, named := range container.Ports {
			if named.Name == port.TargetPort.StrVal && named.Protocol == port.Protocol {
				return named.ContainerPort
			}
		}
	}
	return 0
}

// hasLabelsOf reports whether an object has the labels of a Service, and no others but Kubernetes' own.
func hasLabelsOf(service *corev1.Service, object metav1.Object) bool {
	own := maps.Clone(object.GetLabels())
	maps.DeleteFunc(own, func(key, _ string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return strings.HasSuffix(prefix, "kubernetes.io")
	})
	return maps.Equal(own, service.Labels)
}

func (u *crowd) services() []*corev1.Service {
	var list corev1.ServiceList
	require.NoError(u.T, u.Live.List(context.Background(), &list))
	services := make([]*corev1.Service, len(list.Items))
	for i := range list.Items {
		services[i] = &list.Items[i]
	}
	return services
}

// endpointsAreDone judges ActedOn and Mended of Endpoints: each Service has some, and they say what the Service
// and its Pods say. There are no others.
func (u *crowd) endpointsAreDone() {
	var list corev1.EndpointsList
	require.NoError(u.T, u.Live.List(context.Background(), &list))
	have := map[string]*corev1.Endpoints{}
	for i := range list.Items {
		have[list.Items[i].Name] = &list.Items[i]
	}
	pods := u.Pods()
	for _, service := range u.services() {
		endpoints := have[service.Name]
		delete(have, service.Name)
		if endpoints == nil {
			u.breaksActedOn("the Service %s has no Endpoints", service.Name)
			continue
		}
		breaks := u.breaksActedOn
		if endpoints.ResourceVersion == u.touched[service.Name] {
			breaks = u.breaksMended
		}
		if says, want := targetsIn(endpoints), endpointsOf(service, pods); !same(says, want) {
			breaks("the Endpoints %s are %v, and the Service and its Pods say %v",
				service.Name, plainly(says), plainly(want))
		}
		if !hasLabelsOf(service, endpoints) {
			breaks("the Endpoints %s have the labels %v, and the Service has %v",
				service.Name, endpoints.Labels, service.Labels)
		}
	}
	for name := range have {
		u.breaksActedOn("the Endpoints %s have no Service", name)
	}
}

// slicesAreDone judges ActedOn of the slices of all Services: together they say what the Service and its
// Pods say, and none is too large. A Service without Pods has a slice, too, so that clients can tell it
// from one that no controller has seen.
func (u *crowd) slicesAreDone() {
	pods := u.Pods()
	for _, service := range u.services() {
		all := u.slicesOf(service)
		if len(all) == 0 {
			u.breaksActedOn("the Service %s has no slice", service.Name)
		}
		if says, want := targetsInSlices(all), slicesFor(service, pods); !same(says, want) {
			u.breaksActedOn("the slices of the Service %s are %v, and its Pods say %v",
				service.Name, plainly(says), plainly(want))
		}
		for _, slice := range all {
			if len(slice.Endpoints) > MostPerSlice {
				u.breaksActedOn("the slice %s has %d endpoints", slice.Name, len(slice.Endpoints))
			}
			if !hasLabelsOf(service, slice) {
				u.breaksActedOn("the slice %s has the labels %v, and the Service has %v", slice.Name,
					slice.Labels, service.Labels)
			}
		}
	}
}

func (u *crowd) breaksActedOn(format string, args ...any) {
	u.Breaks(simulation.ActedOn, time.Now(), format, args...)
}

func (u *crowd) breaksMended(format string, args ...any) {
	u.Breaks(simulation.Mended, time.Now(), format, args...)
}

// valueOf returns what a pointer points to, or the zero value.
func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
