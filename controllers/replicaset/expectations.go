package replicaset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// A client that reads its own writes waits for those that the API server has confirmed. But an
// answer can get lost after the write has happened: the connection broke, or the API server ran
// into a time-out. A controller that then counted the Pods in the cache would create the Pod a
// second time.
//
// So the controller remembers such a write as unconfirmed, and asks the API server about it before
// it counts again. For this it must know the new Pod's name, so it generates the name itself, as
// the API server would from generateName. If the API server says that the name is free, the
// controller uses it again. So even a request that a proxy delivers late does no harm: one of the
// two creations fails, because the name is taken.

// unconfirmedWrites has the writes whose outcome isn't known, by ReplicaSet.
type unconfirmedWrites struct {
	mu sync.Mutex // guards of
	of map[client.ObjectKey]*unconfirmedOf
}

// unconfirmedOf has those of one ReplicaSet. Only its own reconcile uses them, but in several
// goroutines.
type unconfirmedOf struct {
	created []string             // names of Pods that may exist
	deleted map[string]types.UID // Pods, by name, that may be gone
	free    []string             // names that turned out to be free
}

func (d *unconfirmedWrites) change(set client.ObjectKey, change func(*unconfirmedOf)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.of[set]
	if of == nil {
		of = &unconfirmedOf{deleted: map[string]types.UID{}}
	}
	change(of)
	if d.of == nil {
		d.of = map[client.ObjectKey]*unconfirmedOf{}
	}
	if d.of[set] = of; len(of.created)+len(of.deleted)+len(of.free) == 0 {
		delete(d.of, set)
	}
}

func (d *unconfirmedWrites) mayHaveCreated(set client.ObjectKey, pod string) {
	d.change(set, func(of *unconfirmedOf) { of.created = append(of.created, pod) })
}

func (d *unconfirmedWrites) mayHaveDeleted(set client.ObjectKey, pod string, uid types.UID) {
	d.change(set, func(of *unconfirmedOf) { of.deleted[pod] = uid })
}

// takeFree returns a name of an unconfirmed creation that didn't happen.
func (d *unconfirmedWrites) takeFree(set client.ObjectKey) (name string, ok bool) {
	d.change(set, func(of *unconfirmedOf) {
		if ok = len(of.free) > 0; ok {
			name, of.free = of.free[0], of.free[1:]
		}
	})
	return name, ok
}

// open returns the unconfirmed writes, and forgets the free names, which the last reconcile didn't
// need.
func (d *unconfirmedWrites) open(
	set client.ObjectKey,
) (created []string, deleted map[string]types.UID) {
	d.change(set, func(of *unconfirmedOf) {
		created, deleted = slices.Clone(of.created), make(map[string]types.UID, len(of.deleted))
		for name, uid := range of.deleted {
			deleted[name] = uid
		}
		of.free = nil
	})
	return created, deleted
}

func (d *unconfirmedWrites) settled(set client.ObjectKey, pod string, isFree bool) {
	d.change(set, func(of *unconfirmedOf) {
		of.created = slices.DeleteFunc(of.created, func(name string) bool { return name == pod })
		delete(of.deleted, pod)
		if isFree {
			of.free = append(of.free, pod)
		}
	})
}

// forget is for a ReplicaSet that was deleted.
func (d *unconfirmedWrites) forget(set client.ObjectKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, set)
}

// mayHaveHappened reports whether a write that has failed may have happened all the same. With a
// status of 4xx, except for 408, the API server has refused it; with 5xx it may have done it. Any
// other error means that there was no answer, and so does one that isn't the API server's: a proxy
// may have passed the request on.
func mayHaveHappened(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return true
	}
	code := status.Status().Code
	return code < http.StatusBadRequest || code >= http.StatusInternalServerError ||
		code == http.StatusRequestTimeout
}

// settle asks the API server about all unconfirmed writes for a ReplicaSet, and waits until the
// cache has the answers. After that, the cache has the outcome of every unconfirmed write.
func (r *reconciler) settle(ctx context.Context, set client.ObjectKey) error {
	created, deleted := r.unconfirmed.open(set)
	for _, name := range created {
		pod, err := r.ask(ctx, set.Namespace, name)
		if err == nil && pod != nil {
			err = r.waiter.WaitFor(ctx, pod, client.ObjectKeyFromObject(pod), pod.ResourceVersion)
		}
		if err != nil {
			return fmt.Errorf("was the Pod %s created? %w", name, err)
		}
		r.unconfirmed.settled(set, name, pod == nil)
	}
	for name, uid := range deleted {
		pod, err := r.ask(ctx, set.Namespace, name)
		switch {
		case err != nil:
		case pod == nil || pod.UID != uid:
			key := client.ObjectKey{Namespace: set.Namespace, Name: name}
			err = r.waiter.WaitForEnd(ctx, &corev1.Pod{}, key, func(o client.Object) bool {
				return o.GetUID() == uid
			})
		default:
			err = r.waiter.WaitFor(ctx, pod, client.ObjectKeyFromObject(pod), pod.ResourceVersion)
		}
		if err != nil {
			return fmt.Errorf("was the Pod %s deleted? %w", name, err)
		}
		r.unconfirmed.settled(set, name, false)
	}
	return nil
}

// ask reads a Pod from the API server. It returns nil if there's none of that name.
func (r *reconciler) ask(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, key := &corev1.Pod{}, client.ObjectKey{Namespace: namespace, Name: name}
	switch err := r.live.Get(ctx, key, pod); {
	case client.IsAbsent(err, key):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return pod, nil
}

// A client that reads its own writes waits in each list for all its writes in the namespace, those
// for other ReplicaSets included. With five workers that write all the time, each would always wait
// for the others. So a reconcile waits only if the controller has written something for this
// ReplicaSet since the last reconcile that waited.

// expectations has the ReplicaSets for which the controller expects to see a write of its own,
// because no reconcile has waited for it yet.
type expectations struct {
	mu   sync.Mutex // guards sets
	sets map[client.ObjectKey]bool
}

// mark is called before a write, because even a write whose answer gets lost counts.
func (u *expectations) mark(set client.ObjectKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sets == nil {
		u.sets = map[client.ObjectKey]bool{}
	}
	u.sets[set] = true
}

func (u *expectations) has(set client.ObjectKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sets[set]
}

// forget is called after a list that has waited.
func (u *expectations) forget(set client.ObjectKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sets, set)
}
