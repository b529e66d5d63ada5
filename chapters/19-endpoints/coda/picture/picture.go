// Package picture shows a Deployment's rollout in a few lines of text: how far its ReplicaSets are, what its Endpoints
// say, and the latest events.
//
// Objects go in, as a watch reports them, and lines come out: for a terminal of any width (picture_lines.go), or one
// line for each change that matters (picture_log.go). Both are made of a few numbers (picture_facts.go). Nothing in
// here waits, writes or looks at a clock.
//
// Neighbours: below it is a terminal library, for colours and for the width of characters. Above it is the demo, which
// watches and prints.
package picture

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxEvents is how many events are shown.
const maxEvents = 3

// Picture is what is known of one Deployment and of what belongs to it. Make one with New. It is not safe for
// concurrent use.
type Picture struct {
	name       string
	deployment *appsv1.Deployment
	sets       map[types.UID]*appsv1.ReplicaSet
	endpoints  *corev1.Endpoints
	events     []event // oldest first
}

// event is the latest one of its reason about its object.
type event struct {
	about   types.UID
	reason  string
	note    string
	warning bool
}

// New returns the picture of the Deployment of this name, and of the Endpoints of the same name. All objects that it is
// shown are to be of one namespace.
func New(name string) *Picture {
	return &Picture{name: name, sets: map[types.UID]*appsv1.ReplicaSet{}}
}

// Saw takes in the newest state of an object. Objects that do not belong to the Deployment may be among them.
func (p *Picture) Saw(object metav1.Object) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o.Name == p.name {
			p.deployment = o
		}
	case *appsv1.ReplicaSet:
		p.sets[o.UID] = o
	case *corev1.Endpoints:
		if o.Name == p.name {
			p.endpoints = o
		}
	case *eventsv1.Event:
		p.sawEvent(o)
	}
}

// Gone takes in that an object is there no longer. Events stay: they tell what was.
func (p *Picture) Gone(object metav1.Object) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o.Name == p.name {
			p.deployment = nil
		}
	case *appsv1.ReplicaSet:
		delete(p.sets, o.UID)
	case *corev1.Endpoints:
		if o.Name == p.name {
			p.endpoints = nil
		}
	}
}

// sawEvent keeps the latest event of each reason and object, so that a hundred Pods do not push everything else out.
// Events about Pods are left out: the bars show their Pods.
func (p *Picture) sawEvent(o *eventsv1.Event) {
	switch o.Regarding.Kind {
	case "Deployment", "ReplicaSet", "Service", "Endpoints":
	default:
		return
	}
	p.events = slices.DeleteFunc(p.events, func(e event) bool { return e.about == o.Regarding.UID && e.reason == o.Reason })
	p.events = append(p.events, event{o.Regarding.UID, o.Reason, o.Note, o.Type == corev1.EventTypeWarning})
	p.events = p.events[max(0, len(p.events)-maxEvents):]
}
