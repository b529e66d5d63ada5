// Package website is the controller of Websites, as chapter 10 leaves it.
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
func New(r *Reconciler) *mini.Controller {
	c := mini.NewController("websites", r)
	c.Watch(r.Websites, mini.EnqueueObject, mini.GenerationChanged)
	c.Watch(r.Pods, mini.EnqueueOwner(example.Kind.GroupKind()))
	c.Watch(r.Pages, mini.EnqueueMapped(r.websitesOf))
	return c
}

// websitesOf returns the Websites that show a page.
func (r *Reconciler) websitesOf(page mini.Object) (all []mini.Request) {
	for _, obj := range r.Websites.List() {
		site := obj.(*example.Website)
		if site.Namespace == page.GetNamespace() && site.Spec.Page == page.GetName() {
			all = append(all, mini.KeyOf(site))
		}
	}
	return all
}

// Reconciler gives each Website the Pods that it wants.
type Reconciler struct {
	Websites, Pods, Pages *mini.SharedInformer

	Client *mini.Client
	Image  string // of a web server
}

// Reconcile creates the missing Pods, and deletes the surplus.
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
	if _, err := mini.Get[*corev1.ConfigMap](ctx, r.Client, key); err != nil {
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
	return mini.Result{}, r.report(ctx, site, pods)
}

// report writes the status.
func (r *Reconciler) report(
	ctx context.Context, site *example.Website, pods []*corev1.Pod,
) error {
	site.Status = example.WebsiteStatus{Checked: metav1.NowMicro()}
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				site.Status.Ready++
			}
		}
	}
	return r.Client.UpdateStatus(ctx, site)
}

// podFor returns a Pod that serves the page and belongs to the Website.
func (r *Reconciler) podFor(site *example.Website) *corev1.Pod {
	pod := example.PodFor(site, r.Image)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(site, example.Kind)}
	return pod
}
