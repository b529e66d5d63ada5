package mini_test

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// schedule binds a new Pod.
func (w *rolloutWorld) schedule(change mini.Change) {
	pod := change.Object().(*corev1.Pod)
	name := wantedNode(pod)
	if change.Old != nil || pod.Spec.NodeName != "" || name == "" {
		return
	}
	if _, err := w.Other.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{}); err != nil {
		return
	}
	err := w.Other.CoreV1().Pods(pod.Namespace).Bind(w.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: name},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && w.ctx.Err() == nil {
		w.Errorf("scheduler: %v", err)
	}
}

// wantedNode is the only node that the Pod's affinity allows.
func wantedNode(pod *corev1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return ""
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) != 1 || len(required.NodeSelectorTerms[0].MatchFields) != 1 {
		return ""
	}
	return required.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

// onNodes returns the images of the Pods that are not ending, by their node.
func (w *world) onNodes() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, pod := range w.live() {
		node := pod.Spec.NodeName
		if node == "" {
			node = wantedNode(pod) + " (unbound)"
		}
		all[node] = strings.TrimPrefix(all[node]+" "+pod.Spec.Containers[0].Image, " ")
	}
	return all
}

// podOn returns the Pod on the node.
func (w *world) podOn(node string) *corev1.Pod {
	w.Helper()
	pods := slices.DeleteFunc(w.live(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != node })
	require.Len(w, pods, 1)
	return pods[0]
}

// live is what pods of a world returns: rolloutWorld has a field of this name.
func (w *world) live() []*corev1.Pod { return w.pods() }

func (w *world) addNode(name string, changes ...func(*corev1.Node)) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, change := range changes {
		change(node)
	}
	_, err := w.Other.CoreV1().Nodes().Create(w.ctx, node, metav1.CreateOptions{})
	require.NoError(w, err)
}

func (w *world) changeNode(name string, changes ...func(*corev1.Node)) {
	w.Helper()
	node, err := w.Other.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	for _, change := range changes {
		change(node)
	}
	_, err = w.Other.CoreV1().Nodes().Update(w.ctx, node, metav1.UpdateOptions{})
	require.NoError(w, err)
}

func label(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { metav1.SetMetaDataLabel(&node.ObjectMeta, key, value) }
}

func taint(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Value: "yes", Effect: effect})
	}
}

func noTaints(node *corev1.Node) { node.Spec.Taints = nil }

func terms(all ...corev1.NodeSelectorTerm) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: all},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: require1("disk", "In", "ssd")},
			}},
		}}
	}
}

func require1(key, operator string, values ...string) []corev1.NodeSelectorRequirement {
	return []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: values}}
}

func expression(key, operator string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: require1(key, operator, values...)}
}

func byNodeName(operator string, names ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: require1("metadata.name", operator, names...)}
}
