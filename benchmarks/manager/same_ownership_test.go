package manager_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	theirs "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ours "github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// ownership is what one call has done: to the references, and what it returned.
type ownership struct {
	failed  bool
	answer  bool
	owner   metav1.OwnerReference // of an AlreadyOwnedError
	owned   bool                  // whether there was one
	remains []metav1.OwnerReference
}

func (o *ownership) ours(err error) {
	o.failed = err != nil
	if e, ok := errors.AsType[*ours.AlreadyOwnedError](err); ok {
		o.owned, o.owner = e.Object != nil, e.Owner
	}
}

func (o *ownership) theirs(err error) {
	o.failed = err != nil
	if e, ok := errors.AsType[*theirs.AlreadyOwnedError](err); ok {
		o.owned, o.owner = e.Object != nil, e.Owner
	}
}

// ownerCalls are the functions about owners, on both sides.
var ownerCalls = []struct {
	name         string
	ours, theirs func(*ownership, ownerClient, metav1.Object)
}{
	{"SetControllerReference", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.SetControllerReference(owner, object, scheme.Scheme))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.SetControllerReference(owner, object, scheme.Scheme))
	}},
	{"SetControllerReference without blocking", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.SetControllerReference(owner, object, scheme.Scheme, ours.WithBlockOwnerDeletion(false)))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.SetControllerReference(owner, object, scheme.Scheme, theirs.WithBlockOwnerDeletion(false)))
	}},
	{"SetControllerReference with an option that renames the owner", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.SetControllerReference(owner, object, scheme.Scheme, func(ref *metav1.OwnerReference) { ref.Name = "b" }))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.SetControllerReference(owner, object, scheme.Scheme, func(ref *metav1.OwnerReference) { ref.Name = "b" }))
	}},
	{"SetOwnerReference", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.SetOwnerReference(owner, object, scheme.Scheme))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.SetOwnerReference(owner, object, scheme.Scheme))
	}},
	{"SetOwnerReference with blocking", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.SetOwnerReference(owner, object, scheme.Scheme, ours.WithBlockOwnerDeletion(true)))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.SetOwnerReference(owner, object, scheme.Scheme, theirs.WithBlockOwnerDeletion(true)))
	}},
	{"RemoveOwnerReference", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.RemoveOwnerReference(owner, object, scheme.Scheme))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.RemoveOwnerReference(owner, object, scheme.Scheme))
	}},
	{"RemoveControllerReference", func(o *ownership, owner ownerClient, object metav1.Object) {
		o.ours(ours.RemoveControllerReference(owner, object, scheme.Scheme))
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		o.theirs(theirs.RemoveControllerReference(owner, object, scheme.Scheme))
	}},
	{"HasOwnerReference", func(o *ownership, owner ownerClient, object metav1.Object) {
		answer, err := ours.HasOwnerReference(object.GetOwnerReferences(), owner, scheme.Scheme)
		o.ours(err)
		o.answer = answer
	}, func(o *ownership, owner ownerClient, object metav1.Object) {
		answer, err := theirs.HasOwnerReference(object.GetOwnerReferences(), owner, scheme.Scheme)
		o.theirs(err)
		o.answer = answer
	}},
	{"HasControllerReference", func(o *ownership, _ ownerClient, object metav1.Object) {
		o.answer = ours.HasControllerReference(object)
	}, func(o *ownership, _ ownerClient, object metav1.Object) {
		o.answer = theirs.HasControllerReference(object)
	}},
}

func randomOwner(r *rand.Rand) ownerClient {
	about := metav1.ObjectMeta{Name: pick(r, "a", "b"), Namespace: pick(r, "shop", "shop", "bank", ""), UID: pick(r, uid("1"), uid("2"))}
	return pick[ownerClient](r,
		&corev1.ConfigMap{ObjectMeta: about}, &appsv1.ReplicaSet{ObjectMeta: about}, &corev1.Node{ObjectMeta: about},
		kindless(about), gizmo(about), &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: about},
		&unknownKind{ConfigMap: corev1.ConfigMap{ObjectMeta: about}},
	)
}

// randomReferences have all that a reference may have, and some that no server accepts.
func randomReferences(r *rand.Rand) (refs []metav1.OwnerReference) {
	for range r.IntN(4) {
		ref := metav1.OwnerReference{
			APIVersion: pick(r, "v1", "apps/v1", "apps/v1beta1", "shop.example/v1", "a/b/c", ""),
			Kind:       pick(r, "ConfigMap", "ReplicaSet", "Node", "Gizmo"),
			Name:       pick(r, "a", "b"), UID: pick(r, uid("1"), uid("2"), uid("")),
			Controller: pick[*bool](r, nil, new(true), new(false)), BlockOwnerDeletion: pick[*bool](r, nil, new(true), new(false)),
		}
		refs = append(refs, ref)
	}
	return refs
}

