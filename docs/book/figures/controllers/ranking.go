//go:build figures

package controllers

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
)

// Ranking is the figure of chapter 22.
var Ranking = figure.Definition{
	Name: "ranking", Title: "Which Pod goes first",
	Hint: "Choose a Pod and change it. Can you save it? Each rule counts only if all rules above it are equal.",
	New:  func() figure.Figure { return newRanking() },
}

// pod is what a reader can change of a Pod.
type pod struct {
	name, node, phase, ready, cost string
	restarts, age                  string
}

type ranking struct {
	pods   []pod
	chosen string
	n      int // how many go
}

func newRanking() *ranking {
	return &ranking{chosen: "pod-d", n: 2, pods: []pod{
		{"pod-a", "n1", "Running", "9 h", "0", "0", "10 h"},
		{"pod-b", "n1", "Running", "8 h", "0", "3", "10 h"},
		{"pod-c", "n2", "Running", "9 h", "0", "0", "10 h"},
		{"pod-d", "n2", "Running", "no", "100", "5", "10 h"},
		{"pod-e", "n1", "Running", "1 h", "100", "0", "1 h"},
		{"pod-f", "", "Pending", "no", "0", "0", "1 min"},
	}}
}

// The times that can be chosen. Those of 8 and of 9 hours are about the same.
var ages = map[string]time.Duration{"1 min": time.Minute, "1 h": time.Hour, "8 h": 8 * time.Hour, "9 h": 9 * time.Hour, "10 h": 10 * time.Hour}

// noon is the moment at which Pods are compared.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// object is the Pod as the API server would have it.
func (p pod) object() *corev1.Pod {
	restarts, _ := strconv.Atoi(p.restarts)
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, UID: types.UID(p.name), CreationTimestamp: metav1.NewTime(noon.Add(-ages[p.age]))},
		Spec:       corev1.PodSpec{NodeName: p.node},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(p.phase), ContainerStatuses: []corev1.ContainerStatus{{RestartCount: int32(restarts)}}},
	}
	if p.cost != "0" {
		object.Annotations = map[string]string{corev1.PodDeletionCost: p.cost}
	}
	if since, ready := ages[p.ready]; ready {
		object.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-since))}}
	}
	return object
}

func (r *ranking) objects() (objects []*corev1.Pod) {
	for _, p := range r.pods {
		objects = append(objects, p.object())
	}
	return objects
}

// place is a line of the ranking.
type place struct {
	pod   pod
	crowd int
	goes  bool
	rule  string // that decided between this Pod and the next; empty for the last
}

func (r *ranking) places() (places []place) {
	objects := r.objects()
	order, crowd := replicaset.Rank(objects, noon), replicaset.Crowd(objects)
	for i, object := range order {
		one := place{goes: i < r.n, crowd: crowd[object.Spec.NodeName]}
		for _, p := range r.pods {
			if p.name == object.Name {
				one.pod = p
			}
		}
		if i+1 < len(order) {
			_, one.rule = replicaset.Compare(object, order[i+1], crowd, noon)
		}
		places = append(places, one)
	}
	return places
}

// reason says what a rule found when it compared a Pod with the next one. It goes on after "because".
func reason(rule string, p, next place) string {
	switch rule {
	case "assigned":
		return "it has no node"
	case "phase":
		return "it is " + p.pod.phase
	case "ready":
		return "it is not ready"
	case "cost":
		return "its deletion costs " + p.pod.cost + ", not " + next.pod.cost
	case "crowd":
		return strconv.Itoa(p.crowd) + " Pods are on its node, not " + strconv.Itoa(next.crowd)
	case "readyFor":
		return "it is ready for " + p.pod.ready + ", not " + next.pod.ready
	case "restarts":
		return "it was restarted " + times(p.pod.restarts) + ", not " + times(next.pod.restarts)
	case "age":
		return "it is " + p.pod.age + " old, not " + next.pod.age
	default:
		return "all else is equal, so the UID decides: chance, but the same each time"
	}
}

func times(n string) string {
	switch n {
	case "0":
		return n
	case "1":
		return "once"
	}
	return n + " times"
}

func (r *ranking) Controls() []figure.Control {
	p := r.at(r.chosen)
	names := make([]string, len(r.pods))
	for i := range r.pods {
		names[i] = r.pods[i].name
	}
	choice := func(key, label, value string, options ...string) figure.Control {
		return figure.Control{Key: key, Label: label, Kind: figure.Choice, Group: "This Pod", Value: value, Options: figure.Options(options...)}
	}
	node := choice("node", "Node", p.node, "n1", "n2")
	node.Options = append(node.Options, figure.Option{Value: "", Label: "none"})
	return []figure.Control{
		{Key: "n", Label: "Pods that have to go", Kind: figure.Range, Value: strconv.Itoa(r.n), Min: 1, Max: len(r.pods) - 1},
		choice("pod", "Pod", r.chosen, names...),
		node,
		choice("phase", "Phase", p.phase, string(corev1.PodPending), string(corev1.PodUnknown), string(corev1.PodRunning)),
		choice("ready", "Ready for", p.ready, "no", "1 min", "1 h", "8 h", "9 h"),
		choice("cost", "Deletion cost", p.cost, "-100", "0", "100"),
		choice("restarts", "Restarts", p.restarts, "0", "1", "3", "5"),
		choice("age", "Age", p.age, "1 min", "1 h", "9 h", "10 h"),
	}
}

func (r *ranking) at(name string) *pod {
	for i := range r.pods {
		if r.pods[i].name == name {
			return &r.pods[i]
		}
	}
	return &r.pods[0]
}

func (r *ranking) Do(action figure.Action) string {
	p := r.at(r.chosen)
	switch action.Key {
	case "n":
		r.n, _ = strconv.Atoi(action.Value)
		return r.leaving()
	case "pod":
		r.chosen = action.Value
	case "node":
		p.node = action.Value
	case "phase":
		p.phase = action.Value
	case "ready":
		p.ready = action.Value
	case "cost":
		p.cost = action.Value
	case "restarts":
		p.restarts = action.Value
	case "age":
		p.age = action.Value
	}
	return r.standing()
}

// leaving says which Pods go.
func (r *ranking) leaving() string {
	var names []string
	for _, one := range r.places() {
		if one.goes {
			names = append(names, one.pod.name)
		}
	}
	return "If " + pods(r.n) + " have to go, these do: " + list(names) + "."
}

// standing says where the chosen Pod stands, and why.
func (r *ranking) standing() string {
	places := r.places()
	for i, one := range places {
		if one.pod.name != r.chosen {
			continue
		}
		said := one.pod.name + " would go as number " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(places)) + "."
		if i+1 < len(places) {
			said += " It goes before " + places[i+1].pod.name + " because " + reason(one.rule, one, places[i+1]) + "."
		}
		if i > 0 {
			before := places[i-1]
			said += " " + before.pod.name + " goes before it because " + reason(before.rule, before, one) + "."
		}
		return said
	}
	return ""
}

func list(names []string) string {
	text := ""
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			text += " and "
		default:
			text += ", "
		}
		text += name
	}
	return text
}

func (r *ranking) Words() string {
	words := "In the order in which they go:"
	places := r.places()
	for i, one := range places {
		words += " " + one.pod.name
		if one.rule != "" {
			words += " (" + reason(one.rule, one, places[i+1]) + ")"
		}
		if i+1 < len(places) {
			words += ","
		}
	}
	return words + ". " + r.leaving()
}
