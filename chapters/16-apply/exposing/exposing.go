// Package exposing is what both programs of the chapter do: the Website controller gives each Website a
// Service, and the controller of another team adds a port to it.
package exposing

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/mini"
)

// Hostname is the annotation in which external-dns looks for the domain of a Service.
const Hostname = "external-dns.kubernetes.io/hostname"

// Want returns what the Website controller wants of a Website's Service: a port, and the
// domain, if the page names one.
func Want(site *example.Website, page *corev1.ConfigMap) mini.Fields {
	metadata := mini.Fields{
		"labels": mini.Fields{example.Label: site.Name},
		"ownerReferences": []any{mini.Fields{
			"apiVersion": example.Kind.GroupVersion().String(), "kind": example.Kind.Kind,
			"name": site.Name, "uid": site.UID, "controller": true,
		}},
	}
	if domain := page.Data["domain"]; domain != "" {
		metadata["annotations"] = mini.Fields{Hostname: domain}
	}
	return mini.Fields{
		"metadata": metadata,
		"spec": mini.Fields{
			"selector": mini.Fields{example.Label: site.Name},
			"ports":    []any{mini.Fields{"name": "http", "port": 80, "targetPort": 80}},
		},
	}
}

// Write makes the Service in the cluster what Want wants. The service is the one in the cache, or has
// only its name.
type Write func(
	ctx context.Context, client *mini.CachedClient, service *corev1.Service, want mini.Fields,
) error

// NewController returns the controller that gives each Website its Service.
func NewController(m *mini.Manager, write Write) *mini.Controller {
	c := m.NewController("services", 1, mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			site, err := mini.Get[*example.Website](ctx, m.Client, req)
			if err != nil {
				return mini.Result{}, mini.IgnoreNotFound(err)
			}
			key := mini.Request{Namespace: site.Namespace, Name: site.Spec.Page}
			page, err := mini.Get[*corev1.ConfigMap](ctx, m.Client, key)
			if err != nil {
				return mini.Result{}, fmt.Errorf("the page of %s: %w", site.Name, err)
			}
			service, err := mini.Get[*corev1.Service](ctx, m.Client, req)
			if mini.IgnoreNotFound(err) != nil {
				return mini.Result{}, err
			}
			service.Namespace, service.Name = req.Namespace, req.Name
			return mini.Result{}, write(ctx, m.Client, service, Want(site, page))
		}))
	sites := m.Informer(&example.Website{})
	c.Watch(sites, mini.EnqueueObject, mini.GenerationChanged)
	c.Watch(m.Informer(&corev1.Service{}), mini.EnqueueOwner(example.Kind.GroupKind()))
	c.Watch(m.Informer(&corev1.ConfigMap{}), mini.EnqueueMapped(website.WebsitesOf(sites)))
	return c
}

// otherTeam runs a controller that adds a port for metrics to each Website's Service that has none, as
// chapter 10 does it: with an update that has the version. It needs a moment.
func otherTeam(ctx context.Context, cluster *mini.Cluster) error {
	m := mini.NewManager(cluster)
	isMetrics := func(port corev1.ServicePort) bool { return port.Name == "metrics" }
	c := m.NewController("metrics", 1, mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			service, err := mini.Get[*corev1.Service](ctx, m.Client, req)
			if err != nil || slices.ContainsFunc(service.Spec.Ports, isMetrics) {
				return mini.Result{}, mini.IgnoreNotFound(err)
			}
			time.Sleep(200 * time.Millisecond)
			port := corev1.ServicePort{Name: "metrics", Port: 9090}
			service.Spec.Ports = append(service.Spec.Ports, port)
			return mini.Result{}, m.Client.Update(ctx, service)
		}))
	ofWebsite := func(change mini.Change) bool { return change.Object().GetLabels()[example.Label] != "" }
	c.Watch(m.Informer(&corev1.Service{}), mini.EnqueueObject, ofWebsite)
	m.AddController(c)
	return m.Run(ctx)
}
