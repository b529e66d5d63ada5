package informer

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readerIdentity is what a collection is called, in errors and in the flight
// recorder. A ListerWatcher that is not a ListWatch may not know its resource.
type readerIdentity struct {
	kind      string
	resource  schema.GroupVersionResource
	namespace string
}

// String is the resource, or the kind if the resource is not known.
func (i readerIdentity) String() string {
	if i.resource.Resource == "" {
		return i.kind
	}
	return i.resource.GroupResource().String()
}

// identify asks a ListerWatcher, and otherwise takes the name of the Go type, which
// may be an interface.
func identify[T Object](from ListerWatcher[T]) readerIdentity {
	if knows, ok := from.(interface{ identity() readerIdentity }); ok {
		return knows.identity()
	}
	goType := reflect.TypeFor[T]()
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	return readerIdentity{kind: goType.Name()}
}

func (l *ListWatch[T]) identity() readerIdentity {
	return readerIdentity{kind: l.kind, resource: l.endpoint.resource, namespace: l.options.Namespace}
}
