package controllerutil

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

func deployment(name string, uid types.UID) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid}}
}

func service(owners ...metav1.OwnerReference) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", OwnerReferences: owners}}
}

func owner(version, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: "Deployment", Name: name, UID: uid}
}

func controls(ref metav1.OwnerReference) metav1.OwnerReference {
	ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	return ref
}

// Nobody would be told when the object changes, and nobody would remove it.
func TestAControllerIsWrittenDownWithAllThatTheGarbageCollectorNeeds(t *testing.T) {
	object := service()
	require.NoError(t, SetControllerReference(deployment("web", "1"), object, scheme.Scheme))
	require.Equal(t, []metav1.OwnerReference{controls(owner("apps/v1", "web", "1"))}, object.OwnerReferences)
	require.True(t, metav1.IsControlledBy(object, deployment("web", "1")))
	rename := func(ref *metav1.OwnerReference) { ref.Name = "other" }
	require.ErrorAs(t, SetControllerReference(deployment("web", "1"), object, scheme.Scheme, rename), new(*AlreadyOwnedError), "an option counts, too")
	require.NoError(t, SetControllerReference(deployment("web", "1"), object, scheme.Scheme, WithBlockOwnerDeletion(false)))
	require.False(t, *object.OwnerReferences[0].BlockOwnerDeletion)
	require.Len(t, object.OwnerReferences, 1)
}

// An owner that does not control would be told nothing, or take the place of the one that does.
func TestAnOwnerNextToTheController(t *testing.T) {
	controller := controls(owner("apps/v1", "web", "1"))
	object := service(controller)
	require.NoError(t, SetOwnerReference(deployment("other", "2"), object, scheme.Scheme))
	require.Equal(t, []metav1.OwnerReference{controller, owner("apps/v1", "other", "2")}, object.OwnerReferences)
	require.NoError(t, SetOwnerReference(deployment("other", "2"), object, scheme.Scheme, WithBlockOwnerDeletion(true)))
	require.True(t, *object.OwnerReferences[1].BlockOwnerDeletion)
	require.Nil(t, object.OwnerReferences[1].Controller)
}

// Two controllers would correct each other forever, and the object would never rest.
func TestAnObjectHasOneController(t *testing.T) {
	controller := controls(owner("apps/v1", "web", "1"))
	object := service(controller)
	err := SetControllerReference(deployment("other", "2"), object, scheme.Scheme)
	owned, ok := errors.AsType[*AlreadyOwnedError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, controller, owned.Owner)
	require.Same(t, object, owned.Object)
	require.ErrorContains(t, err, "shop/web is controlled by the Deployment web")
	require.Equal(t, []metav1.OwnerReference{controller}, object.OwnerReferences, "a call that fails changes nothing")
}

// The Deployment was deleted, and there is another one of its name. With the old UID, the garbage
// collector deletes the Service, because its owner is gone.
func TestAnOwnerThatWasMadeAgainTakesTheObjectOver(t *testing.T) {
	for _, set := range []func(owner, object metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption) error{SetControllerReference, SetOwnerReference} {
		object := service(owner("v1", "web", "0"), controls(owner("apps/v1beta1", "web", "1")), owner("apps/v1", "other", "3"))
		require.NoError(t, set(deployment("web", "2"), object, scheme.Scheme))
		require.Len(t, object.OwnerReferences, 3)
		require.Equal(t, owner("v1", "web", "0"), object.OwnerReferences[0], "it is of another group")
		require.Equal(t, types.UID("2"), object.OwnerReferences[1].UID)
		require.Equal(t, "apps/v1", object.OwnerReferences[1].APIVersion)
	}
}

