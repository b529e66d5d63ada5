// Command naive is a DaemonSet controller that asks each node whether it should have a Pod.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/chapters/33-daemonset/agents"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	agents.Main("Chapter 33, naive: a Pod for each node that should have one", controller,
		demo.Predict(2,
			"a node with an agent gets a taint with the effect NoSchedule. Which agents are left?",
			"the line of step 2"),
		demo.Predict(3,
			"then the DaemonSet gets version 2. How many of the three agents serve at the worst moment?",
			"the last line"))
}

func controller(m *mini.Manager) (*mini.Controller, error) {
	sets := m.Informer(&appsv1.DaemonSet{})
	pods := m.Informer(&corev1.Pod{})
	nodes := m.Informer(&corev1.Node{})
	c := m.NewController("daemonset", 1, reconciler(m.Client))
	c.Watch(sets, mini.EnqueueObject)
	c.Watch(pods, mini.EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind()))
	c.Watch(nodes, func(mini.Change) (all []mini.Request) {
		for _, set := range sets.List() {
			all = append(all, mini.KeyOf(set))
		}
		return all
	})
	return c, m.Err()
}

// reconciler gives each node that fits one Pod, and replaces an old one if all serve.
func reconciler(client *mini.CachedClient) mini.ReconcilerFunc {
	return func(ctx context.Context, req mini.Request) (mini.Result, error) {
		ds, err := mini.Get[*appsv1.DaemonSet](ctx, client, req)
		if err != nil {
			return mini.Result{}, mini.IgnoreNotFound(err)
		}
		if ds.DeletionTimestamp != nil {
			return mini.Result{}, nil
		}
		pods, err := mini.OwnedBy[*corev1.Pod](ctx, client, ds)
		if err != nil {
			return mini.Result{}, err
		}
		nodes, err := mini.List[*corev1.Node](ctx, client, mini.Selection{})
		if err != nil {
			return mini.Result{}, err
		}
		on, unavailable := map[string]*corev1.Pod{}, 0
		for _, pod := range pods {
			on[pod.Spec.NodeName] = pod
			if !isReady(pod) {
				unavailable++
			}
		}
		for _, node := range nodes {
			pod := on[node.Name]
			switch fits := fits(ds, node); {
			case fits && pod == nil:
				err = client.Create(ctx, podFor(ds, node))
				unavailable++
			case pod == nil || pod.DeletionTimestamp != nil:
			case !fits:
				err = client.Delete(ctx, pod, metav1.DeleteOptions{})
			case isOld(ds, pod) && unavailable == 0:
				err = client.Delete(ctx, pod, metav1.DeleteOptions{})
				unavailable++
			}
			if mini.IgnoreNotFound(err) != nil {
				return mini.Result{}, err
			}
		}
		return mini.Result{}, nil
	}
}

func fits(ds *appsv1.DaemonSet, node *corev1.Node) bool {
	selector := labels.SelectorFromSet(ds.Spec.Template.Spec.NodeSelector)
	return selector.Matches(labels.Set(node.Labels)) && len(node.Spec.Taints) == 0
}

func isOld(ds *appsv1.DaemonSet, pod *corev1.Pod) bool {
	return pod.Labels["version"] != ds.Spec.Template.Labels["version"]
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func podFor(ds *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	kind := appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	pod := &corev1.Pod{
		ObjectMeta: *ds.Spec.Template.ObjectMeta.DeepCopy(), Spec: *ds.Spec.Template.Spec.DeepCopy(),
	}
	pod.Namespace, pod.GenerateName = ds.Namespace, ds.Name+"-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, kind)}
	pod.Spec.NodeName = node.Name
	return pod
}
