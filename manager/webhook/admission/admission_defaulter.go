package admission

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Defaulter fills in what a user left out, before the object is stored.
//
// Default changes obj. An error refuses the request: an API status, such as those of apimachinery's api/errors,
// reaches the user as it is, and any other error as code 403.
//
// Caveats: The API server may call it more than once for one object, so a second call must change nothing.
type Defaulter[T runtime.Object] interface {
	Default(ctx context.Context, obj T) error
}

// CustomDefaulter is a Defaulter of any object. Newer programs use Defaulter with their own type.
type CustomDefaulter = Defaulter[runtime.Object]

type defaulterOptions struct {
	removeUnknownOrOmitableFields bool
}

// DefaulterOption is an option of WithDefaulter.
type DefaulterOption func(*defaulterOptions)

// DefaulterRemoveUnknownOrOmitableFields also removes what the Go type does not know, and fields that are empty
// and that it leaves out when they are. Without it, they stay: they may be fields of a newer version of the kind.
func DefaulterRemoveUnknownOrOmitableFields(o *defaulterOptions) {
	o.removeUnknownOrOmitableFields = true
}

// WithDefaulter makes a mutating Webhook from a Defaulter.
//
// The object that Default is given is of type T. If T is an interface, it is one of the request's kind.
func WithDefaulter[T runtime.Object](scheme *runtime.Scheme, defaulter Defaulter[T], opts ...DefaulterOption) *Webhook {
	return withDefaulter(scheme, defaulter, makerOf[T](scheme), opts)
}

// WithCustomDefaulter makes a mutating Webhook for objects like obj.
func WithCustomDefaulter(scheme *runtime.Scheme, obj runtime.Object, defaulter CustomDefaulter, opts ...DefaulterOption) *Webhook {
	return withDefaulter(scheme, defaulter, copiesOf(obj), opts)
}

func withDefaulter[T runtime.Object](scheme *runtime.Scheme, defaulter Defaulter[T], objects maker[T], opts []DefaulterOption) *Webhook {
	options := defaulterOptions{}
	for _, set := range opts {
		set(&options)
	}
	return &Webhook{Handler: defaulting[T]{
		decoding:  decoding[T]{decoder: NewDecoder(scheme), new: objects},
		defaulter: defaulter,
		options:   options,
	}}
}

type defaulting[T runtime.Object] struct {
	decoding[T]
	defaulter Defaulter[T]
	options   defaulterOptions
}

// Handle implements Handler.
func (d defaulting[T]) Handle(ctx context.Context, req Request) Response {
	if req.Operation == admissionv1.Delete { // there is nothing left to fill in
		return yes()
	}
	object, err := d.read(req, req.Object)
	if err != nil {
		return Errored(http.StatusBadRequest, err)
	}
	before := object.DeepCopyObject()
	if err := d.defaulter.Default(NewContextWithRequest(ctx, req), object); err != nil {
		return refused(err)
	}
	if !d.options.removeUnknownOrOmitableFields && reflect.DeepEqual(before, runtime.Object(object)) {
		return yes() // which saves three JSON documents
	}
	return d.patch(req.Object.Raw, before, object)
}

// patch answers with the changes.
func (d defaulting[T]) patch(raw []byte, before, after runtime.Object) Response {
	document, err := json.Marshal(after)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	if d.options.removeUnknownOrOmitableFields {
		return PatchResponseFromRaw(raw, document)
	}
	return patchResponse(raw, document, func() ([]byte, error) { return json.Marshal(before) })
}
