package garbagecollector

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// item is a node as a worker sees it: a copy, which doesn't change when the graph does.
type item struct {
	uid                types.UID
	virtual            bool
	kind               schema.GroupVersionKind
	namespace, name    string
	beingDeleted       bool
	deletingDependents bool
	orphaning          bool

	// hasSolidOwners says that the graph shows every owner, and none of them waits for its
	// dependents.
	hasSolidOwners bool
	// hasWaitingOwner says that the graph shows an owner that wants its dependents to be deleted.
	hasWaitingOwner bool
	hasDependents   bool
	// isBlocked says that the item has dependents that it would wait for in a foreground deletion.
	isBlocked      bool
	waitsForItself bool
	// identities are the ones under which its dependents refer to a virtual node.
	identities []ownerIdentity
}

// itemOf returns everything about a node, and false if the node isn't in the graph.
func (g *graph) itemOf(uid types.UID) (item, bool) {
	n := g.nodes[uid]
	if n == nil {
		return item{}, false
	}
	if !n.observed {
		return item{uid: uid, virtual: true, identities: n.identities()}, true
	}
	return item{
		uid: uid, kind: *n.kind, namespace: n.namespace, name: n.name,
		beingDeleted: n.beingDeleted, deletingDependents: n.deletingDependents,
		orphaning: n.orphaning,
		hasSolidOwners: !slices.ContainsFunc(n.owners, func(ref metav1.OwnerReference) bool {
			return g.stateOf(ref, n.namespace) != ownerSolid
		}),
		hasWaitingOwner: slices.ContainsFunc(n.owners, func(ref metav1.OwnerReference) bool {
			return g.stateOf(ref, n.namespace) == ownerWaiting
		}),
		hasDependents: len(n.dependents) > 0, isBlocked: n.isBlocked(),
		waitsForItself: g.waitsForItself(n),
	}, true
}

// ownerState is what the graph knows of an owner.
type ownerState uint8

const (
	ownerUnknown ownerState = iota // we have to ask the API server
	ownerSolid                     // it exists
	ownerWaiting                   // it wants its dependents to be deleted
	ownerAbsent
)

// stateOf says what the graph knows of the owner that an object in a namespace refers to.
func (g *graph) stateOf(ref metav1.OwnerReference, namespace string) ownerState {
	owner := g.nodes[ref.UID]
	switch isShown := owner != nil && isOwner(ref, namespace, owner); {
	case isShown && owner.deletingDependents:
		return ownerWaiting
	case isShown:
		return ownerSolid
	case g.absent.has(ref, namespace):
		return ownerAbsent
	}
	return ownerUnknown
}

func (g *graph) isWaiting(uid types.UID) bool {
	n := g.nodes[uid]
	return n != nil && n.deletingDependents
}

// dependentsOf returns the objects that have a node as their owner, sorted by UID.
func (g *graph) dependentsOf(uid types.UID) (all []item) {
	n := g.nodes[uid]
	if n == nil {
		return nil
	}
	for dependent := range n.dependents {
		all = append(all, item{
			uid: dependent.uid, kind: *dependent.kind,
			namespace: dependent.namespace, name: dependent.name,
		})
	}
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.uid, b.uid) })
	return all
}

// isOwner reports whether a reference of an object in a namespace means this owner. The UID alone
// doesn't count: the owner must have the reference's kind and name, and be in the namespace of its
// dependent or in none.
func isOwner(ref metav1.OwnerReference, namespace string, owner *node) bool {
	return owner.observed && ref.UID == owner.uid && ref.Name == owner.name &&
		ref.Kind == owner.kind.Kind && groupOf(ref.APIVersion) == owner.kind.Group &&
		(owner.namespace == "" || owner.namespace == namespace)
}

// blocks reports whether a dependent keeps its owner from being deleted in the foreground.
func (n *node) blocks(owner *node) bool {
	return slices.ContainsFunc(n.owners, func(ref metav1.OwnerReference) bool {
		return isBlocking(ref) && isOwner(ref, n.namespace, owner)
	})
}

func (n *node) isBlocked() bool {
	for dependent := range n.dependents {
		if dependent.blocks(n) {
			return true
		}
	}
	return false
}

// waitsForItself reports whether a node would wait, in the foreground, until it's deleted itself:
// it blocks an owner that waits, which blocks another one, and so on, and one of them is its
// dependent. All of them would wait forever.
//
// The original takes any dependent that waits for a sign of a circle, and checks only before it
// deletes an object. If users delete all objects of a circle, they wait forever there.
func (g *graph) waitsForItself(n *node) bool { return g.leadsTo(n, n, map[*node]bool{}) }

func (g *graph) leadsTo(n, goal *node, seen map[*node]bool) bool {
	for _, ref := range n.owners {
		owner := g.nodes[ref.UID]
		if owner == nil || !isBlocking(ref) || !isOwner(ref, n.namespace, owner) {
			continue
		}
		if owner == goal {
			return true
		}
		if owner.deletingDependents && !seen[owner] {
			seen[owner] = true
			if g.leadsTo(owner, goal, seen) {
				return true
			}
		}
	}
	return false
}

// identities returns what dependents say about a virtual node, sorted.
func (n *node) identities() (all []ownerIdentity) {
	found := map[ownerIdentity]bool{}
	for dependent := range n.dependents {
		for _, ref := range dependent.owners {
			if id := identityOf(ref, dependent.namespace); id.uid == n.uid && !found[id] {
				found[id] = true
				all = append(all, id)
			}
		}
	}
	slices.SortFunc(all, func(a, b ownerIdentity) int {
		return strings.Compare(a.String(), b.String())
	})
	return all
}

func isBlocking(ref metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// isDeletingDependents is true for an object that is deleted in the foreground.
func isDeletingDependents(object metav1.Object) bool {
	return object.GetDeletionTimestamp() != nil &&
		slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// isOrphaning is true for an object whose dependents have to be orphaned before it's deleted.
func isOrphaning(object metav1.Object) bool {
	return object.GetDeletionTimestamp() != nil &&
		slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

func findOwner(refs []metav1.OwnerReference, uid types.UID) *metav1.OwnerReference {
	for i := range refs {
		if refs[i].UID == uid {
			return &refs[i]
		}
	}
	return nil
}

func sameReference(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion
}

func groupOf(apiVersion string) string {
	group, _, hasGroup := strings.Cut(apiVersion, "/")
	if !hasGroup {
		return "" // the core group has only a version
	}
	return group
}
