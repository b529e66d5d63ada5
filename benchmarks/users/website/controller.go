package website

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "web.example.com/dns"

// Reconciler reconciles a Website.
type Reconciler struct {
	client.Client
	Scheme *runtime.Scheme
	DNS    interface{ Release(name string) error }
}

var _ reconcile.Reconciler = &Reconciler{}

func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	log := logr.FromContextOrDiscard(ctx).WithValues("website", req.NamespacedName)

	var site Website
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, &site)
	}
	if !slices.Contains(site.Finalizers, finalizer) {
		patch := client.MergeFrom(site.DeepCopy())
		site.Finalizers = append(site.Finalizers, finalizer)
		if err := r.Patch(ctx, &site, patch); err != nil {
			return reconcile.Result{}, err
		}
	}
	if site.Spec.Image == "" {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("website %s has no image", req))
	}

	var deployment appsv1.Deployment
	err := r.Get(ctx, client.ObjectKeyFromObject(&site), &deployment)
	switch {
	case apierrors.IsNotFound(err):
		deployment = *r.deploymentFor(&site)
		if err := r.Create(ctx, &deployment, client.FieldOwner("website")); client.IgnoreAlreadyExists(err) != nil {
			return reconcile.Result{}, err
		}
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("getting the deployment: %w", err)
	default:
		base := deployment.DeepCopy()
		deployment.Spec.Replicas = site.Spec.Replicas
		deployment.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
		if err := r.Patch(ctx, &deployment, client.StrategicMergeFrom(base, client.MergeFromWithOptimisticLock{})); err != nil {
			if apierrors.IsConflict(err) {
				return reconcile.Result{Requeue: true}, nil
			}
			return reconcile.Result{}, err
		}
	}

	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: site.Name, Namespace: site.Namespace},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"website": site.Name},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if err := r.Patch(ctx, service, client.Apply, client.ForceOwnership, client.FieldOwner("website")); err != nil {
		return reconcile.Result{}, err
	}

	site.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	site.Status.ObservedGeneration = site.Generation
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Running"})
	if err := r.Status().Update(ctx, &site); err != nil {
		return reconcile.Result{}, err
	}
	if deployment.Status.ReadyReplicas < deployment.Status.Replicas {
		log.V(1).Info("not all replicas are ready")
		return reconcile.Result{RequeueAfter: 10 * time.Second, Priority: new(5)}, nil
	}
	return reconcile.Result{}, nil
}

func (r *Reconciler) finalize(ctx context.Context, site *Website) (reconcile.Result, error) {
	if err := r.DNS.Release(site.Name); err != nil {
		return reconcile.Result{}, err
	}
	before := site.DeepCopy()
	site.Finalizers = slices.DeleteFunc(site.Finalizers, func(f string) bool { return f == finalizer })
	return reconcile.Result{}, r.Patch(ctx, site, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (r *Reconciler) deploymentFor(site *Website) *appsv1.Deployment {
	labels := client.MatchingLabels{"website": site.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: site.Name, Namespace: site.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(site, GroupVersion.WithKind("Website"))},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: site.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: site.Spec.Image}}},
			},
		},
	}
}

// Scale is what an operator calls by hand.
func (r *Reconciler) Scale(ctx context.Context, key types.NamespacedName, to int32) error {
	site := &Website{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return r.Patch(ctx, site, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, to)))
}
