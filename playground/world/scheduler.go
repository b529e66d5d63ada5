package world

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/mini"
)

// scheduler puts each Pod on the node that fits and has the fewest. It has one worker.
type scheduler struct {
	client  *mini.CachedClient
	binding kubernetes.Interface
	assumed map[types.UID]string // nodes of Pods whose binding the cache may not show yet
}

// Reconcile binds a Pod that has no node.
func (s *scheduler) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	pod, err := mini.Get[*corev1.Pod](ctx, s.client, req)
	if err != nil {
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		delete(s.assumed, pod.UID)
		return mini.Result{}, nil
	}
	nodes, err := mini.List[*corev1.Node](ctx, s.client, mini.Selection{})
	if err != nil {
		return mini.Result{}, err
	}
	pods, err := mini.List[*corev1.Pod](ctx, s.client, mini.Selection{})
	if err != nil {
		return mini.Result{}, err
	}
	to := s.choose(pod, nodes, pods)
	if to == "" {
		return mini.Result{}, s.unschedulable(ctx, pod, len(nodes))
	}
	s.assumed[pod.UID] = to
	err = s.binding.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: to},
	}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return mini.Result{}, nil // deleted, or bound already: an event says so
	}
	return mini.Result{}, err
}

// choose returns the node with the fewest Pods of those that fit; nodes are sorted by name.
func (s *scheduler) choose(
	pod *corev1.Pod,
	nodes []*corev1.Node,
	pods []*corev1.Pod,
) (best string) {
	count := map[string]int{}
	for _, other := range pods {
		on := other.Spec.NodeName
		if on == "" {
			on = s.assumed[other.UID]
		}
		count[on]++
	}
	for _, n := range nodes {
		if fits(pod, n) && (best == "" || count[n.Name] < count[best]) {
			best = n.Name
		}
	}
	return best
}

func fits(pod *corev1.Pod, n *corev1.Node) bool {
	ready := false
	for _, c := range n.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !ready || n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		return false
	}
	for _, taint := range n.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(pod, taint) {
			return false
		}
	}
	return labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(n.Labels)) &&
		wants(pod, n)
}

func tolerates(pod *corev1.Pod, taint corev1.Taint) bool {
	for _, t := range pod.Spec.Tolerations {
		key := t.Key == taint.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists
		value := t.Operator == corev1.TolerationOpExists || t.Value == taint.Value
		if key && value && (t.Effect == "" || t.Effect == taint.Effect) {
			return true
		}
	}
	return false
}

// wants returns false if the Pod is for another node, as one of a DaemonSet is.
func wants(pod *corev1.Pod, n *corev1.Node) bool {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil ||
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == "metadata.name" && len(field.Values) == 1 && field.Values[0] == n.Name {
				return true
			}
		}
	}
	return false
}

// unschedulable says in the status why the Pod waits. The next change of a node brings it back.
func (s *scheduler) unschedulable(ctx context.Context, pod *corev1.Pod, nodes int) error {
	const reason = "Unschedulable"
	message := fmt.Sprintf("0/%d nodes are available", nodes)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == reason && c.Message == message {
			return nil
		}
	}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}}
	err := s.client.UpdateStatus(ctx, pod)
	if apierrors.IsConflict(err) {
		return nil
	}
	return mini.IgnoreNotFound(err)
}
