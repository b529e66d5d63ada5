// Package grown is the Website controller on the library, with its finalizer and its defaulter.
package grown

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

const finalizer = "web.example.com/cdn"

// New returns a manager with the controller and its webhook. Start runs them.
func New(config *rest.Config, options ctrl.Options, r *Reconciler) (ctrl.Manager, error) {
	options.Scheme = example.NewScheme()
	options.LeaderElection, options.LeaderElectionID = true, "websites"
	options.LeaderElectionReleaseOnCancel = true
	ownWrites := &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}
	options.Client.Cache = ownWrites
	m, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	r.Client = m.GetClient()
	specs := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	c := ctrl.NewControllerManagedBy(m).
		For(&example.Website{}, specs).
		Owns(&corev1.Pod{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.websitesOf))
	w := ctrl.NewWebhookManagedBy(m, &example.Website{}).WithDefaulter(r)
	return m, errors.Join(c.Complete(reconcile.AsReconciler(r.Client, r)), w.Complete())
}

// Reconciler makes as many Pods as a Website asks for, and puts its page on the CDN.
type Reconciler struct {
	client.Client
	CDN   *website.CDN
	Image string // of a web server
	Name  string // of the process, which the CDN logs
}

// Default gives a Website two Pods, one of them a spare, if its user doesn't say how many.
func (r *Reconciler) Default(_ context.Context, site *example.Website) error {
	if site.Spec.Replicas == nil {
		site.Spec.Replicas = new(int32(2))
	}
	return nil
}

// Reconcile makes the Pods that are missing, deletes those that are too many, and uploads
// the page if the CDN shows another one.
func (r *Reconciler) Reconcile(
	ctx context.Context, site *example.Website,
) (ctrl.Result, error) {
	if site.DeletionTimestamp != nil {
		return ctrl.Result{}, r.finalize(ctx, site)
	}
	stored := site.DeepCopy()
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := r.patch(ctx, stored, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	var page corev1.ConfigMap
	key := client.ObjectKey{Namespace: site.Namespace, Name: site.Spec.Page}
	if err := r.Get(ctx, key, &page); err != nil {
		return ctrl.Result{}, fmt.Errorf("the page of %s: %w", site.Name, err)
	}
	var pods corev1.PodList
	err := r.List(ctx, &pods, client.InNamespace(site.Namespace),
		client.MatchingLabels{example.Label: site.Name})
	if err != nil {
		return ctrl.Result{}, err
	}
	want := 2 // some Websites are older than the webhook
	if n := site.Spec.Replicas; n != nil {
		want = int(*n)
	}
	for range want - len(pods.Items) {
		if err := r.Create(ctx, r.podFor(site)); err != nil {
			return ctrl.Result{}, err
		}
	}
	for i := min(want, len(pods.Items)); i < len(pods.Items); i++ {
		if err := r.Delete(ctx, &pods.Items[i]); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.report(ctx, site, pods.Items); err != nil {
		return ctrl.Result{}, err
	}
	r.publish(client.ObjectKeyFromObject(site), page.Data["index.html"])
	return ctrl.Result{}, nil
}

// finalize removes the page from the CDN, and then the finalizer.
func (r *Reconciler) finalize(ctx context.Context, site *example.Website) error {
	err := r.CDN.Remove(ctx, r.Name, client.ObjectKeyFromObject(site))
	stored := site.DeepCopy()
	if err != nil || !controllerutil.RemoveFinalizer(site, finalizer) {
		return err
	}
	return r.patch(ctx, stored, site)
}

// patch writes what differs, and nothing that the Go type doesn't know. It fails if another program has written since.
func (r *Reconciler) patch(ctx context.Context, stored, site *example.Website) error {
	lock := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	return r.Patch(ctx, site, lock)
}

// report writes the status, if another number of Pods is ready.
func (r *Reconciler) report(
	ctx context.Context, site *example.Website, pods []corev1.Pod,
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
	return r.Status().Update(ctx, site)
}

// podFor returns a Pod that serves the page and belongs to the Website.
func (r *Reconciler) podFor(site *example.Website) *corev1.Pod {
	pod := example.PodFor(site, r.Image)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(site, example.Kind)}
	return pod
}

// publish uploads the page of a Website if the CDN shows another one.
func (r *Reconciler) publish(site client.ObjectKey, page string) {
	if r.CDN.Shows(site) != page {
		r.CDN.Upload(r.Name, site, page)
	}
}

// websitesOf returns the Websites that show a page.
func (r *Reconciler) websitesOf(ctx context.Context, page client.Object) (all []ctrl.Request) {
	var sites example.WebsiteList
	if err := r.List(ctx, &sites, client.InNamespace(page.GetNamespace())); err != nil {
		return nil // the cache has all Websites, or the controller does not run
	}
	for _, site := range sites.Items {
		if site.Spec.Page == page.GetName() {
			all = append(all, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&site)})
		}
	}
	return all
}
