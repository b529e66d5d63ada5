package world

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/playground/kubectl"
)

// State is what the page draws: everything that there is, sorted by namespace and name.
type State struct {
	Deployments []Deployment `json:"deployments"`
	ReplicaSets []ReplicaSet `json:"replicaSets"`
	Pods        []Pod        `json:"pods"`
	Nodes       []Node       `json:"nodes"`
	Processes   []Member     `json:"processes"`
}

// Deployment is what a user wants, and how far it is.
type Deployment struct {
	Key
	Wanted     int32       `json:"wanted"`
	Pods       int32       `json:"pods"`
	Updated    int32       `json:"updated"`
	Available  int32       `json:"available"`
	Image      string      `json:"image"`
	Paused     bool        `json:"paused,omitempty"`
	Observed   bool        `json:"observed"` // the numbers are about the newest spec
	Conditions []Condition `json:"conditions"`
}

// ReplicaSet is one revision of a Deployment, or one without.
type ReplicaSet struct {
	Key
	Owner    string `json:"owner,omitempty"` // the Deployment
	Revision int    `json:"revision,omitempty"`
	Image    string `json:"image"`
	Wanted   int32  `json:"wanted"`
	Pods     int32  `json:"pods"`
	Ready    int32  `json:"ready"`
}

// Pod is where a Pod is, and how it's doing.
type Pod struct {
	Key
	Owner    string `json:"owner,omitempty"` // the name of what controls it
	Node     string `json:"node,omitempty"`
	Image    string `json:"image"`
	Status   string `json:"status"` // as kubectl prints it
	Ready    bool   `json:"ready"`
	Restarts int32  `json:"restarts,omitempty"`
}

// Node is a machine.
type Node struct {
	Name     string   `json:"name"`
	Ready    bool     `json:"ready"` // as the cluster believes
	Dead     bool     `json:"dead,omitempty"`
	Cordoned bool     `json:"cordoned,omitempty"`
	Taints   []string `json:"taints,omitempty"`
}

// Member is a process of mini.
type Member struct {
	Name    string   `json:"name"`
	Alive   bool     `json:"alive"`
	Leads   bool     `json:"leads"`
	Watched []string `json:"watched"` // resources whose watches can be disturbed
	Held    []string `json:"held"`    // those that are
}

// Key names an object.
type Key struct {
	Name  string `json:"name"`
	UID   string `json:"uid"`
	Going bool   `json:"going,omitempty"` // it has a deletionTimestamp
}

// Condition of a Deployment.
type Condition struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// State returns what there is now, by the world's own watches. It waits for their first lists.
func (w *World) State(ctx context.Context) (State, error) {
	s := State{}
	deployments, err := mini.List[*appsv1.Deployment](ctx, w.client, mini.Selection{})
	if err != nil {
		return s, err
	}
	sets, err := mini.List[*appsv1.ReplicaSet](ctx, w.client, mini.Selection{})
	if err != nil {
		return s, err
	}
	pods, err := mini.List[*corev1.Pod](ctx, w.client, mini.Selection{})
	if err != nil {
		return s, err
	}
	nodes, err := mini.List[*corev1.Node](ctx, w.client, mini.Selection{})
	if err != nil {
		return s, err
	}
	s.Deployments = each(deployments, deploymentState)
	s.ReplicaSets = each(sets, replicaSetState)
	s.Pods = each(pods, podState)
	s.Nodes = each(nodes, w.nodeState)
	leader := w.Leader(ctx)
	s.Processes = each(w.Processes(), func(p *Process) Member {
		watched, held := p.Steps.Watched()
		return Member{p.Name, p.Alive(), p == leader && p.Alive(), watched, held}
	})
	return s, nil
}

// Follow calls see with each new state, until ctx ends. Changes while see runs are in the next
// one.
func (w *World) Follow(ctx context.Context, see func(State)) error {
	for ctx.Err() == nil {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		s, err := w.State(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		see(s)
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

func each[T, S any](all []T, state func(T) S) []S {
	out := make([]S, len(all)) // [] in JSON if there is none
	for i, one := range all {
		out[i] = state(one)
	}
	return out
}

func keyOf(obj mini.Object) Key {
	return Key{obj.GetName(), string(obj.GetUID()), obj.GetDeletionTimestamp() != nil}
}

func ownerOf(obj mini.Object) string {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return ref.Name
	}
	return ""
}

func deploymentState(d *appsv1.Deployment) Deployment {
	return Deployment{
		Key:       keyOf(d),
		Wanted:    ptr.Deref(d.Spec.Replicas, 1),
		Pods:      d.Status.Replicas,
		Updated:   d.Status.UpdatedReplicas,
		Available: d.Status.AvailableReplicas,
		Image:     d.Spec.Template.Spec.Containers[0].Image,
		Paused:    d.Spec.Paused,
		Observed:  d.Status.ObservedGeneration == d.Generation,
		Conditions: each(d.Status.Conditions, func(c appsv1.DeploymentCondition) Condition {
			return Condition{string(c.Type), c.Reason}
		}),
	}
}

func replicaSetState(rs *appsv1.ReplicaSet) ReplicaSet {
	return ReplicaSet{
		Key:      keyOf(rs),
		Owner:    ownerOf(rs),
		Revision: mini.Revision(rs),
		Image:    rs.Spec.Template.Spec.Containers[0].Image,
		Wanted:   ptr.Deref(rs.Spec.Replicas, 1),
		Pods:     rs.Status.Replicas,
		Ready:    rs.Status.ReadyReplicas,
	}
}

func podState(pod *corev1.Pod) Pod {
	s := Pod{
		Key:    keyOf(pod),
		Owner:  ownerOf(pod),
		Node:   pod.Spec.NodeName,
		Image:  pod.Spec.Containers[0].Image,
		Status: kubectl.PodStatus(pod),
	}
	for _, c := range pod.Status.Conditions {
		s.Ready = s.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range pod.Status.ContainerStatuses {
		s.Restarts += c.RestartCount
	}
	return s
}

func (w *World) nodeState(n *corev1.Node) Node {
	s := Node{Name: n.Name, Cordoned: n.Spec.Unschedulable}
	if played := w.nodes[n.Name]; played != nil {
		s.Dead = played.isDead()
	}
	for _, c := range n.Status.Conditions {
		s.Ready = s.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	for _, t := range n.Spec.Taints {
		s.Taints = append(s.Taints, t.ToString())
	}
	return s
}
