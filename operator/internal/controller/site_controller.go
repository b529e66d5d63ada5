// Package controller publishes sites: their pages as ConfigMaps, and their hosts at the registrar.
package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
)

// tokenSecretField is the index of sites by the Secret that they name.
const tokenSecretField = "spec.tokenSecret"

// Registrar is the service that gives sites their hosts.
type Registrar interface {
	Register(ctx context.Context, host, site, token string) error
	Unregister(ctx context.Context, host, token string) error
}

// SiteReconciler publishes sites.
type SiteReconciler struct {
	client.Client
	Recorder  recorder.EventRecorder
	Registrar Registrar
}

// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch;create;update;patch

// Reconcile brings one site up to date.
func (r *SiteReconciler) Reconcile(
	ctx context.Context, req ctrl.Request,
) (ctrl.Result, error) {
	var site webv1.Site
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, &site)
	}
	// The finalizer comes first. Without it, nobody would remove what the registrar is
	// told below.
	if controllerutil.AddFinalizer(&site, webv1.Finalizer) {
		err := r.Update(ctx, &site)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return r.refused(ctx, &site, err)
		}
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	before := site.DeepCopy()
	err := r.publish(ctx, &site)
	if err == nil {
		err = r.register(ctx, &site)
	}
	summarize(&site)
	if !equality.Semantic.DeepEqual(before.Status, site.Status) {
		err = errors.Join(err, r.Status().Patch(ctx, &site, client.MergeFrom(before)))
	}
	return ctrl.Result{}, err
}

// refusedPause is when to try a refused site again. A change of the site comes as an event; a change of the rule doesn't.
const refusedPause = 5 * time.Minute

// refused tells the user that the API server won't take the site, because of a rule that's newer than it.
func (r *SiteReconciler) refused(ctx context.Context, site *webv1.Site, refusal error) (ctrl.Result, error) {
	before := site.DeepCopy()
	setCondition(site, metav1.Condition{Type: webv1.ConditionPublished, Status: metav1.ConditionFalse, Reason: webv1.ReasonInvalid,
		Message: refusal.Error()})
	summarize(site)
	r.Recorder.Eventf(site, nil, corev1.EventTypeWarning, webv1.ReasonInvalid, "Publish", "%s", refusal)
	if err := r.Status().Patch(ctx, site, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: refusedPause}, nil
}

// finalize gives the host back, and then lets the site go. The garbage collector removes the pages.
func (r *SiteReconciler) finalize(ctx context.Context, site *webv1.Site) error {
	if !controllerutil.ContainsFinalizer(site, webv1.Finalizer) {
		return nil
	}
	token, err := r.token(ctx, site)
	if err != nil {
		return err
	}
	for _, host := range hosts(site) {
		if err := r.unregister(ctx, site, host, token); err != nil {
			return err
		}
	}
	sitePages.DeleteLabelValues(site.Namespace, site.Name)
	before := site.DeepCopy()
	controllerutil.RemoveFinalizer(site, webv1.Finalizer)
	logf.FromContext(ctx).Info("gave the host back", "host", site.Spec.Host)
	return client.IgnoreNotFound(r.Patch(ctx, site, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// hosts are those that the registrar may have for a site: the program may have ended between a call and the
// status that says so.
func hosts(site *webv1.Site) []string {
	if before := site.Status.RegisteredHost; before != "" && before != site.Spec.Host {
		return []string{before, site.Spec.Host}
	}
	return []string{site.Spec.Host}
}

// summarize sets the condition Ready out of the others.
func summarize(site *webv1.Site) {
	site.Status.ObservedGeneration = site.Generation
	ready := metav1.Condition{Type: webv1.ConditionReady, Status: metav1.ConditionTrue, Reason: webv1.ReasonReady, Message: "The site is published."}
	for _, part := range []string{webv1.ConditionPublished, webv1.ConditionRegistered} {
		if !meta.IsStatusConditionTrue(site.Status.Conditions, part) {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, webv1.ReasonNotReady, "Waiting for "+part+"."
			break
		}
	}
	setCondition(site, ready)
}

func setCondition(site *webv1.Site, condition metav1.Condition) {
	condition.ObservedGeneration = site.Generation
	meta.SetStatusCondition(&site.Status.Conditions, condition)
}

// SetupWithManager sets the controller up.
func (r *SiteReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &webv1.Site{}, tokenSecretField, func(o client.Object) []string {
		return []string{o.(*webv1.Site).Spec.TokenSecret}
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&webv1.Site{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.sitesOfSecret),
			builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Named("site").
		Complete(r)
}

// sitesOfSecret lists the sites that use a Secret.
func (r *SiteReconciler) sitesOfSecret(ctx context.Context, secret client.Object) (requests []ctrl.Request) {
	var sites webv1.SiteList
	err := r.List(ctx, &sites, client.InNamespace(secret.GetNamespace()), client.MatchingFields{tokenSecretField: secret.GetName()})
	if err != nil {
		logf.FromContext(ctx).Error(err, "cannot list the sites of a Secret", "secret", secret.GetName())
		return nil
	}
	for _, site := range sites.Items {
		requests = append(requests, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: site.Namespace, Name: site.Name}})
	}
	return requests
}
