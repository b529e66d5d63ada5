package informer

import "k8s.io/apimachinery/pkg/types"

// Key names an object within its collection: namespace and name. The namespace
// of a cluster-scoped object is empty.
//
// client-go's keys are strings, "namespace/name". A caller builds one for every
// lookup, and a receiver splits it again. A struct costs no allocation, and there is
// nothing to parse.
type Key = types.NamespacedName

// KeyOf is the object's key. It shares the object's strings.
func KeyOf[T Object](object T) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}
