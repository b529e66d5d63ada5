// Package website is the controller of Websites from chapter 14 on: it uploads each page to a content
// delivery network, too.
package website

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/mini"
)

// New returns the controller.
func New(cache *mini.Cache, r *Reconciler) (*mini.Controller, error) {
	sites, err := cache.Informer(&example.Website{})
	if err != nil {
		return nil, err
	}
	pods, err := cache.Informer(&corev1.Pod{})
	if err != nil {
		return nil, err
	}
	pages, err := cache.Informer(&corev1.ConfigMap{})
	if err != nil {
		return nil, err
	}
	c := mini.NewController("websites", r)
	c.Trace, c.Queue.Trace = sites.Trace, sites.Trace
	c.Watch(sites, mini.EnqueueObject, mini.GenerationChanged)
	c.Watch(pods, mini.EnqueueOwner(example.Kind.GroupKind()))
	c.Watch(pages, mini.EnqueueMapped(WebsitesOf(sites)))
	return c, nil
}

// WebsitesOf returns a function that finds the Websites that show a page.
func WebsitesOf(sites *mini.SharedInformer) func(page mini.Object) []mini.Request {
	return func(page mini.Object) (all []mini.Request) {
		for _, obj := range sites.List() {
			site := obj.(*example.Website)
			if site.Namespace == page.GetNamespace() && site.Spec.Page == page.GetName() {
				all = append(all, mini.KeyOf(site))
			}
		}
		return all
	}
}

// Reconciler gives each Website the Pods that it wants, and puts its page on the CDN.
type Reconciler struct {
	Client *mini.CachedClient
	CDN    *CDN
	Image  string // of a web server
	Name   string // of the process, which the CDN logs
}

// Reconcile creates the missing Pods, deletes the surplus, and uploads the page if the CDN shows
// another one.
func (r *Reconciler) Reconcile(
	ctx context.Context, req mini.Request,
) (mini.Result, error) {
	site, err := mini.Get[*example.Website](ctx, r.Client, req)
	if err != nil {
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	if site.DeletionTimestamp != nil {
		return mini.Result{}, nil
	}
	key := mini.Request{Namespace: site.Namespace, Name: site.Spec.Page}
	page, err := mini.Get[*corev1.ConfigMap](ctx, r.Client, key)
	if err != nil {
		return mini.Result{}, fmt.Errorf("the page of %s: %w", site.Name, err)
	}
	ofSite := labels.SelectorFromSet(labels.Set{example.Label: site.Name})
	pods, err := mini.List[*corev1.Pod](ctx, r.Client,
		mini.Selection{Namespace: site.Namespace, Labels: ofSite})
	if err != nil {
		return mini.Result{}, err
	}
	want := int(*site.Spec.Replicas)
	for range want - len(pods) {
		if err := r.Client.Create(ctx, r.podFor(site)); err != nil {
			return mini.Result{}, err
		}
	}
	for _, pod := range pods[min(want, len(pods)):] {
		if err := r.Client.Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
			return mini.Result{}, err
		}
	}
	if err := r.report(ctx, site, pods); err != nil {
		return mini.Result{}, err
	}
	r.publish(req, page.Data["index.html"])
	return mini.Result{}, nil
}

// report writes the status, if another number of Pods is ready.
func (r *Reconciler) report(
	ctx context.Context, site *example.Website, pods []*corev1.Pod,
) error {
	status := example.WebsiteStatus{Checked: metav1.NowMicro()}
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				status.Ready++
			}
		}
	}
	if status.Ready == site.Status.Ready {
		return nil
	}
	site.Status = status
	return r.Client.UpdateStatus(ctx, site)
}

// podFor returns a Pod that serves the page and belongs to the Website.
func (r *Reconciler) podFor(site *example.Website) *corev1.Pod {
	pod := example.PodFor(site, r.Image)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(site, example.Kind)}
	return pod
}

// publish uploads the page of a Website if the CDN shows another one.
func (r *Reconciler) publish(site mini.Request, page string) {
	if r.CDN.Shows(site) != page {
		r.CDN.Upload(r.Name, site, page)
	}
}

// Unpublish removes the page of a Website from the CDN.
func (r *Reconciler) Unpublish(ctx context.Context, site *example.Website) error {
	return r.CDN.Remove(ctx, r.Name, mini.KeyOf(site))
}