// The garbage collector looks for the owner in the object's namespace, and deletes the object if it is
// not there.
func TestAnOwnerInAnotherNamespaceIsRefused(t *testing.T) {
	elsewhere, node := service(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	elsewhere.Namespace = "bank"
	require.ErrorContains(t, SetControllerReference(deployment("web", "1"), elsewhere, scheme.Scheme), "another namespace")
	require.ErrorContains(t, SetOwnerReference(deployment("web", "1"), elsewhere, scheme.Scheme), "another namespace")
	require.ErrorContains(t, SetOwnerReference(deployment("web", "1"), node, scheme.Scheme), "in no namespace")
	require.Empty(t, node.OwnerReferences)
	require.NoError(t, SetOwnerReference(node, elsewhere, scheme.Scheme), "an owner without a namespace is found from everywhere")
}

// A type that the scheme does not have would be written without a kind.
func TestAnOwnerNeedsAKind(t *testing.T) {
	for _, set := range []func(owner, object metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption) error{SetControllerReference, SetOwnerReference} {
		require.True(t, runtime.IsNotRegisteredError(set(deployment("web", "1"), service(), runtime.NewScheme())))
		require.ErrorContains(t, set(&metav1.ObjectMeta{Namespace: "shop", Name: "web"}, service(), scheme.Scheme), "has no kind")
	}
	for _, remove := range []func(owner, object metav1.Object, scheme *runtime.Scheme) error{RemoveControllerReference, RemoveOwnerReference} {
		require.True(t, runtime.IsNotRegisteredError(remove(deployment("web", "1"), service(), runtime.NewScheme())))
	}
	has, err := HasOwnerReference(nil, deployment("web", "1"), runtime.NewScheme())
	require.Error(t, err)
	require.False(t, has)
}

// An object would keep an owner that does not want it any more, or lose another one.
func TestAnOwnerIsRemovedAndNoOther(t *testing.T) {
	refs := []metav1.OwnerReference{owner("v1", "web", "0"), controls(owner("apps/v1beta1", "web", "1")), owner("apps/v1", "other", "3")}
	for _, remove := range []func(owner, object metav1.Object, scheme *runtime.Scheme) error{RemoveControllerReference, RemoveOwnerReference} {
		object := service(slices.Clone(refs)...)
		require.NoError(t, remove(deployment("web", "2"), object, scheme.Scheme))
		require.Equal(t, []metav1.OwnerReference{refs[0], refs[2]}, object.OwnerReferences)
		require.ErrorContains(t, remove(deployment("web", "2"), object, scheme.Scheme), "is not owned by the Deployment web")
	}
	object := service(refs...)
	require.ErrorContains(t, RemoveControllerReference(deployment("other", "3"), object, scheme.Scheme), "not controlled by it")
	require.NoError(t, RemoveOwnerReference(deployment("other", "3"), object, scheme.Scheme))
	require.Equal(t, refs[:2], object.OwnerReferences)
}

// A controller would take an object for its own, or not.
func TestWhoOwnsAnObject(t *testing.T) {
	for _, c := range []struct {
		name            string
		refs            []metav1.OwnerReference
		has, controlled bool
	}{
		{"nobody", nil, false, false},
		{"it", []metav1.OwnerReference{owner("apps/v1", "web", "1")}, true, false},
		{"it, in another version", []metav1.OwnerReference{owner("apps/v2", "web", "1")}, true, false},
		{"it, as the controller", []metav1.OwnerReference{owner("apps/v1", "other", "2"), controls(owner("apps/v1", "web", "1"))}, true, true},
		{"one of another group", []metav1.OwnerReference{owner("shop.example/v1", "web", "1")}, false, false},
		{"one of the core group", []metav1.OwnerReference{owner("v1", "web", "1")}, false, false},
		{"one of another name", []metav1.OwnerReference{controls(owner("apps/v1", "web2", "1"))}, false, true},
		{"one of another kind", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}}, false, false},
		{"what nobody can read", []metav1.OwnerReference{owner("a/b/c", "web", "1")}, false, false},
		{"one that does not control", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(false)}}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			has, err := HasOwnerReference(c.refs, deployment("web", "1"), scheme.Scheme)
			require.NoError(t, err)
			require.Equal(t, c.has, has)
			require.Equal(t, c.controlled, HasControllerReference(service(c.refs...)))
		})
	}
}

// A version that nobody can read has no group, and so have the kinds of the core group.
func TestAVersionThatCannotBeReadNamesNoOwner(t *testing.T) {
	garbled := metav1.OwnerReference{APIVersion: "a/b/c", Kind: "ConfigMap", Name: "web", Controller: new(true)}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	has, err := HasOwnerReference([]metav1.OwnerReference{garbled}, configMap, scheme.Scheme)
	require.NoError(t, err)
	require.False(t, has)
	require.ErrorAs(t, SetControllerReference(configMap, service(garbled), scheme.Scheme), new(*AlreadyOwnedError))

	garble := func(ref *metav1.OwnerReference) { ref.APIVersion = garbled.APIVersion }
	object := service(metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web"})
	require.NoError(t, SetOwnerReference(configMap, object, scheme.Scheme, garble))
	require.Len(t, object.OwnerReferences, 2)
}

// A copy of a cached object may share its lists. All its readers would see what was not written.
func TestTheListsThatAnotherObjectSharesAreNotChanged(t *testing.T) {
	cached := service(append(make([]metav1.OwnerReference, 0, 9), owner("apps/v1", "web", "1"), owner("apps/v1", "other", "2"))...)
	cached.Finalizers = append(make([]string, 0, 9), "a/a", "a/b")
	before := cached.DeepCopy()
	for name, change := range inorder.Map(map[string]func(*corev1.Service) error{
		"a new owner":       func(s *corev1.Service) error { return SetOwnerReference(deployment("third", "3"), s, scheme.Scheme) },
		"another UID":       func(s *corev1.Service) error { return SetOwnerReference(deployment("web", "3"), s, scheme.Scheme) },
		"one owner less":    func(s *corev1.Service) error { return RemoveOwnerReference(deployment("web", "3"), s, scheme.Scheme) },
		"a new finalizer":   func(s *corev1.Service) error { AddFinalizer(s, "a/c"); return nil },
		"a finalizer fewer": func(s *corev1.Service) error { RemoveFinalizer(s, "a/a"); return nil },
	}) {
		t.Run(name, func(t *testing.T) {
			shallow := *cached
			require.NoError(t, change(&shallow))
			require.NotEqual(t, *before, shallow)
			require.Equal(t, before, cached)
			require.Empty(t, cached.Finalizers[:3][2])
			require.Empty(t, cached.OwnerReferences[:3][2])
		})
	}
}

// The object would go too early, or never.
func TestFinalizersAreAddedOnceAndRemoved(t *testing.T) {
	object := service()
	require.False(t, RemoveFinalizer(object, "a/a"))
	require.True(t, AddFinalizer(object, "a/a"))
	require.False(t, AddFinalizer(object, "a/a"))
	require.True(t, AddFinalizer(object, "a/b"))
	require.True(t, ContainsFinalizer(object, "a/a"))
	require.False(t, ContainsFinalizer(object, "a"))
	object.Finalizers = append(object.Finalizers, "a/a", "a/aa")
	require.True(t, RemoveFinalizer(object, "a/a"))
	require.Equal(t, []string{"a/b", "a/aa"}, object.Finalizers)
}
