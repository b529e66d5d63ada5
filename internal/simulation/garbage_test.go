package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

// thing makes an object in the Namespace default.
func (h history) thing(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return h.thingIn("default", name, owners...)
}

func (h history) thingIn(
	namespace, name string, owners ...metav1.OwnerReference,
) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, OwnerReferences: owners,
	}}
	h.Create(object)
	return object
}

func owner(object client.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: object.GetName(), UID: object.GetUID(),
		BlockOwnerDeletion: new(true),
	}
}

func TestTheJudgeOfGarbageSeesEachBrokenPromise(t *testing.T) {
	absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "no", UID: "no"}
	foreground := func(h history, object client.Object) {
		h.UserDeletes(object.GetUID(), metav1.DeletePropagationForeground)
		require.NoError(h.T, h.Live.Delete(h.T.Context(), object,
			client.PropagationPolicy(metav1.DeletePropagationForeground)))
	}
	ends := func(h history, object *corev1.ConfigMap) {
		Edit(h.World, object, func(object *corev1.ConfigMap) {
			object.Finalizers = slices.DeleteFunc(object.Finalizers, func(f string) bool {
				return f == metav1.FinalizerDeleteDependents
			})
		})
	}
	other := func(h history) {
		h.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	}
	for name, c := range map[string]struct {
		happens func(h history)
		breaks  []Promise
	}{
		"an object without a living owner": {func(h history) {
			h.delete(h.thing("a", absent))
		}, nil},
		"an object with a living owner": {func(h history) {
			h.delete(h.thing("a", absent, owner(h.thing("b"))))
		}, []Promise{NoStranger}},
		"an object without an owner": {func(h history) {
			h.delete(h.thing("a"))
		}, []Promise{NoStranger}},
		"an object without an owner, by a user": {func(h history) {
			object := h.thing("a")
			h.UserDeletes(object.UID, metav1.DeletePropagationBackground)
			h.delete(object)
		}, nil},
		"an object with a living owner, slowly": {func(h history) {
			object := h.thing("a", owner(h.thing("b")))
			linger(h, object)
			h.delete(object)
		}, []Promise{NoStranger}},
		"an object that a user gives an owner while it ends": {func(h history) {
			object := h.thing("a", absent)
			linger(h, object)
			h.delete(object)
			ref := owner(h.thing("b"))
			Edit(h.World, object, func(object *corev1.ConfigMap) {
				object.OwnerReferences = []metav1.OwnerReference{ref}
			})
			goes(h, object)
		}, nil},
		"an object whose owner was deleted": {func(h history) {
			object := h.thing("b")
			dependent := h.thing("a", owner(object))
			h.UserDeletes(object.UID, metav1.DeletePropagationBackground)
			h.delete(object)
			h.delete(dependent)
		}, nil},
		"an object whose owner is in another Namespace": {func(h history) {
			other(h)
			h.delete(h.thing("a", owner(h.thingIn("other", "b"))))
		}, nil},
		"an object whose owner ends, and doesn't wait for it": {func(h history) {
			object := h.thing("b")
			dependent := h.thing("a", owner(object))
			linger(h, object)
			h.UserDeletes(object.UID, metav1.DeletePropagationBackground)
			h.delete(object)
			h.delete(dependent)
		}, []Promise{NoStranger}},
		"an object whose owner has waited for it": {func(h history) {
			object := h.thing("b")
			dependent := h.thing("a", owner(object))
			linger(h, object)
			foreground(h, object)
			ends(h, object)
			h.delete(dependent)
		}, nil},
		"garbage before what it owns": {func(h history) {
			object := h.thing("a", absent)
			h.thing("b", owner(object))
			time.Sleep(2 * Memory)
			h.delete(object)
		}, nil},
		"an owner before its dependent, because a user won't wait": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(object))
			time.Sleep(2 * Memory)
			foreground(h, object)
			h.UserDeletes(object.UID, metav1.DeletePropagationBackground)
			ends(h, object)
		}, nil},
		"an owner that waits no more, and stays for another reason": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(object))
			linger(h, object)
			time.Sleep(2 * Memory)
			foreground(h, object)
			ends(h, object)
		}, []Promise{NoStranger}},
		"an owner that goes after it has waited": {func(h history) {
			object := h.thing("a")
			dependent := h.thing("b", owner(object))
			linger(h, object)
			time.Sleep(2 * Memory)
			foreground(h, object)
			h.delete(dependent)
			ends(h, object)
			goes(h, object)
		}, nil},
		"an owner before a dependent that doesn't block it": {func(h history) {
			object := h.thing("a")
			free, silent := owner(object), owner(object)
			free.BlockOwnerDeletion, silent.BlockOwnerDeletion = new(false), nil
			h.thing("b", free)
			h.thing("c", silent)
			time.Sleep(2 * Memory)
			foreground(h, object)
			ends(h, object)
		}, nil},
		"an owner before a dependent of another one": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(h.thing("c")))
			time.Sleep(2 * Memory)
			foreground(h, object)
			ends(h, object)
		}, nil},
		"an owner before a dependent in another Namespace": {func(h history) {
			other(h)
			object := h.thing("a")
			h.thingIn("other", "b", owner(object))
			time.Sleep(2 * Memory)
			foreground(h, object)
			ends(h, object)
		}, nil},
		"an owner before its dependent": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(object))
			time.Sleep(2 * Memory)
			foreground(h, object)
			ends(h, object)
		}, []Promise{NoStranger}},
		"an owner before a dependent that's new": {func(h history) {
			object := h.thing("a")
			h.thing("b", owner(object))
			foreground(h, object)
			ends(h, object)
		}, nil},
		"an owner after its dependent": {func(h history) {
			object := h.thing("a")
			dependent := h.thing("b", owner(object))
			time.Sleep(2 * Memory)
			foreground(h, object)
			h.delete(dependent)
			ends(h, object)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.breaks, judged(t, (*World).JudgeGarbage, c.happens))
		})
	}
}
