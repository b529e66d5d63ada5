package mini

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

//lint:file-ignore SA1019 Endpoints are deprecated, and still the simplest picture.

const (
	labelManagedBy = "endpoints.kubernetes.io/managed-by"
	controllerName = "endpoint-controller"
)

// Endpoints is a reconciler that writes down where the Pods of a Service can be reached.
//
// Guarantees: it writes only if the content changes. It leaves the Endpoints of a Service
// without a selector, and of type ExternalName, to the user who writes them.
type Endpoints struct {
	Client *CachedClient
}

// NewEndpointsController returns the controller for Endpoints, which the manager's
// AddController makes run. Its requests are Services: an Endpoints object has the name
// of its Service.
func NewEndpointsController(m *Manager) (*Controller, error) {
	services, err1 := m.Cache.Informer(&corev1.Service{})
	pods, err2 := m.Cache.Informer(&corev1.Pod{})
	endpoints, err3 := m.Cache.Informer(&corev1.Endpoints{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("controller endpoints: %w", err)
	}
	c := NewController("endpoints", &Endpoints{Client: m.Client})
	c.Trace, c.Queue.Trace = m.Cluster.Trace, m.Cluster.Trace
	c.Watch(services, EnqueueObject)
	// With the old labels and with the new ones: a Pod leaves one Service and enters
	// another one in a single change.
	c.Watch(pods, EnqueueMapped(func(pod Object) []Request {
		return servicesOf(services, pod)
	}))
	c.Watch(endpoints, EnqueueObject, managed)
	return c, nil
}

// servicesOf returns the Services that select the Pod.
func servicesOf(services *SharedInformer, pod Object) (matching []Request) {
	inNamespace, _ := services.ByIndex(ByNamespace, pod.GetNamespace())
	for _, obj := range inNamespace {
		selector := labels.SelectorFromSet(obj.(*corev1.Service).Spec.Selector)
		if !selector.Empty() && selector.Matches(labels.Set(pod.GetLabels())) {
			matching = append(matching, KeyOf(obj))
		}
	}
	return matching
}

// managed is true if this controller wrote the Endpoints, before the change or after it.
// Users write Endpoints, too, even before the Service: those are none of our business.
func managed(change Change) bool {
	return slices.ContainsFunc([]Object{change.Old, change.New}, func(obj Object) bool {
		return obj != nil && obj.GetLabels()[labelManagedBy] == controllerName
	})
}

// Reconcile makes the Endpoints of a Service what its Pods are.
func (e *Endpoints) Reconcile(ctx context.Context, req Request) (Result, error) {
	return Result{}, e.syncService(ctx, req)
}

func (e *Endpoints) syncService(ctx context.Context, req Request) error {
	current, err := Get[*corev1.Endpoints](ctx, e.Client, req)
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	service, err := Get[*corev1.Service](ctx, e.Client, req)
	switch {
	case apierrors.IsNotFound(err) && exists:
		return e.Client.Delete(ctx, current, metav1.DeleteOptions{})
	case apierrors.IsNotFound(err):
		return nil
	case err != nil || len(service.Spec.Selector) == 0 ||
		service.Spec.Type == corev1.ServiceTypeExternalName:
		return err
	}
	pods, err := List[*corev1.Pod](ctx, e.Client, Selection{
		Namespace: req.Namespace, Labels: labels.SelectorFromSet(service.Spec.Selector),
	})
	if err != nil {
		return err
	}
	// The API server stores subsets in an order of its own. Without our order on both
	// sides, equal content would look different, and be written at each reconcile.
	current.Subsets = RepackSubsets(current.Subsets)
	next := EndpointsFor(service, pods, current)
	switch {
	case !exists:
		return e.Client.Create(ctx, next)
	case !equality.Semantic.DeepEqual(current, next):
		return e.Client.Update(ctx, next)
	}
	return nil
}

// EndpointsFor returns current as it should be, with labels, annotations and subsets.
func EndpointsFor(
	service *corev1.Service, pods []*corev1.Pod, current *corev1.Endpoints,
) *corev1.Endpoints {
	next, truncated := current.DeepCopy(), false
	next.Namespace, next.Name = service.Namespace, service.Name
	next.Subsets, truncated = EndpointSubsets(service, pods)
	delete(next.Annotations, corev1.EndpointsOverCapacity)
	if truncated {
		meta := &next.ObjectMeta
		metav1.SetMetaDataAnnotation(meta, corev1.EndpointsOverCapacity, "truncated")
	}
	next.Labels = map[string]string{}
	maps.Copy(next.Labels, service.Labels)
	// It keeps another controller away, which copies the Endpoints that users write.
	next.Labels[labelManagedBy] = controllerName
	delete(next.Labels, corev1.IsHeadlessService)
	if ip := service.Spec.ClusterIP; ip == "" || ip == corev1.ClusterIPNone {
		next.Labels[corev1.IsHeadlessService] = "" // kube-proxy has nothing to do for it
	}
	return next
}
