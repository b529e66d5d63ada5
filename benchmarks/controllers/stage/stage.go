package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Stage is one namespace of a world, in which one scenario is played.
type Stage struct {
	Namespace string
	// Client acts as the user of the scenario.
	Client kubernetes.Interface
	// Note is what one step of the scenario writes down for a later one.
	Note string

	world *World
	pods  chan *corev1.Pod // sent to by watches, received from by the kubelet; closed never. It is large, so that a watch does not wait

	mu        sync.Mutex // guards what follows
	objects   map[Ref]Object
	log       []Change
	marks     []uint64           // the newest version when a step had settled
	last      time.Time          // of the last change that is not an Event
	addresses map[types.UID]int  // of Pods
	byUser    map[types.UID]bool // what the scenario has deleted itself
	err       error              // why the kubelet has stopped
}

// NewStage makes a namespace.
func (w *World) NewStage(ctx context.Context, namespace string) (*Stage, error) {
	s := &Stage{
		Namespace: namespace, Client: w.user, world: w, pods: make(chan *corev1.Pod, 100_000),
		objects: map[Ref]Object{}, addresses: map[types.UID]int{}, byUser: map[types.UID]bool{}, last: time.Now(),
	}
	w.mu.Lock()
	w.stages[namespace] = s
	w.mu.Unlock()
	if _, err := w.user.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("making the namespace %s: %w", namespace, err)
	}
	return s, Poll(ctx, "the ServiceAccount of "+namespace, func() error {
		_, err := w.user.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// Kubelet plays the Pods until the context ends.
func (s *Stage) Kubelet(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case pod := <-s.pods:
			if err := s.perform(ctx, pod); err != nil && ctx.Err() == nil {
				s.mu.Lock()
				s.err = fmt.Errorf("playing the kubelet of Pod %s: %w", pod.Name, err)
				s.mu.Unlock()
				return
			}
		}
	}
}

// End forgets the namespace, and has it deleted.
func (s *Stage) End(ctx context.Context) error {
	s.world.mu.Lock()
	delete(s.world.stages, s.Namespace)
	s.world.mu.Unlock()
	for _, pod := range s.Pods(func(*corev1.Pod) bool { return true }) {
		if len(pod.Finalizers) > 0 {
			_, _ = s.Client.CoreV1().Pods(s.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		_ = s.endPod(ctx, pod) // nobody plays it any more; it may be gone
	}
	if err := s.world.removeNodes(ctx, s.Namespace); err != nil {
		return err
	}
	err := s.Client.CoreV1().Namespaces().Delete(ctx, s.Namespace, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the scenario has deleted it
		return nil
	}
	return err
}

// see is called by one watch at a time for each kind.
func (s *Stage) see(change Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, change)
	if change.Type == watch.Deleted {
		delete(s.objects, change.ref())
	} else {
		s.objects[change.ref()] = change.Object
	}
	if change.Kind == Event {
		return
	}
	s.last = time.Now()
	if pod, ok := change.Object.(*corev1.Pod); ok && change.Type != watch.Deleted && duty(pod) != nothing && !s.world.isSilent(pod.Spec.NodeName) {
		s.pods <- pod
	}
}

// Deletes notes that the scenario deletes an object itself.
func (s *Stage) Deletes(object Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byUser[object.GetUID()] = true
}

// Objects are the newest states, by kind and name.
func (s *Stage) Objects() []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]Ref, 0, len(s.objects))
	for ref := range s.objects {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	all := make([]Object, len(refs))
	for i, ref := range refs {
		all[i] = s.objects[ref]
	}
	return all
}

// Pods are those that fit, in the order of their names.
func (s *Stage) Pods(fits func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	for _, object := range s.Objects() {
		if pod, ok := object.(*corev1.Pod); ok && fits(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// ReplicaSets are those that fit, in the order of their names.
func (s *Stage) ReplicaSets(fits func(*appsv1.ReplicaSet) bool) (sets []*appsv1.ReplicaSet) {
	for _, object := range s.Objects() {
		if set, ok := object.(*appsv1.ReplicaSet); ok && fits(set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// Log is all that has happened, in the order in which it happened.
func (s *Stage) Log() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := slices.Clone(s.log)
	slices.SortStableFunc(log, func(a, b Change) int { return cmp.Compare(a.Version, b.Version) })
	return log
}

// Poll calls try until it succeeds. It is for what no watch of the stage shows.
func Poll(ctx context.Context, what string, try func() error) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}
