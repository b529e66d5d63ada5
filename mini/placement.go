package mini

import (
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
)

// hostTolerations are what each Pod of a DaemonSet tolerates, because it's part of its
// node and may be what repairs it. It isn't evicted from a node that's not ready, and a
// node gets one even if it's cordoned or short of a resource.
var hostTolerations = []corev1.Toleration{
	tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
	tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
	tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
	tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
	tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
	tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
}

func tolerate(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: effect,
	}
}

// daemonTolerations are those of the template and those of the host. The host's have no
// time limit. So it drops a toleration of the template that differs only in its seconds,
// because it would set one.
func daemonTolerations(spec *corev1.PodSpec) []corev1.Toleration {
	host := slices.Clone(hostTolerations)
	if spec.HostNetwork { // it may be what gives the node its network
		host = append(host, tolerate(
			corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	own := slices.DeleteFunc(slices.Clone(spec.Tolerations),
		func(t corev1.Toleration) bool {
			return slices.ContainsFunc(host, func(h corev1.Toleration) bool {
				return t.MatchToleration(&h)
			})
		})
	return append(own, host...)
}

// nodeShouldRun returns whether the node should get a Pod, and whether one that it has
// may stay. NoSchedule only keeps new Pods away; NoExecute also ends those that run.
func nodeShouldRun(
	ds *appsv1.DaemonSet, node *corev1.Node,
) (shouldRun, shouldContinueRunning bool) {
	spec := &ds.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name || !matchesNode(spec, node) {
		return false, false
	}
	shouldRun, shouldContinueRunning = true, true
	tolerations := daemonTolerations(spec)
	for _, taint := range node.Spec.Taints {
		if slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Discard(), &taint, false)
		}) {
			continue
		}
		switch taint.Effect {
		case corev1.TaintEffectNoSchedule:
			shouldRun = false
		case corev1.TaintEffectNoExecute:
			shouldRun, shouldContinueRunning = false, false
		}
	}
	return shouldRun, shouldContinueRunning
}

// matchesNode returns true if the Pod's node selector and one term of its required
// affinity match. A term without requirements matches no node.
func matchesNode(spec *corev1.PodSpec, node *corev1.Node) bool {
	if !labels.SelectorFromSet(spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	required := requiredAffinity(spec)
	return required == nil || slices.ContainsFunc(required.NodeSelectorTerms,
		func(term corev1.NodeSelectorTerm) bool {
			if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
				return false
			}
			for _, r := range term.MatchExpressions {
				if !matchesLabels(r, node.Labels) {
					return false
				}
			}
			for _, r := range term.MatchFields { // the API server only allows the name
				in := slices.Contains(r.Values, node.Name)
				if in != (r.Operator == corev1.NodeSelectorOpIn) {
					return false
				}
			}
			return true
		})
}

// requiredAffinity returns what the Pod demands of its node, or nil.
func requiredAffinity(spec *corev1.PodSpec) *corev1.NodeSelector {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

var nodeOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

func matchesLabels(r corev1.NodeSelectorRequirement, set labels.Set) bool {
	requirement, err := labels.NewRequirement(r.Key, nodeOperators[r.Operator], r.Values)
	return err == nil && requirement.Matches(set)
}

// placementChanged is true if a change of a node may affect where Pods should run. A
// node's report of its condition, every few minutes, doesn't.
func placementChanged(change Change) bool {
	return LabelsChanged(change) || !equality.Semantic.DeepEqual(
		change.Old.(*corev1.Node).Spec.Taints, change.New.(*corev1.Node).Spec.Taints)
}

// daemonPod returns a new Pod for the node. Its affinity leaves the scheduler only one
// node to choose. We don't bind the Pod ourselves, because only the scheduler knows what
// a node has left, and only the scheduler makes room for a Pod with a higher priority.
func daemonPod(ds *appsv1.DaemonSet, hash, node string) *corev1.Pod {
	pod := podOf(ds, "DaemonSet", &ds.Spec.Template)
	pod.GenerateName = ds.Name + "-"
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.ControllerRevisionHashLabelKey, hash)
	pod.Spec.Tolerations = daemonTolerations(&pod.Spec)
	affinity := ptr.Deref(pod.Spec.Affinity, corev1.Affinity{})
	nodes := ptr.Deref(affinity.NodeAffinity, corev1.NodeAffinity{})
	// The node has already matched the template's terms, so this replaces them.
	nodes.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn,
				Values: []string{node},
			}},
		}},
	}
	affinity.NodeAffinity = &nodes
	pod.Spec.Affinity = &affinity
	return pod
}

// targetNode returns the node that the Pod is on or is made for, or "" if it's for none.
func targetNode(pod *corev1.Pod) string {
	required := requiredAffinity(&pod.Spec)
	if pod.Spec.NodeName != "" || required == nil {
		return pod.Spec.NodeName
	}
	for _, term := range required.NodeSelectorTerms {
		for _, r := range term.MatchFields {
			if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				return r.Values[0]
			}
		}
	}
	return ""
}