// A user's controllers would fight about an object, or leave it behind.
func TestTheFunctionsAboutOwnersDoWhatControllerRuntimesDo(t *testing.T) {
	for _, call := range ownerCalls {
		t.Run(call.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(15, 1))
			succeeded, failed := 0, 0
			for range 6000 {
				owner := randomOwner(r)
				object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pick(r, "shop", "shop", "shop", ""), Name: "x", OwnerReferences: randomReferences(r)}}
				play := func(call func(*ownership, ownerClient, metav1.Object)) (o ownership) {
					object := object.DeepCopy()
					call(&o, owner, object)
					o.remains = object.OwnerReferences
					return o
				}
				want, got := play(call.theirs), play(call.ours)
				require.Equal(t, want, got, "owner %T %s/%s, object in %q with %v", owner, owner.GetNamespace(), owner.GetName(), object.Namespace, object.OwnerReferences)
				if got.failed {
					failed++
				} else {
					succeeded++
				}
			}
			require.Greater(t, succeeded, 50, "almost all calls fail: the test says little")
			if call.name != "HasControllerReference" {
				require.Greater(t, failed, 50, "almost no call fails: the test says little")
			}
		})
	}
}

// Metadata alone has no kind, and cannot be an owner. Both refuse it.
func TestMetadataCannotOwnOnEitherSide(t *testing.T) {
	owner, refs := &metav1.ObjectMeta{Name: "a", Namespace: "shop"}, []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", Controller: new(true)}}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "shop", OwnerReferences: refs}}
	for _, err := range []error{
		ours.SetControllerReference(owner, object, scheme.Scheme), theirs.SetControllerReference(owner, object, scheme.Scheme),
		ours.SetOwnerReference(owner, object, scheme.Scheme), theirs.SetOwnerReference(owner, object, scheme.Scheme),
		ours.RemoveOwnerReference(owner, object, scheme.Scheme), theirs.RemoveOwnerReference(owner, object, scheme.Scheme),
		ours.RemoveControllerReference(owner, object, scheme.Scheme), theirs.RemoveControllerReference(owner, object, scheme.Scheme),
	} {
		require.Error(t, err)
	}
	require.Equal(t, refs, object.OwnerReferences)
}

// An object would not go, or go too early.
func TestTheFunctionsAboutFinalizersDoWhatControllerRuntimesDo(t *testing.T) {
	type outcome struct {
		contains, changed bool
		finalizers        []string
	}
	r := rand.New(rand.NewPCG(15, 2))
	for range 2000 {
		var has []string
		for range r.IntN(4) {
			has = append(has, pick(r, "a/a", "a/b", "a/aa"))
		}
		name := pick(r, "a/a", "a/b")
		for _, free := range []bool{false, true} {
			play := func(contains func(ownerClient, string) bool, change func(ownerClient, string) bool) (o outcome) {
				object := ownerClient(&corev1.Pod{})
				if free {
					object = gizmo(metav1.ObjectMeta{Name: "a"})
				}
				object.SetFinalizers(slices.Clone(has))
				o.contains, o.changed, o.finalizers = contains(object, name), change(object, name), object.GetFinalizers()
				return o
			}
			require.Equal(t, play(theirContains, theirAdd), play(ourContains, ourAdd), "adding %s to %v", name, has)
			require.Equal(t, play(theirContains, theirRemove), play(ourContains, ourRemove), "removing %s from %v", name, has)
		}
	}
}

// A copy with `copy := *object` shares its lists with the object, which may be a cached one.
// controller-runtime changes these lists, and so the cached object. Ours makes new ones.
func TestControllerRuntimeChangesTheListsOfACachedObject(t *testing.T) {
	cached := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "shop", Finalizers: []string{"a/a", "a/b"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "1"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "b", UID: "2"}}}}
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "shop", UID: "3"}}
	for _, change := range []struct {
		name         string
		ours, theirs func(*corev1.Pod) error
	}{
		{"RemoveFinalizer",
			func(p *corev1.Pod) error { ours.RemoveFinalizer(p, "a/a"); return nil },
			func(p *corev1.Pod) error { theirs.RemoveFinalizer(p, "a/a"); return nil }},
		{"RemoveOwnerReference",
			func(p *corev1.Pod) error { return ours.RemoveOwnerReference(owner, p, scheme.Scheme) },
			func(p *corev1.Pod) error { return theirs.RemoveOwnerReference(owner, p, scheme.Scheme) }},
		{"SetOwnerReference",
			func(p *corev1.Pod) error { return ours.SetOwnerReference(owner, p, scheme.Scheme) },
			func(p *corev1.Pod) error { return theirs.SetOwnerReference(owner, p, scheme.Scheme) }},
	} {
		t.Run(change.name, func(t *testing.T) {
			one, two := cached(), cached()
			ourCopy, theirCopy := *one, *two
			require.NoError(t, change.ours(&ourCopy))
			require.NoError(t, change.theirs(&theirCopy))
			require.Equal(t, theirCopy, ourCopy)
			require.Equal(t, cached(), one)
			require.NotEqual(t, cached(), two)
		})
	}
}
