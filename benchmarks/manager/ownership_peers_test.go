package manager_test

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirs "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ours "github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// ownerClient is an object for both sides: the two interfaces are the same.
type ownerClient = theirclient.Object

type uid = types.UID

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func gizmo(about metav1.ObjectMeta) *unstructured.Unstructured {
	u := kindless(about)
	u.SetAPIVersion("shop.example/v1")
	u.SetKind("Gizmo")
	return u
}

// kindless does not say what it is.
func kindless(about metav1.ObjectMeta) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName(about.Name)
	u.SetNamespace(about.Namespace)
	u.SetUID(about.UID)
	return u
}

// unknownKind is a type that no scheme has.
type unknownKind struct{ corev1.ConfigMap }

func (u *unknownKind) DeepCopyObject() runtime.Object {
	return &unknownKind{ConfigMap: *u.ConfigMap.DeepCopy()}
}

func ourContains(o ownerClient, name string) bool   { return ours.ContainsFinalizer(o, name) }
func ourAdd(o ownerClient, name string) bool        { return ours.AddFinalizer(o, name) }
func ourRemove(o ownerClient, name string) bool     { return ours.RemoveFinalizer(o, name) }
func theirContains(o ownerClient, name string) bool { return theirs.ContainsFinalizer(o, name) }
func theirAdd(o ownerClient, name string) bool      { return theirs.AddFinalizer(o, name) }
func theirRemove(o ownerClient, name string) bool   { return theirs.RemoveFinalizer(o, name) }
