package garbagecollector

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// graph knows which objects own which, as far as the informers have shown it. It's a value without
// goroutine, lock, clock or client; only step changes it.
type graph struct {
	nodes  map[types.UID]*node
	absent absentOwners

	actions // of the current step
}

// node is an object: an observed one, which an informer has shown, or a virtual one, of which we
// know only the UID, because a dependent names it as its owner. The owner of a virtual node may be
// deleted, or new, or of a kind that isn't watched, so we have to ask the API server.
//
// A node is in the graph while it's observed or has dependents.
type node struct {
	uid      types.UID
	observed bool

	// Of an observed node:
	kind               *schema.GroupVersionKind // shared by all nodes of a monitor
	namespace, name    string
	owners             []metav1.OwnerReference // those of the informer's object: not to be changed
	beingDeleted       bool
	deletingDependents bool // deleted in the foreground: it waits for its dependents
	orphaning          bool // deleted, and its dependents have to lose their reference to it first

	// dependents name this UID among their owners. One of another namespace, or with another name
	// for the owner, is among them; see isOwner.
	dependents map[*node]struct{}
}

// event is the graph's input.
type event struct {
	what eventKind
	kind *schema.GroupVersionKind // not for ownerIsAbsent
	// object is the object of objectObserved and objectEnded.
	object metav1.Object
	// certain means, for objectEnded, that the watch has shown the deletion of the object.
	// Otherwise it was missing in a list, or its kind was removed.
	certain bool
	owner   ownerIdentity // the owner of ownerIsAbsent
}

type eventKind uint8

const (
	objectObserved eventKind = iota // an informer shows an object that is new or has changed
	objectEnded                     // an informer no longer shows an object
	kindGone                        // a kind was removed, and with it all of its objects
	ownerIsAbsent                   // the API server doesn't have an owner
)

// actions are the consequences of an event.
type actions struct {
	// attempt lists the nodes for which something may have to be done, in order of their UIDs.
	// Those that wait for their dependents come last: the first thing to do for an owner that is
	// deleted in the foreground is to delete its dependents, even those that don't block it.
	attempt []types.UID
	invalid []invalidOwner
}

// invalidOwner is a reference to an owner that is in another namespace.
type invalidOwner struct {
	kind      schema.GroupVersionKind // of the dependent
	namespace string
	name      string
	uid       types.UID
	ref       metav1.OwnerReference
}

func newGraph() *graph { return &graph{nodes: map[types.UID]*node{}} }

// step takes the graph to its next state. The actions include each node for which something has
// become necessary, and leave out those for which nothing has changed.
func (g *graph) step(e event) actions {
	g.actions = actions{}
	switch e.what {
	case objectObserved:
		g.observe(e.kind, e.object)
	case objectEnded:
		if n := g.nodes[e.object.GetUID()]; n != nil && n.isOf(e.kind) {
			g.end(n, e.certain)
		}
	case kindGone:
		for _, n := range g.nodes {
			if n.isOf(e.kind) {
				g.end(n, false)
			}
		}
	case ownerIsAbsent:
		g.noteAbsent(e.owner)
	}
	done := g.actions
	g.actions = actions{}
	slices.SortFunc(done.attempt, func(a, b types.UID) int {
		switch waits := g.isWaiting(a); {
		case waits == g.isWaiting(b):
			return cmp.Compare(a, b)
		case waits:
			return 1
		default:
			return -1
		}
	})
	done.attempt = slices.Compact(done.attempt)
	slices.SortFunc(done.invalid, func(a, b invalidOwner) int {
		return strings.Compare(string(a.uid), string(b.uid))
	})
	return done
}

// isOf reports whether the node was last shown under a kind. Two kinds that differ in the version
// have the same objects: an object belongs to the one whose informer has shown it last.
func (n *node) isOf(kind *schema.GroupVersionKind) bool { return n.observed && *n.kind == *kind }

// observe processes the state of an object.
func (g *graph) observe(kind *schema.GroupVersionKind, object metav1.Object) {
	n := g.nodes[object.GetUID()]
	if n == nil {
		n = &node{uid: object.GetUID()}
		g.nodes[n.uid] = n
	}
	was := *n
	n.observed, n.kind = true, kind
	n.namespace, n.name, n.owners = object.GetNamespace(), object.GetName(),
		object.GetOwnerReferences()
	n.beingDeleted = object.GetDeletionTimestamp() != nil
	n.deletingDependents = isDeletingDependents(object)
	n.orphaning = isOrphaning(object)
	if !was.observed {
		g.checkDependents(n)
	}
	g.link(n, was.owners)
	if n.orphaning && !was.orphaning || n.deletingDependents && !was.deletingDependents {
		g.wake(n)
	}
	if n.deletingDependents && !was.deletingDependents {
		g.wakeDependents(n)
	}
	if was.beingDeleted && !n.beingDeleted {
		g.wake(n) // only a restored backup undoes a deletion, and its owners may still want it
	}
}

