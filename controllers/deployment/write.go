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

// resize sets a ReplicaSet's size, and sends an event. With remembers, it writes the scale
// annotations even if the ReplicaSet has this size already.
func (s *deploymentSync) resize(
	ctx context.Context, rs *appsv1.ReplicaSet, to int32, remembers bool,
) error {
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
	s.events.Eventf(s.d, rs, corev1.EventTypeNormal, "ScalingReplicaSet", "Scale",
		"Scaled %s replica set %s from %d to %d", direction, rs.Name, from, to)
}

// change patches what differs in a ReplicaSet, if anything does. Then the rollout has the
// ReplicaSet that the API server returned.
func (s *deploymentSync) change(ctx context.Context, before, after *appsv1.ReplicaSet) error {
	operations := difference(before, after)
	if len(operations) == 0 {
		return nil
	}
	tests := stillIs(before)
	if replicasOf(after.Spec.Replicas) < replicasOf(before.Spec.Replicas) {
		tests = append(tests, stillServes(before))
	}
	data, err := json.Marshal(append(tests, operations...))
	if err != nil {
		panic(fmt.Sprintf("deployment: a patch cannot be written as JSON: %v", err))
	}
	written := after.DeepCopy()
	if err := s.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, data)); err != nil {
		s.unconfirmed.add(client.ObjectKeyFromObject(s.d), before.Name)
		if apierrors.IsInvalid(err) && s.hasChanged(ctx, before) {
			return errStale
		}
		return fmt.Errorf("changing the ReplicaSet %s: %w", before.Name, err)
	}
	s.replace(written)
	return nil
}

// hasChanged reports whether a ReplicaSet isn't what it was when it was read. In many rollouts, a
// patch is refused because of that, which isn't worth an error.
func (s *deploymentSync) hasChanged(ctx context.Context, rs *appsv1.ReplicaSet) bool {
	now := &appsv1.ReplicaSet{}
	err := s.live.Get(ctx, client.ObjectKeyFromObject(rs), now)
	return err == nil && now.ResourceVersion != rs.ResourceVersion
}

// operation is one operation of a JSON patch, RFC 6902.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// stillIs makes a patch fail if another client has changed the spec since it was read: the decision
// may be wrong then. It tests the generation and not the resourceVersion, as an update would,
// because the ReplicaSet controller writes the status all the time; see stillServes.
func stillIs(rs *appsv1.ReplicaSet) []operation {
	tests := []operation{
		{"test", "/metadata/uid", rs.UID}, {"test", "/metadata/generation", rs.Generation},
	}
	if rs.Annotations == nil { // the patch replaces all annotations
		tests = append(tests, operation{"test", "/metadata/resourceVersion", rs.ResourceVersion})
	}
	return tests
}

// stillServes makes a patch that takes Pods away fail if another number of them is available now. Say
// two of four weren't available, so two may go. If one of these has become available meanwhile, the
// ReplicaSet controller would delete it.
func stillServes(rs *appsv1.ReplicaSet) operation {
	test := operation{Op: "test", Path: "/status/availableReplicas"}
	if rs.Status.AvailableReplicas > 0 { // or it's missing, which is null
		test.Value = rs.Status.AvailableReplicas
	}
	return test
}

// difference returns the operations that turn before into after. It removes no annotation.
func difference(before, after *appsv1.ReplicaSet) (operations []operation) {
	if replicasOf(before.Spec.Replicas) != replicasOf(after.Spec.Replicas) {
		operations = append(operations, operation{"add", "/spec/replicas", *after.Spec.Replicas})
	}
	if before.Spec.MinReadySeconds != after.Spec.MinReadySeconds {
		operations = append(operations,
			operation{"add", "/spec/minReadySeconds", after.Spec.MinReadySeconds})
	}
	if before.Annotations == nil && len(after.Annotations) > 0 {
		return append(operations, operation{"add", "/metadata/annotations", after.Annotations})
	}
	for _, key := range slices.Sorted(maps.Keys(after.Annotations)) {
		if has, ok := before.Annotations[key]; !ok || has != after.Annotations[key] {
			operations = append(operations, operation{
				"add", "/metadata/annotations/" + escape.Replace(key), after.Annotations[key],
			})
		}
	}
	return operations
}

// escape escapes keys in the paths of a JSON patch, RFC 6901.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// collide finds out why the name of the new ReplicaSet is taken. If the Deployment owns that
// ReplicaSet, or will adopt it, the cache is late. Otherwise two templates have the same hash, or
// an earlier Deployment of this name has left the ReplicaSet behind; then collide increments
// collisionCount, which changes the hash.
func (s *deploymentSync) collide(ctx context.Context, name string) error {
	there := &appsv1.ReplicaSet{}
	if err := s.live.Get(
		ctx, client.ObjectKey{Namespace: s.d.Namespace, Name: name}, there,
	); apierrors.IsNotFound(err) {
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

// A client that reads its own writes waits for those that the API server has confirmed. A write
// that has failed may have happened all the same, because its answer was lost; or the API server
// refused it, because another client has changed the ReplicaSet, and the cache hasn't seen that
// yet. Either way the cache is behind. So the next reconcile first reads the ReplicaSet from the
// API server, and waits until the cache has it.
//
// The name of a Deployment's ReplicaSet follows from its template, so it's enough to remember the
// name. The ReplicaSet controller has to generate the names of its Pods for this.

// unconfirmedWrites has the names of the ReplicaSets with unconfirmed writes, by Deployment.
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

// open returns the names, sorted.
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

// settle reads each ReplicaSet with an unconfirmed write from the API server, and waits until the
// cache has that state.
func (r *reconciler) settle(ctx context.Context, deployment client.ObjectKey) error {
	for _, name := range r.unconfirmed.open(deployment) {
		if err := r.catchUp(
			ctx, client.ObjectKey{Namespace: deployment.Namespace, Name: name},
		); err != nil {
			return fmt.Errorf("what has become of the ReplicaSet %s? %w", name, err)
		}
	}
	r.unconfirmed.settled(deployment)
	return nil
}

func (r *reconciler) catchUp(ctx context.Context, key client.ObjectKey) error {
	rs := &appsv1.ReplicaSet{}
	switch err := r.live.Get(ctx, key, rs); {
	case client.IsAbsent(err, key):
		return r.waiter.WaitForEnd(ctx, &appsv1.ReplicaSet{}, key, func(client.Object) bool {
			return true
		})
	case err != nil:
		return err
	}
	return r.waiter.WaitFor(ctx, rs, key, rs.ResourceVersion)
}
