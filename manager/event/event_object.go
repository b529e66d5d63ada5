package event

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// IsNil reports whether an event lacks an object. In Go, a nil *Pod in an interface is not equal
// to nil, and calling its methods panics.
func IsNil(obj client.Object) bool { return anyvalue.IsNil(obj) }

// KindOf returns the kind of an object, for people to read, such as "Pod". It is empty if the
// object does not know it.
//
// A typed object has the name of its Go type, because an API server's list leaves the kind out of
// the items, and so it is lost.
func KindOf(obj client.Object) string {
	if IsNil(obj) {
		return ""
	}
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return obj.GetKind()
	case *metav1.PartialObjectMetadata:
		return obj.Kind
	}
	t := reflect.TypeOf(obj)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
