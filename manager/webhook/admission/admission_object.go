package admission

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maker makes empty objects for the decoder to fill.
type maker[T runtime.Object] func(req Request) (T, error)

// makerOf makes objects of T. Go has no way to say "what T points to" in a type parameter without asking
// the caller for it, so this is one of the few places with reflection.
//
// If T is an interface, such as client.Object, the request's kind decides. controller-runtime panics
// at the first request then.
func makerOf[T runtime.Object](scheme *runtime.Scheme) maker[T] {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		return func(Request) (T, error) { return reflect.New(t.Elem()).Interface().(T), nil }
	}
	return func(req Request) (object T, err error) {
		kind := schema.GroupVersionKind(req.Kind)
		made, err := scheme.New(kind)
		if err != nil {
			return object, fmt.Errorf("the webhook serves every %v that its scheme knows: %w", reflect.TypeFor[T](), err)
		}
		object, fits := made.(T)
		if !fits {
			return object, fmt.Errorf("the webhook serves every %v, and a %s is none", reflect.TypeFor[T](), kind)
		}
		return object, nil
	}
}

// copiesOf makes copies of an object.
func copiesOf(object runtime.Object) maker[runtime.Object] {
	return func(Request) (runtime.Object, error) { return object.DeepCopyObject(), nil }
}

// decoding is what defaulters and validators share: how a request's objects become Go objects.
type decoding[T runtime.Object] struct {
	decoder Decoder
	new     maker[T]
}

func (d decoding[T]) read(req Request, raw runtime.RawExtension) (T, error) {
	object, err := d.new(req)
	if err != nil {
		return object, err
	}
	return object, d.decoder.DecodeRaw(raw, object)
}
