package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// resize gives a ReplicaSet another size, and reports that. remembers writes down how large the Deployment is even if
// the ReplicaSet has its size already.
func (s *deploymentSync) resize(ctx context.Context, rs *appsv1.ReplicaSet, to int32, remembers bool) error {
	from := replicasOf(rs.Spec.Replicas)
	if from == to && (!remembers || to == 0) {
		return nil
	}
	after := rs.DeepCopy()
	after.Spec.Replicas = &to
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	maps.Copy(after.Annotations, scaleAnnotations(s.d))
	if err := s.change(ctx, rs, after); err != nil {
		return err
	}
	if from != to {
		s.tellScaled(after, from, to)
	}
	return nil
}

func (s *deploymentSync) tellScaled(rs *appsv1.ReplicaSet, from, to int32) {
	direction := "up"
	if to < from {
		direction = "down"
	}
	s.events.Eventf(s.d, rs, corev1.EventTypeNormal, "ScalingReplicaSet", "Scale", "Scaled %s replica set %s from %d to %d", direction, rs.Name, from, to)
}

// change writes what differs in a ReplicaSet, if anything does. The family has the answer then.
func (s *deploymentSync) change(ctx context.Context, before, after *appsv1.ReplicaSet) error {
	operations := difference(before, after)
	if len(operations) == 0 {
		return nil
	}
	data, err := json.Marshal(append(stillIs(before), operations...))
	if err != nil {
		panic(fmt.Sprintf("deployment: a patch cannot be written as JSON: %v", err))
	}
	written := after.DeepCopy()
	if err := s.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, data)); err != nil {
		s.unconfirmed.add(client.ObjectKeyFromObject(s.d), before.Name)
		return fmt.Errorf("changing the ReplicaSet %s: %w", before.Name, err)
	}
	s.replace(written)
	return nil
}

// operation is one of those of a JSON patch, RFC 6902.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// stillIs lets a patch fail if somebody has changed the specification since: what was decided may be wrong
// then. It does not compare the whole version, as an update would, because the ReplicaSet controller writes the
// status all the time.
func stillIs(rs *appsv1.ReplicaSet) []operation {
	tests := []operation{{"test", "/metadata/uid", rs.UID}, {"test", "/metadata/generation", rs.Generation}}
	if rs.Annotations == nil { // then the patch replaces all of them
		tests = append(tests, operation{"test", "/metadata/resourceVersion", rs.ResourceVersion})
	}
	return tests
}

// difference is what a patch has to do. Of the annotations, it writes those that differ, and removes none.
func difference(before, after *appsv1.ReplicaSet) (operations []operation) {
	if replicasOf(before.Spec.Replicas) != replicasOf(after.Spec.Replicas) {
		operations = append(operations, operation{"add", "/spec/replicas", *after.Spec.Replicas})
	}
	if before.Spec.MinReadySeconds != after.Spec.MinReadySeconds {
		operations = append(operations, operation{"add", "/spec/minReadySeconds", after.Spec.MinReadySeconds})
	}
	if before.Annotations == nil && len(after.Annotations) > 0 {
		return append(operations, operation{"add", "/metadata/annotations", after.Annotations})
	}
	for _, key := range slices.Sorted(maps.Keys(after.Annotations)) {
		if has, ok := before.Annotations[key]; !ok || has != after.Annotations[key] {
			operations = append(operations, operation{"add", "/metadata/annotations/" + escape.Replace(key), after.Annotations[key]})
		}
	}
	return operations
}

// escape is for keys in paths of a JSON patch, RFC 6901.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// collide finds out why there is a ReplicaSet already with the name that the new one should get. If it is the
// Deployment's own, or an orphan that it will adopt, the cache is late. If not, two templates have the same hash, or
// a Deployment of this name has left it behind: the next one gets another hash.
func (s *deploymentSync) collide(ctx context.Context, name string) error {
	there := &appsv1.ReplicaSet{}
	if err := s.live.Get(ctx, client.ObjectKey{Namespace: s.d.Namespace, Name: name}, there); apierrors.IsNotFound(err) {
		return errStale
	} else if err != nil {
		return fmt.Errorf("whose is the ReplicaSet %s, which is in the way? %w", name, err)
	}
	if sameTemplate(&there.Spec.Template, &s.d.Spec.Template) && s.mayOwn(there) {
		s.unconfirmed.add(client.ObjectKeyFromObject(s.d), name)
		return errStale
	}
	status := *s.d.Status.DeepCopy()
	status.CollisionCount = new(int32(1))
	if s.d.Status.CollisionCount != nil {
		*status.CollisionCount += *s.d.Status.CollisionCount
	}
	if err := s.report(ctx, status); err != nil {
		return err
	}
	return errStale
}

func (s *deploymentSync) mayOwn(rs *appsv1.ReplicaSet) bool {
	if controller := metav1.GetControllerOfNoCopy(rs); controller != nil {
		return controller.UID == s.d.UID
	}
	selector, err := metav1.LabelSelectorAsSelector(s.d.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(rs.Labels)) && rs.DeletionTimestamp == nil
}

// A client that reads its own writes knows those that the server has confirmed. A write that has failed may have
// happened all the same, because its answer was lost; or it was refused, because somebody else has changed the
// ReplicaSet, and the cache does not know that yet. Either way the cache is behind. So the next reconcile first asks the
// server about the ReplicaSet, and waits for the cache.
//
// The ReplicaSet controller has to make up names for this. The name of a Deployment's ReplicaSet follows from its
// template, so it is enough to remember it.

// unconfirmedWrites are the names of the ReplicaSets that the cache may show in an older state than the server's.
type unconfirmedWrites struct {
	mu sync.Mutex // guards of
	of map[client.ObjectKey]map[string]struct{}
}

func (d *unconfirmedWrites) add(deployment client.ObjectKey, replicaSet string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[client.ObjectKey]map[string]struct{}{}
	}
	if d.of[deployment] == nil {
		d.of[deployment] = map[string]struct{}{}
	}
	d.of[deployment][replicaSet] = struct{}{}
}

// open are the names, in their order.
func (d *unconfirmedWrites) open(deployment client.ObjectKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.of[deployment]))
}

func (d *unconfirmedWrites) settled(deployment client.ObjectKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, deployment)
}

// settle asks the server about all unconfirmed writes for a Deployment, and waits until the cache has the answer.
func (r *reconciler) settle(ctx context.Context, deployment client.ObjectKey) error {
	for _, name := range r.unconfirmed.open(deployment) {
		if err := r.catchUp(ctx, client.ObjectKey{Namespace: deployment.Namespace, Name: name}); err != nil {
			return fmt.Errorf("what has become of the ReplicaSet %s? %w", name, err)
		}
	}
	r.unconfirmed.settled(deployment)
	return nil
}

func (r *reconciler) catchUp(ctx context.Context, key client.ObjectKey) error {
	rs := &appsv1.ReplicaSet{}
	switch err := r.live.Get(ctx, key, rs); {
	case apierrors.IsNotFound(err):
		return r.waiter.WaitForEnd(ctx, &appsv1.ReplicaSet{}, key, func(client.Object) bool { return true })
	case err != nil:
		return err
	}
	return r.waiter.WaitFor(ctx, rs, key, rs.ResourceVersion)
}
