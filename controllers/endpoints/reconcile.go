package endpoints

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// reconciler reconciles the Endpoints of Services.
type reconciler struct {
	client client.Client // reads from the cache, its own writes included
	live   client.Reader // reads from the API server
	events events.EventRecorder
	memory memory
}

// Reasons of events.
const (
	failedToCreate = "FailedToCreateEndpoint"
	failedToUpdate = "FailedToUpdateEndpoint"
)

// Reconcile writes the Endpoints of a Service.
//
// It reads the Endpoints first: this read may wait for the controller's last write, and an object
// that was read before the wait could be out of date after it.
func (r *reconciler) Reconcile(
	ctx context.Context, request reconcile.Request,
) (reconcile.Result, error) {
	name := request.NamespacedName
	if rest := time.Until(r.memory.about(name).restEnd); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	current := &corev1.Endpoints{}
	if err := r.client.Get(
		ctx, name, current, client.UnsafeDisableDeepCopy,
	); apierrors.IsNotFound(err) {
		current = nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	service := &corev1.Service{}
	if err := r.client.Get(
		ctx, name, service, client.UnsafeDisableDeepCopy,
	); apierrors.IsNotFound(err) {
		r.memory.forget(name)
		return reconcile.Result{}, r.remove(ctx, name)
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
	return r.serve(ctx, service, pods, current)
}

// isServed reports whether the controller writes Endpoints for a Service. Without a selector, they
// belong to the user. If a user removes the selector, the controller leaves the Endpoints as they
// are.
func isServed(service *corev1.Service) bool {
	return len(service.Spec.Selector) > 0 && service.Spec.Type != corev1.ServiceTypeExternalName
}

func selectedBy(
	ctx context.Context, cache client.Reader, service *corev1.Service,
) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := cache.List(ctx, &list, client.InNamespace(service.Namespace),
		client.MatchingLabels(service.Spec.Selector), client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("finding the Pods that the Service selects: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// serve writes the Endpoints, unless they are right already. An update has the resourceVersion of
// the object that was compared. So if another client has changed the Endpoints, or if the cache is
// late, the update is a conflict, and the Service is reconciled again.
func (r *reconciler) serve(
	ctx context.Context, service *corev1.Service, pods []*corev1.Pod, current *corev1.Endpoints,
) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(service)
	want, seen := contentOf(service, pods), timesOf(service, pods)
	if current != nil && want.isIn(current) {
		r.memory.looked(name, seen)
		return reconcile.Result{}, nil
	}
	before := r.memory.about(name)
	if current == nil && before.times != nil {
		if is, err := r.isThere(ctx, service); !is || err != nil {
			return reconcile.Result{}, err
		}
	}
	next := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
	}
	if current != nil {
		current.ObjectMeta.DeepCopyInto(&next.ObjectMeta)
	}
	want.writeTo(next, seen.trigger(before.times))
	r.memory.writes(name)
	var err error
	if current == nil {
		err = r.failed(r.client.Create(ctx, next), next, failedToCreate, "create")
	} else {
		err = r.failed(r.client.Update(ctx, next), next, failedToUpdate, "update")
	}
	if err != nil {
		r.memory.failedToWrite(name)
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return reconcile.Result{}, nil // the Service is about to go, too
	} else if err != nil {
		return reconcile.Result{}, err
	}
	r.memory.looked(name, seen)
	rest := restAfter(next.Subsets)
	if r.memory.wrote(name, next.ResourceVersion, time.Now().Add(rest)) {
		return reconcile.Result{RequeueAfter: max(rest, time.Nanosecond)}, nil
	}
	return reconcile.Result{}, nil
}

// isThere asks the API server whether a Service whose Endpoints have disappeared still exists. An
// API server that deletes a Service deletes its Endpoints, too, and the cache may see that first. A
// controller that then created them again would have to delete them again.
func (r *reconciler) isThere(ctx context.Context, service *corev1.Service) (bool, error) {
	found, name := &corev1.Service{}, client.ObjectKeyFromObject(service)
	err := r.live.Get(ctx, name, found)
	if client.IsAbsent(err, name) {
		return false, nil
	}
	return err == nil && found.UID == service.UID, err
}

// failed sends an event about a write that has failed, except for a lost race against another
// client, and in a namespace that is being deleted.
func (r *reconciler) failed(err error, endpoints *corev1.Endpoints, reason, verb string) error {
	switch {
	case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
	default:
		r.events.Eventf(endpoints, nil, corev1.EventTypeWarning, reason, verb,
			"Failed to %s endpoint for service %s/%s: %v",
			verb, endpoints.Namespace, endpoints.Name, err)
	}
	return fmt.Errorf("%s the Endpoints: %w", verb, err)
}

// remove deletes the Endpoints of a Service that is gone, even if a user wrote them. Most often
// there's nothing left to do: an API server that deletes a Service deletes its Endpoints, too.
//
// It asks the API server, because the cache may be late. If there's a new Service of that name,
// its event will come. The deletion has the version that was read: a user may be about to use the
// object for something else.
func (r *reconciler) remove(ctx context.Context, name client.ObjectKey) error {
	if err := r.live.Get(ctx, name, &corev1.Service{}); !client.IsAbsent(err, name) {
		return err
	}
	left := &corev1.Endpoints{}
	err := r.live.Get(ctx, name, left)
	switch {
	case client.IsAbsent(err, name):
		return nil
	case err != nil:
		return fmt.Errorf("read the Endpoints of a deleted Service: %w", err)
	case isElection(left):
		return nil
	}
	err = r.client.Delete(ctx, left,
		client.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion})
	if err != nil && !client.IsAbsent(err, name) {
		return fmt.Errorf("delete the Endpoints of a deleted Service: %w", err)
	}
	return nil
}

// leaderAnnotation marks an object that is a lock. Programs with a client-go before 0.24 may use
// Endpoints for leader election, without a Service of that name.
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

func isElection(endpoints *corev1.Endpoints) bool {
	_, ok := endpoints.Annotations[leaderAnnotation]
	return ok
}

// memory is what the controller remembers about Services. It may be lost: it's only needed for an
// annotation, and to save work.
type memory struct {
	mu sync.Mutex // guards of
	of map[client.ObjectKey]remembered
}

// remembered is about one Service.
type remembered struct {
	times   *times // of the last successful reconcile
	version string // of the controller's last write
	restEnd time.Time

	isWriting bool   // a write is in flight
	seen      string // the version in the last event since the write was sent
}

func (m *memory) about(service client.ObjectKey) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[service]
}

