// Package stage is a cluster on which scenarios for controllers are played.
//
// A [World] is an embedded control plane whose nodes and Pods are played by this program (kubelet.go), and not by kwok:
// a scenario says when a Pod fails, is never ready, or takes its time to end. A [Stage] is one namespace of it. It
// records every state of every object that it sees (watch.go), knows when everybody has done their work (settled.go),
// and judges afterwards whether there were ever too many Pods, or too few (bounds.go).
//
// Neighbours: below it is the package cluster. Above it are the scenarios.
package stage

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is what a scenario is about: a Deployment, a ReplicaSet, a Pod, a Service, Endpoints, an Event.
type Object interface {
	metav1.Object
	runtime.Object
}

// Ref names an object within a namespace.
type Ref struct{ Kind, Name string }

// Change is what a watch reported. All objects are in one etcd, so their versions say in which order the changes
// happened, though they come from several watches.
type Change struct {
	Type    watch.EventType
	Kind    string
	Object  Object
	Version uint64
}

func (c Change) ref() Ref { return Ref{c.Kind, c.Object.GetName()} }
