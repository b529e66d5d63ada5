package endpoints

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// sliceReconciler does what the plan says. What it remembers may be lost.
type sliceReconciler struct {
	client   client.Client // reads from the cache, and reads what it has written
	live     client.Reader // asks the server
	events   events.EventRecorder
	most     int
	services memory // times and rests, by Service
	written  memory // versions, by slice
}

// failedToUpdateSlices is the reason of events.
const failedToUpdateSlices = "FailedToUpdateEndpointSlices"

// Reconcile gives a Service its EndpointSlices. They are read first, because this read may wait for the controller's last
// write.
func (r *sliceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	name := request.NamespacedName
	if rest := time.Until(r.services.about(name).restEnd); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	var list discoveryv1.EndpointSliceList
	if err := r.client.List(ctx, &list, client.InNamespace(name.Namespace), client.MatchingFields{sliceIndex: name.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("finding the EndpointSlices of the Service: %w", err)
	}
	service := &corev1.Service{}
	if err := r.client.Get(ctx, name, service, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		r.services.forget(name)
		return reconcile.Result{}, nil // the garbage collector deletes them
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if !isServed(service) {
		return reconcile.Result{}, nil
	}
	pods, err := selectedBy(ctx, r.client, service)
	if err != nil {
		return reconcile.Result{}, err
	}
	nodes, err := r.nodesOf(ctx, pods)
	if err != nil {
		return reconcile.Result{}, err
	}
	have := make([]*discoveryv1.EndpointSlice, len(list.Items))
	for i := range list.Items {
		have[i] = &list.Items[i]
	}
	seen := timesOf(service, pods)
	isOlder, err := r.carryOut(ctx, service, have, planOf(wantedOf(service, pods, nodes), have, r.most), seen)
	if err != nil {
		return reconcile.Result{}, r.failed(service, err)
	}
	r.services.looked(name, seen)
	if isOlder {
		return reconcile.Result{RequeueAfter: max(time.Until(r.services.about(name).restEnd), time.Nanosecond)}, nil
	}
	return reconcile.Result{}, nil
}

// nodesOf are the Nodes of these Pods, as far as there are any.
func (r *sliceReconciler) nodesOf(ctx context.Context, pods []*corev1.Pod) (nodes, error) {
	all, asked := nodes{}, map[string]bool{}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if name == "" || asked[name] {
			continue
		}
		asked[name] = true
		node := &metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		if err := r.client.Get(ctx, client.ObjectKey{Name: name}, node, client.UnsafeDisableDeepCopy); err == nil {
			all[name] = node.Labels[corev1.LabelTopologyZone]
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("finding the Node of the Pod %s: %w", pod.Name, err)
		}
	}
	return all, nil
}

// carryOut does what a plan says: what is missing first, and what is too much last. A write that fails does not keep the
// others from being tried. isOlder is true if somebody else has written one of the slices meanwhile.
//
// An update or a deletion names the version that was compared, so what somebody else has changed, or what the cache does
// not know yet, is a conflict.
func (r *sliceReconciler) carryOut(ctx context.Context, service *corev1.Service, have []*discoveryv1.EndpointSlice, p plan, seen *times) (isOlder bool, err error) {
	name := client.ObjectKeyFromObject(service)
	before := r.services.about(name)
	trigger := seen.trigger(before.times)
	var failures []error
	written := 0
	wrote := func(older bool, slice *discoveryv1.EndpointSlice, err error) {
		failures, isOlder = append(failures, err), isOlder || older
		if err == nil {
			written += len(slice.Endpoints)
		}
	}
	if create, err := r.mayCreate(ctx, service, before.times != nil && len(p.create) > 0); err != nil {
		failures = append(failures, err)
	} else if create {
		names := newNamer(service, have)
		for _, slice := range p.create {
			stamp(slice, trigger)
			older, err := r.create(ctx, service, slice, names)
			wrote(older, slice, err)
		}
	}
	for _, slice := range p.update {
		stamp(slice, trigger)
		older, err := r.write(slice, func() error { return r.client.Update(ctx, slice) })
		wrote(older, slice, wrap(err, "update", slice))
	}
	for _, slice := range p.remove {
		conditions := client.Preconditions{UID: &slice.UID, ResourceVersion: &slice.ResourceVersion}
		err := client.IgnoreNotFound(r.client.Delete(ctx, slice.DeepCopy(), conditions))
		failures = append(failures, wrap(err, "delete", slice))
	}
	r.services.rests(name, time.Now().Add(time.Duration(written)*restPerAddress))
	return isOlder, errors.Join(failures...)
}

// mayCreate reports whether a Service may get new slices. One that is being deleted gets none, or the garbage collector
// would have more and more to do. When a Service is gone, its slices go one after the other, and the cache may hear of
// that first; so if there were slices before, the server is asked.
func (r *sliceReconciler) mayCreate(ctx context.Context, service *corev1.Service, ask bool) (bool, error) {
	if !ask {
		return service.DeletionTimestamp == nil, nil
	}
	found := &corev1.Service{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(service), found)
	return err == nil && found.UID == service.UID && found.DeletionTimestamp == nil, client.IgnoreNotFound(err)
}

// create creates a slice under the next name. If there is a slice of that name which is none of the Service's, or is
// about to go, the name after it is tried.
func (r *sliceReconciler) create(ctx context.Context, service *corev1.Service, slice *discoveryv1.EndpointSlice, names *namer) (isOlder bool, err error) {
	for {
		slice.Name = names.next()
		isOlder, err = r.write(slice, func() error { return r.client.Create(ctx, slice) })
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return false, nil // the Service is about to go, too
		}
		if !apierrors.IsAlreadyExists(err) {
			return isOlder, wrap(err, "create", slice)
		}
		there := &discoveryv1.EndpointSlice{}
		switch lookup := r.live.Get(ctx, client.ObjectKeyFromObject(slice), there); {
		case apierrors.IsNotFound(lookup):
			return false, wrap(err, "create", slice)
		case lookup != nil:
			return false, wrap(lookup, "find out about", slice)
		case isSliceOf(there, service.Name) && there.DeletionTimestamp == nil:
			return false, wrap(err, "create", slice) // the cache is late; its event leads to another look
		}
	}
}

// write sends a write, and notes what its event will look like.
func (r *sliceReconciler) write(slice *discoveryv1.EndpointSlice, send func() error) (isOlder bool, err error) {
	key := client.ObjectKeyFromObject(slice)
	r.written.writes(key)
	if err := send(); err != nil {
		r.written.failedToWrite(key)
		return false, err
	}
	return r.written.wrote(key, slice.ResourceVersion, time.Time{}), nil
}

func wrap(err error, verb string, slice *discoveryv1.EndpointSlice) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the EndpointSlice %s: %w", verb, slice.Name, err)
}

// failed reports what has failed. That somebody else was faster is no news to anybody.
func (r *sliceReconciler) failed(service *corev1.Service, err error) error {
	if isNews(err) {
		r.events.Eventf(service, nil, corev1.EventTypeWarning, failedToUpdateSlices, "update",
			"Error updating Endpoint Slices for Service %s/%s: %v", service.Namespace, service.Name, err)
	}
	return err
}

// isNews reports whether one of the errors has another reason than that somebody else was faster.
func isNews(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			if isNews(one) {
				return true
			}
		}
		return false
	}
	return !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err)
}
