// Command naive is an Endpoints controller that writes down a list of addresses.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/chapters/27-endpoints/traffic"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

//lint:file-ignore SA1019 Endpoints are the subject of the chapter.

func main() {
	demo.Main("Chapter 27, naive: a list of addresses",
		alone.Story(traffic.Story(controller), "endpoints-controller"),
		demo.Predict(1, "which of the five steps goes wrong, and how?",
			"the five steps; only a and b are ready, until d comes").Until(5))
}

// controller reconciles a Service if it changes, or a Pod that it selects.
func controller(d *demo.Demo, m *mini.Manager) (*mini.Controller, error) {
	here := func(c mini.Change) bool { return c.Object().GetNamespace() == d.Namespace }
	services := m.Informer(&corev1.Service{})
	pods := m.Informer(&corev1.Pod{})
	c := mini.NewController("endpoints", reconciler(m.Client))
	c.Watch(services, mini.EnqueueObject, here)
	c.Watch(pods, func(change mini.Change) (selecting []mini.Request) {
		all, _ := services.ByIndex(mini.ByNamespace, d.Namespace)
		for _, service := range all {
			selector := labels.SelectorFromSet(service.(*corev1.Service).Spec.Selector)
			if selector.Matches(labels.Set(change.Object().GetLabels())) {
				selecting = append(selecting, mini.KeyOf(service))
			}
		}
		return selecting
	}, here)
	return c, m.Err()
}

// reconciler writes down the addresses of all Pods that the Service selects.
func reconciler(client *mini.CachedClient) mini.ReconcilerFunc {
	return func(ctx context.Context, req mini.Request) (result mini.Result, err error) {
		service, err := mini.Get[*corev1.Service](ctx, client, req)
		if err != nil {
			return result, err
		}
		selector := labels.SelectorFromSet(service.Spec.Selector)
		matching := mini.Selection{Namespace: req.Namespace, Labels: selector}
		pods, err := mini.List[*corev1.Pod](ctx, client, matching)
		ips := map[string]bool{} // a set: no address comes twice
		var subset corev1.EndpointSubset
		for _, pod := range pods {
			ips[pod.Status.PodIP] = true
			p := pod.Spec.Containers[0].Ports[0]
			subset.Ports = []corev1.EndpointPort{{Name: p.Name, Port: p.ContainerPort}}
		}
		delete(ips, "") // of Pods that have not started
		for ip := range ips {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
		}
		if err != nil || len(ips) == 0 {
			return result, err
		}
		return result, traffic.WriteIfChanged(ctx, client, req, subset)
	}
}
