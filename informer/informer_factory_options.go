package informer

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/trace"
)

// FactoryOptions are those of all informers of a factory. They may be left empty.
type FactoryOptions struct {
	// Scheme knows the Go types of the kinds; by default it is client-go's.
	Scheme *runtime.Scheme
	// HTTPClient sends the requests of all informers. By default, the factory makes
	// one from its config. Its Timeout is not used, because it would end every watch.
	HTTPClient *http.Client
	// DropManagedFields makes objects smaller before they are stored.
	DropManagedFields bool
	// Transform changes the objects of all kinds before they are stored, after
	// DropManagedFields. It must return an object of the same Go type.
	Transform Transform[Object]
	// OnTransformError is called for objects that were stored as they came; by
	// default they are logged.
	OnTransformError func(*TransformError)
	// OnPanic is called when a handler has panicked; by default the panic is logged.
	OnPanic func(HandlerPanic)
	// RecoverPanics lets the process survive panics of handlers, at the price that
	// InformerOptions.RecoverPanics names.
	RecoverPanics bool
	// DetectMutations turns on the test mode of all informers.
	DetectMutations func(was, is Object)
	Reflector       ReflectorOptions
	Recorder        *trace.Recorder
	// Metrics makes the metrics of the handlers; nil measures nothing.
	Metrics MetricsProvider
}

// listWatch is how to read a collection.
func (o FactoryOptions) listWatch(of Collection, client *http.Client) ListWatchOptions {
	return ListWatchOptions{
		Namespace: of.Namespace, LabelSelector: of.LabelSelector, FieldSelector: of.FieldSelector,
		Form: of.Form, Kind: of.Kind, Scheme: o.Scheme, HTTPClient: client, Recorder: o.Recorder,
	}
}

// informerOptions gives the options of all kinds the type of one.
func informerOptions[T Object](o FactoryOptions) InformerOptions[T] {
	options := InformerOptions[T]{
		OnTransformError: o.OnTransformError, OnPanic: o.OnPanic, RecoverPanics: o.RecoverPanics,
		Reflector: o.Reflector, Recorder: o.Recorder, Metrics: o.Metrics,
	}
	if o.DetectMutations != nil {
		options.DetectMutations = func(was, is T) { o.DetectMutations(was, is) }
	}
	switch {
	case o.Transform != nil:
		options.Transform = func(object T) (T, error) { return transformOne(o, object) }
	case o.DropManagedFields:
		options.Transform = DropManagedFields[T]
	}
	return options
}

// transformOne applies both transforms to an object of one kind.
func transformOne[T Object](o FactoryOptions, object T) (T, error) {
	if o.DropManagedFields {
		object, _ = DropManagedFields(object) // it has no errors
	}
	changed, err := o.Transform(object)
	if err != nil {
		return object, err
	}
	same, ok := changed.(T)
	if !ok {
		return object, fmt.Errorf("it returned a %T for a %T", changed, object)
	}
	return same, nil
}