// checkDependents finds dependents of a virtual node that mean a different object than the observed
// one.
func (g *graph) checkDependents(n *node) {
	for dependent := range n.dependents {
		for _, ref := range dependent.owners {
			if ref.UID == n.uid && !isOwner(ref, dependent.namespace, n) {
				g.wake(dependent)
				g.noteInvalid(dependent, ref, n)
			}
		}
	}
}

// link updates the edges between a node and its owners: was are the owners that it had.
func (g *graph) link(n *node, was []metav1.OwnerReference) {
	for _, old := range was {
		if findOwner(n.owners, old.UID) == nil {
			g.unlink(n, old.UID)
		} else if isBlocking(old) && !slices.ContainsFunc(n.owners,
			func(ref metav1.OwnerReference) bool {
				return isBlocking(ref) && sameReference(old, ref)
			}) {
			g.wakeWaiting(old.UID)
		}
	}
	for _, ref := range n.owners {
		if !slices.ContainsFunc(was, func(old metav1.OwnerReference) bool {
			return sameReference(old, ref)
		}) {
			g.linkTo(n, ref)
		}
	}
}

// linkTo makes a node the dependent of the owner that it refers to.
func (g *graph) linkTo(n *node, ref metav1.OwnerReference) {
	owner := g.nodes[ref.UID]
	if owner == nil {
		owner = &node{uid: ref.UID}
		g.nodes[ref.UID] = owner
	}
	if owner.dependents == nil {
		owner.dependents = map[*node]struct{}{}
	}
	owner.dependents[n] = struct{}{}
	switch {
	case !owner.observed:
		g.absent.forget(ref, n.namespace)
		g.wake(owner)
	case !isOwner(ref, n.namespace, owner):
		g.wake(n)
		g.noteInvalid(n, ref, owner)
	case owner.deletingDependents:
		g.wake(n)
	}
	if owner.orphaning {
		g.wake(owner)
	}
}

// unlink removes an edge, and wakes an owner that was waiting for that: one that orphans waits for
// the last edge.
func (g *graph) unlink(n *node, uid types.UID) {
	owner := g.nodes[uid]
	if owner == nil {
		return // the object has two references to it
	}
	g.wakeWaiting(uid)
	delete(owner.dependents, n)
	if owner.orphaning && len(owner.dependents) == 0 {
		g.wake(owner)
	}
	if !owner.observed && len(owner.dependents) == 0 {
		delete(g.nodes, uid)
	}
}

// end notes that an object is no longer shown. If it has dependents, it becomes virtual.
func (g *graph) end(n *node, certain bool) {
	identity := ownerIdentity{
		apiVersion: n.kind.GroupVersion().String(), kind: n.kind.Kind,
		namespace: n.namespace, name: n.name, uid: n.uid,
	}
	owners := n.owners
	*n = node{uid: n.uid, dependents: n.dependents}
	for _, ref := range owners {
		g.unlink(n, ref.UID)
	}
	switch {
	case len(n.dependents) == 0:
		delete(g.nodes, n.uid)
	case certain:
		g.absent.add(identity)
		g.wakeDependents(n)
	default:
		g.wake(n)
	}
}

// noteAbsent wakes the dependents that mean an absent owner.
func (g *graph) noteAbsent(owner ownerIdentity) {
	g.absent.add(owner)
	n := g.nodes[owner.uid]
	if n == nil {
		return
	}
	for dependent := range n.dependents {
		for _, ref := range dependent.owners {
			if owner.isMeantBy(ref, dependent.namespace) {
				g.wake(dependent)
			}
		}
	}
}

func (g *graph) noteInvalid(dependent *node, ref metav1.OwnerReference, owner *node) {
	if owner.observed && owner.namespace != "" && owner.namespace != dependent.namespace {
		g.invalid = append(g.invalid, invalidOwner{
			*dependent.kind, dependent.namespace, dependent.name, dependent.uid, ref,
		})
	}
}

func (g *graph) wake(n *node) { g.attempt = append(g.attempt, n.uid) }

func (g *graph) wakeDependents(n *node) {
	for dependent := range n.dependents {
		g.wake(dependent)
	}
}

// wakeWaiting wakes an owner that may have been waiting for an edge that has been removed or no
// longer blocks.
func (g *graph) wakeWaiting(uid types.UID) {
	if owner := g.nodes[uid]; owner != nil && owner.deletingDependents {
		g.wake(owner)
	}
}
