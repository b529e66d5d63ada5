package garbagecollector

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ownerIdentity says where to look for an owner: a reference's fields, and a namespace, which is
// empty if the owner's kind has none.
type ownerIdentity struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
}

func identityOf(ref metav1.OwnerReference, namespace string) ownerIdentity {
	return ownerIdentity{ref.APIVersion, ref.Kind, namespace, ref.Name, ref.UID}
}

// isMeantBy reports whether a reference of an object in a namespace means this owner.
func (o ownerIdentity) isMeantBy(ref metav1.OwnerReference, namespace string) bool {
	return o == identityOf(ref, namespace) || o == identityOf(ref, "")
}

// String is the owner's name in messages and events, in the original's form.
func (o ownerIdentity) String() string {
	return fmt.Sprintf("[%s/%s, namespace: %s, name: %s, uid: %s]",
		o.apiVersion, o.kind, o.namespace, o.name, o.uid)
}

// absentOwners remembers the owners that are known to be absent, so that we ask the API server once
// for each of them, and not once for each dependent. A UID is never used again, so an absent owner
// stays absent, unless the API server is restored from a backup. Then the dependents come back,
// too, so an object that is new to the graph makes us ask again. When it has rememberedOwners, it
// drops the oldest one. The zero value is empty.
type absentOwners struct {
	known map[ownerIdentity]bool
	ring  []ownerIdentity // the known ones; next is the oldest
	next  int
}

// rememberedOwners is as many as the original remembers.
const rememberedOwners = 500

func (a *absentOwners) add(owner ownerIdentity) {
	switch {
	case a.known[owner]:
		return
	case a.known == nil:
		a.known = map[ownerIdentity]bool{}
	}
	a.known[owner] = true
	if len(a.ring) < rememberedOwners {
		a.ring = append(a.ring, owner)
		return
	}
	delete(a.known, a.ring[a.next])
	a.ring[a.next] = owner
	a.next = (a.next + 1) % rememberedOwners
}

// forget drops the owner that an object in a namespace refers to.
func (a *absentOwners) forget(ref metav1.OwnerReference, namespace string) {
	delete(a.known, identityOf(ref, namespace))
	delete(a.known, identityOf(ref, ""))
}

// has reports whether the owner that an object in a namespace refers to is known to be absent.
func (a *absentOwners) has(ref metav1.OwnerReference, namespace string) bool {
	return a.known[identityOf(ref, namespace)] || a.known[identityOf(ref, "")]
}
