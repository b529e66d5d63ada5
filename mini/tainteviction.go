package mini

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TaintEviction is the controller that deletes Pods from nodes whose taints they don't
// tolerate, or no longer tolerate.
//
// Guarantees: the time that a Pod tolerates a taint counts from the taint, so it also
// passes while no controller runs. If the taint is removed before the time is up, the Pod
// stays.
//
// Caveats: it ignores disruption budgets, because the node already has a problem.
type TaintEviction struct {
	client *CachedClient
}

// NewTaintEvictionController returns the controller with its watches. Add it to m. It
// reconciles nodes: a request has the name of one.
func NewTaintEvictionController(m *Manager) (*Controller, error) {
	nodes := m.Informer(&corev1.Node{})
	pods := m.Informer(&corev1.Pod{})
	c := m.NewController("tainteviction", 5, &TaintEviction{m.Client})
	c.Watch(nodes, EnqueueObject)
	c.Watch(pods, EnqueueMapped(nodeOf))
	return c, m.err
}

// nodeOf enqueues a Pod's node. For a Pod without one that's "", and no node has that
// name.
func nodeOf(pod Object) []Request {
	return []Request{{Name: pod.(*corev1.Pod).Spec.NodeName}}
}

// Reconcile evicts those Pods of one node whose time is up.
func (e *TaintEviction) Reconcile(ctx context.Context, req Request) (Result, error) {
	node, err := Get[*corev1.Node](ctx, e.client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if !slices.ContainsFunc(node.Spec.Taints, isNoExecute) {
		return Result{}, nil
	}
	// A cache may be late, and you can't undo an eviction: is the taint still there?
	if err := e.client.Client.Get(ctx, req, node); err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	// kubectl taint doesn't write a time, but toleration seconds need one to count from.
	now, timeless := metav1.Now(), false
	for i, t := range node.Spec.Taints {
		if isNoExecute(t) && t.TimeAdded == nil {
			node.Spec.Taints[i].TimeAdded, timeless = &now, true
		}
	}
	if timeless {
		if err := setTaints(ctx, e.client, node); err != nil {
			return Result{}, IgnoreNotFound(err)
		}
	}
	pods, err := listByIndex[*corev1.Pod](ctx, e.client, ByNode, node.Name)
	if err != nil {
		return Result{}, err
	}
	var next time.Duration
	for _, pod := range pods {
		at, leaves := evictionTime(pod, node.Spec.Taints)
		switch wait := at.Sub(now.Time); {
		case !leaves || isEnding(pod):
		case wait <= 0:
			err = errors.Join(err, IgnoreNotFound(e.evict(ctx, pod, now)))
		case next == 0 || wait < next:
			next = wait
		}
	}
	return Result{RequeueAfter: next}, err
}

// evict deletes the Pod, after noting the reason in its status, so that a Job can choose
// not to count it.
func (e *TaintEviction) evict(
	ctx context.Context, pod *corev1.Pod, now metav1.Time,
) error {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget
	})
	if at < 0 {
		at = len(pod.Status.Conditions)
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{})
	}
	if c := &pod.Status.Conditions[at]; c.Status != corev1.ConditionTrue {
		*c = corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "DeletionByTaintManager", LastTransitionTime: now,
		}
		if err := e.client.UpdateStatus(ctx, pod); err != nil {
			return err
		}
	}
	return e.client.Delete(ctx, pod, metav1.DeleteOptions{})
}

// setTaints stores the node's taints, unless the node has changed since.
func setTaints(ctx context.Context, c *CachedClient, node *corev1.Node) error {
	data, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": node.Spec.Taints},
	}) // strings: can't fail
	return c.Patch(ctx, node, types.MergePatchType, data)
}
