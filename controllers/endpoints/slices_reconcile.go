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

// sliceReconciler reconciles the EndpointSlices of Services. Its memory may be lost.
type sliceReconciler struct {
	client   client.Client // reads from the cache, its own writes included
	live     client.Reader // reads from the API server
	events   events.EventRecorder
	most     int
	services memory // times and rests, by Service
	written  memory // versions, by slice
}

// failedToUpdateSlices is the reason of events.
const failedToUpdateSlices = "FailedToUpdateEndpointSlices"

// Reconcile writes the EndpointSlices of a Service. It reads them first, because this read may wait
// for the controller's last write.
func (r *sliceReconciler) Reconcile(
	ctx context.Context, request reconcile.Request,
) (reconcile.Result, error) {
	name := request.NamespacedName
	if rest := time.Until(r.services.about(name).restEnd); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	var list discoveryv1.EndpointSliceList
	if err := r.client.List(
		ctx, &list, client.InNamespace(name.Namespace),
		client.MatchingFields{sliceIndex: name.Name}, client.UnsafeDisableDeepCopy,
	); err != nil {
		return reconcile.Result{}, fmt.Errorf("finding the EndpointSlices of the Service: %w", err)
	}
	service := &corev1.Service{}
	if err := r.client.Get(
		ctx, name, service, client.UnsafeDisableDeepCopy,
	); apierrors.IsNotFound(err) {
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
	isOlder, err := r.carryOut(ctx, service, have,
		planOf(wantedOf(service, pods, nodes), have, r.most), seen)
	if err != nil {
		return reconcile.Result{}, r.failed(service, err)
	}
	r.services.looked(name, seen)
	if isOlder {
		return reconcile.Result{
			RequeueAfter: max(time.Until(r.services.about(name).restEnd), time.Nanosecond),
		}, nil
	}
	return reconcile.Result{}, nil
}

// nodesOf returns the Nodes of these Pods that exist.
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
		if err := r.client.Get(
			ctx, client.ObjectKey{Name: name}, node, client.UnsafeDisableDeepCopy,
		); err == nil {
			all[name] = node.Labels[corev1.LabelTopologyZone]
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("finding the Node of the Pod %s: %w", pod.Name, err)
		}
	}
	return all, nil
}

// carryOut writes a plan: first it creates, last it deletes. It tries all writes even if one fails.
// isOlder is true if another client has written one of the slices meanwhile.
//
// An update or a delete has the resourceVersion of the slice that was compared. So it's a conflict
// if another client has changed the slice, or if the cache is late.
func (r *sliceReconciler) carryOut(
	ctx context.Context, service *corev1.Service, have []*discoveryv1.EndpointSlice, p plan,
	seen *times,
) (isOlder bool, err error) {
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
	if create, err := r.mayCreate(
		ctx, service, before.times != nil && len(p.create) > 0,
	); err != nil {
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
		err := r.client.Delete(ctx, slice.DeepCopy(), conditions)
		if !client.IsAbsent(err, client.ObjectKeyFromObject(slice)) {
			failures = append(failures, wrap(err, "delete", slice))
		}
	}
	r.services.rests(name, time.Now().Add(time.Duration(written)*restPerAddress))
	return isOlder, errors.Join(failures...)
}

// mayCreate reports whether to create slices for a Service. One that is being deleted gets none,
// because the garbage collector would have to delete them, too. It deletes the slices of a deleted
// Service one after another, and the cache may see that before the end of the Service; so if the
// Service was reconciled before, mayCreate asks the API server.
func (r *sliceReconciler) mayCreate(
	ctx context.Context, service *corev1.Service, ask bool,
) (bool, error) {
	if !ask {
		return service.DeletionTimestamp == nil, nil
	}
	found, name := &corev1.Service{}, client.ObjectKeyFromObject(service)
	err := r.live.Get(ctx, name, found)
	if client.IsAbsent(err, name) {
		return false, nil
	}
	return err == nil && found.UID == service.UID && found.DeletionTimestamp == nil, err
}

// create creates a slice under the next name. If a slice of that name exists that doesn't belong
// to the Service, or is being deleted, it tries the name after it.
func (r *sliceReconciler) create(
	ctx context.Context, service *corev1.Service, slice *discoveryv1.EndpointSlice, names *namer,
) (isOlder bool, err error) {
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
			// the cache is late; its event leads to another reconcile
			return false, wrap(err, "create", slice)
		}
	}
}

// write sends a write, and notes its version, so that isOwnWrite recognises its event.
func (r *sliceReconciler) write(
	slice *discoveryv1.EndpointSlice, send func() error,
) (isOlder bool, err error) {
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

// failed sends an event about the errors, unless all of them are lost races against other clients.
func (r *sliceReconciler) failed(service *corev1.Service, err error) error {
	if isNews(err) {
		r.events.Eventf(service, nil, corev1.EventTypeWarning, failedToUpdateSlices, "update",
			"Error updating Endpoint Slices for Service %s/%s: %v",
			service.Namespace, service.Name, err)
	}
	return err
}

// isNews reports whether one of the errors isn't a lost race against another client.
func isNews(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			if isNews(one) {
				return true
			}
		}
		return false
	}
	return !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) &&
		!apierrors.IsNotFound(err)
}
