package mini

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// isNoExecute is true of the taints that end Pods which are on the node already.
func isNoExecute(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }

// evictionTime returns when the Pod has to leave, and false if it may stay forever. Of
// several tolerations of a taint the first one counts, and of several taints the one that
// ends the Pod first. A Pod that came after the taint has its full time.
func evictionTime(
	pod *corev1.Pod, taints []corev1.Taint,
) (at time.Time, leaves bool) {
	for _, taint := range taints {
		if !isNoExecute(taint) || taint.TimeAdded == nil {
			continue
		}
		since := taint.TimeAdded.Time
		if pod.CreationTimestamp.After(since) {
			since = pod.CreationTimestamp.Time
		}
		leave := func(seconds int64) {
			due := since.Add(time.Duration(seconds) * time.Second)
			if !leaves || due.Before(at) {
				at, leaves = due, true
			}
		}
		first := slices.IndexFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Discard(), &taint, false)
		})
		if first < 0 {
			leave(0)
		} else if s := pod.Spec.Tolerations[first].TolerationSeconds; s != nil {
			leave(max(0, *s))
		}
	}
	return at, leaves
}

// TaintEviction is the controller that deletes Pods from nodes whose taints they do not
// tolerate, or no longer.
//
// Guarantees: the time that a Pod tolerates is measured from the taint, so it goes on
// while no controller runs. A taint that's removed before the time is up ends nothing.
//
// Caveats: budgets of disruptions do not matter: the node is in trouble already.
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

// nodeOf is the node of a Pod. Of one that has none it is "", which no node is called.
func nodeOf(pod Object) []Request {
	return []Request{{Name: pod.(*corev1.Pod).Spec.NodeName}}
}

// Reconcile evicts the Pods of one node whose time is over.
func (e *TaintEviction) Reconcile(ctx context.Context, req Request) (Result, error) {
	node, err := Get[*corev1.Node](ctx, e.client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if !slices.ContainsFunc(node.Spec.Taints, isNoExecute) {
		return Result{}, nil
	}
	// A cache may be late, and an eviction can't be undone: is the taint still there?
	if err := e.client.Client.Get(ctx, req, node); err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	// kubectl taint writes no time, and toleration seconds need one to count from.
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

// evict deletes the Pod, and says before why it ends: a Job need not count that.
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

// setTaints stores the node's taints, if the node has not changed since.
func setTaints(ctx context.Context, c *CachedClient, node *corev1.Node) error {
	data, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": node.Spec.Taints},
	}) // texts: cannot fail
	return c.Patch(ctx, node, types.MergePatchType, data)
}
