// Package website is the controller of Websites, as chapter 9 leaves it.
package website

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

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

	Client kubernetes.Interface
	Sites  example.Websites // for the status
	Image  string           // of a web server
}

// Reconcile creates the missing Pods, and deletes the surplus.
func (r *Reconciler) Reconcile(
	ctx context.Context, req mini.Request,
) (mini.Result, error) {
	site, ok := r.Websites.Get(req).(*example.Website)
	if !ok {
		return mini.Result{}, nil // it was deleted
	}
	pages := r.Client.CoreV1().ConfigMaps(site.Namespace)
	if _, err := pages.Get(ctx, site.Spec.Page, metav1.GetOptions{}); err != nil {
		return mini.Result{}, fmt.Errorf("the page of %s: %w", site.Name, err)
	}
	api := r.Client.CoreV1().Pods(site.Namespace)
	list, err := api.List(ctx, metav1.ListOptions{
		LabelSelector: example.Label + "=" + site.Name,
	})
	if err != nil {
		return mini.Result{}, err
	}
	pods, want := list.Items, int(*site.Spec.Replicas)
	for range want - len(pods) {
		_, err := api.Create(ctx, r.podFor(site), metav1.CreateOptions{})
		if err != nil {
			return mini.Result{}, err
		}
	}
	for _, pod := range pods[min(want, len(pods)):] {
		if err := api.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return mini.Result{}, err
		}
	}
	return mini.Result{}, r.report(ctx, site, pods)
}

// report writes the status.
func (r *Reconciler) report(
	ctx context.Context, site *example.Website, pods []corev1.Pod,
) error {
	site = site.DeepCopy() // the store's object is shared
	site.Status = example.WebsiteStatus{Checked: metav1.NowMicro()}
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				site.Status.Ready++
			}
		}
	}
	return r.Sites.UpdateStatus(ctx, site)
}

// podFor returns a Pod that serves the page and belongs to the Website.
func (r *Reconciler) podFor(site *example.Website) *corev1.Pod {
	pod := example.PodFor(site, r.Image)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(site, example.Kind)}
	return pod
}
