package simulation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

// Kubelet plays the scheduler and the kubelets until the World ends: a second after a change it binds
// Pods, starts them and ends those that are being deleted. A Pod for which starts returns false doesn't
// become ready; if starts is nil, all do.
func (w *World) Kubelet(starts func(*corev1.Pod) bool) {
	ctx := context.Background()
	for {
		changed := w.Server.Changed()
		for i, pod := range w.Pods() {
			switch {
			case pod.DeletionTimestamp != nil:
				err := w.Live.Delete(ctx, pod,
					client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
				w.OthersDid(client.IgnoreNotFound(err), "kubelet: ends a Pod", pod.Name)
			case pod.Status.Phase != corev1.PodPending:
			case pod.Spec.NodeName == "":
				binding := &corev1.Binding{
					ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
					Target:     corev1.ObjectReference{Kind: "Node", Name: fmt.Sprint("n", i%3)},
				}
				w.OthersDid(w.Live.SubResource("binding").Create(ctx, pod, binding),
					"kubelet: binds a Pod", pod.Name)
			case starts == nil || starts(pod):
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(w.kubeletsNow()),
				}}
				w.OthersDid(w.Live.Status().Update(ctx, pod), "kubelet: starts a Pod", pod.Name)
			}
		}
		select {
		case <-w.done:
			return
		case <-changed:
		}
		select {
		case <-w.done:
			return
		case <-time.After(time.Second):
		}
	}
}

// Pods returns all Pods, in the order of their names.
func (w *World) Pods() []*corev1.Pod {
	stored := w.Server.Objects(corev1.Resource("pods"))
	pods := make([]*corev1.Pod, len(stored))
	for i := range stored {
		pods[i] = stored[i].(*corev1.Pod).DeepCopy()
	}
	return pods
}

// Collect plays the garbage collector for ten minutes, which is longer than a controller's cache
// may still show a deleted owner. It deletes what garbage returns.
func (w *World) Collect(garbage func() []client.Object) {
	begun := time.Now()
	w.Go(func() {
		for last := uint64(0); time.Since(begun) < 10*time.Minute; {
			select {
			case <-w.done:
				return
			case <-time.After(2 * time.Second):
			}
			now := w.Server.ResourceVersion()
			if now == last {
				continue
			}
			last = now
			for _, object := range garbage() {
				uid := object.GetUID()
				w.OthersDid(w.Live.Delete(context.Background(), object,
					client.Preconditions{UID: &uid}), "garbage collector: delete", object.GetName())
			}
		}
	})
}

// OthersDid counts a write of a user or a kubelet. It accepts errors that mean that another client
// was faster.
func (w *World) OthersDid(err error, what, name string) {
	if err != nil {
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
			w.T.Errorf("%s %s: %v", what, name, err)
		}
		return
	}
	w.Count(what)
	w.Tell("%s: %s", what, name)
}

// jump sets how far the kubelets' clocks are ahead.
func (w *World) jump(ahead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skew = ahead
}

func (w *World) kubeletsNow() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.skew)
}