// looked notes the times of a reconcile that succeeded. The times of a failed one must stay new
// until the next try.
func (m *memory) looked(service client.ObjectKey, seen *times) {
	m.change(service, func(r *remembered) { r.times = seen })
}

// rests notes until when not to write for a Service again.
func (m *memory) rests(service client.ObjectKey, until time.Time) {
	m.change(service, func(r *remembered) { r.restEnd = until })
}

// writes notes that a write will be sent. Its event may come before its answer.
func (m *memory) writes(service client.ObjectKey) {
	m.change(service, func(r *remembered) { r.isWriting, r.seen = true, "" })
}

// wrote notes the answer, and reports whether another client has written since. A write by another
// client before that would have made this one a conflict.
func (m *memory) wrote(service client.ObjectKey, version string, restEnd time.Time) (isOlder bool) {
	m.change(service, func(r *remembered) {
		isOlder = r.seen != "" && r.seen != version
		r.version, r.restEnd, r.isWriting = version, restEnd, false
	})
	return isOlder
}

func (m *memory) failedToWrite(service client.ObjectKey) {
	m.change(service, func(r *remembered) { r.isWriting = false })
}

// isOwnWrite reports whether the controller has written this version. While a write is in flight,
// it returns true for any, and wrote finds out.
func (m *memory) isOwnWrite(service client.ObjectKey, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.of[service]
	if ok && r.isWriting {
		r.seen = version
		m.of[service] = r
	}
	return ok && (r.isWriting || r.version == version)
}

func (m *memory) change(service client.ObjectKey, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[client.ObjectKey]remembered{}
	}
	about := m.of[service]
	change(&about)
	m.of[service] = about
}

func (m *memory) forget(service client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, service)
}
