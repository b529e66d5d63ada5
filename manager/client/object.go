// Package client reads and writes the objects of a cluster.
//
// Neighbours: below it are apimachinery's types, and client-go's connection. Above it are
// reconcilers, which it gives what they ask for, and the cache, which answers their reads.
package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is an object of any kind: a pointer to a Go type such as *corev1.Pod, an unstructured
// object, or the metadata alone.
type Object interface {
	metav1.Object
	runtime.Object
}

// ObjectList is a list of such objects, for instance *corev1.PodList.
type ObjectList interface {
	metav1.ListInterface
	runtime.Object
}

// ObjectKey names an object among those of its kind.
type ObjectKey = types.NamespacedName

// ObjectKeyFromObject returns the name of an object.
func ObjectKeyFromObject(obj Object) ObjectKey {
	return ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
