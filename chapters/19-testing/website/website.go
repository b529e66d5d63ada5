// Package website is the controller of Websites as the chapter about tests has it: a page of the CDN has an
// id that the CDN chooses, and the Website has it in an annotation.
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

// PageID is the annotation with the id of the Website's page. Visitors get to the page by it.
const PageID = "web.example.com/page-id"

// Client is what the Reconciler needs of one: mini.CachedClient has it, and so has a fake.
type Client interface {
	mini.Reader
	Create(context.Context, mini.Object) error
	Update(context.Context, mini.Object) error
	UpdateStatus(context.Context, mini.Object) error
	Delete(context.Context, mini.Object, metav1.DeleteOptions) error
}

// Publish puts the page of a Website on the CDN, and sees to it that the Website has the page's id.
type Publish func(ctx context.Context, c Client, cdn *CDN, site *example.Website, page string) error

// Add adds the controller to a manager. A deleted Website stays until the CDN has none of its pages.
func Add(m *mini.Manager, cdn *CDN, publish Publish, image string) error {
	r := &Reconciler{Client: m.Client, CDN: cdn, Publish: publish, Image: image}
	sites := m.Informer(&example.Website{})
	c := m.NewController("websites", 1, &mini.Finalizing[*example.Website]{
		Client: m.Client, Finalizer: "web.example.com/cdn", Cleanup: r.remove, Next: r,
	})
	c.Watch(sites, mini.EnqueueObject)
	c.Watch(m.Informer(&corev1.Pod{}), mini.EnqueueOwner(example.Kind.GroupKind()))
	c.Watch(m.Informer(&corev1.ConfigMap{}), mini.EnqueueMapped(websitesOf(sites)))
	m.AddController(c)
	return m.Err()
}

// websitesOf returns a function that finds the Websites that show a page.
func websitesOf(sites *mini.SharedInformer) func(page mini.Object) []mini.Request {
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

// Reconciler makes as many Pods as a Website asks for, and publishes its page.
type Reconciler struct {
	Client  Client
	CDN     *CDN
	Publish Publish
	Image   string // of a web server
}

// Reconcile makes the Pods that are missing, deletes those that are too many, and publishes the page.
func (r *Reconciler) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	site, err := mini.Get[*example.Website](ctx, r.Client, req)
	if err != nil {
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	key := mini.Request{Namespace: site.Namespace, Name: site.Spec.Page}
	page, err := mini.Get[*corev1.ConfigMap](ctx, r.Client, key)
	if err != nil {
		return mini.Result{}, fmt.Errorf("the page of %s: %w", site.Name, err)
	}
	ofSite := labels.SelectorFromSet(labels.Set{example.Label: site.Name})
	pods, err := mini.List[*corev1.Pod](ctx, r.Client, mini.Selection{Namespace: site.Namespace, Labels: ofSite})
	if err != nil {
		return mini.Result{}, err
	}
	want := int(*site.Spec.Replicas)
	for range want - len(pods) {
		pod := example.PodFor(site, r.Image)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(site, example.Kind)}
		if err := r.Client.Create(ctx, pod); err != nil {
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
	return mini.Result{}, r.Publish(ctx, r.Client, r.CDN, site, page.Data["index.html"])
}

// report writes the status, if another number of Pods is ready.
func (r *Reconciler) report(ctx context.Context, site *example.Website, pods []*corev1.Pod) error {
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

// remove closes the pages of a Website that is being deleted.
func (r *Reconciler) remove(_ context.Context, site *example.Website) error {
	for id := r.CDN.Find(site.UID); id != ""; id = r.CDN.Find(site.UID) {
		r.CDN.Close(id)
	}
	return nil
}
