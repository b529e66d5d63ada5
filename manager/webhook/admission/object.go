package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
)

// Decoder makes Go objects from the JSON in a Request.
//
// Errors: both methods return an error if there's no object, as in the Object of a deletion.
type Decoder interface {
	// Decode reads req.Object: the object as it would be stored.
	Decode(req Request, into runtime.Object) error
	// DecodeRaw reads any object of the request. req.OldObject is the stored object.
	DecodeRaw(rawObj runtime.RawExtension, into runtime.Object) error
}

// NewDecoder returns a Decoder for the kinds of the scheme. It panics if there's none.
func NewDecoder(scheme *runtime.Scheme) Decoder {
	if scheme == nil {
		panic("admission.NewDecoder needs a scheme: pass mgr.GetScheme()")
	}
	return decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}
}

type decoder struct {
	objects runtime.Decoder
}

// Decode implements Decoder.
func (d decoder) Decode(req Request, into runtime.Object) error {
	return d.DecodeRaw(req.Object, into)
}

// DecodeRaw implements Decoder.
func (d decoder) DecodeRaw(rawObj runtime.RawExtension, into runtime.Object) error {
	if len(rawObj.Raw) == 0 {
		return errors.New("there is no content to decode")
	}
	if loose, is := into.(runtime.Unstructured); is {
		// An unstructured object can't be decoded without apiVersion and kind. An embedded object
		// may lack both: the request names them.
		var content map[string]any
		if err := json.Unmarshal(rawObj.Raw, &content); err != nil {
			return err
		}
		loose.SetUnstructuredContent(content)
		return nil
	}
	return runtime.DecodeInto(d.objects, rawObj.Raw, into)
}

// maker makes empty objects for the decoder to fill.
type maker[T runtime.Object] func(req Request) (T, error)

// makerOf makes objects of T. A type parameter can't express "the type that T points to" unless
// the caller names it, so this is one of the few places with reflection.
//
// If T is an interface, such as client.Object, the request's kind decides. controller-runtime
// panics at the first request then.
func makerOf[T runtime.Object](scheme *runtime.Scheme) maker[T] {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		return func(Request) (T, error) { return reflect.New(t.Elem()).Interface().(T), nil }
	}
	return func(req Request) (object T, err error) {
		kind := schema.GroupVersionKind(req.Kind)
		made, err := scheme.New(kind)
		if err != nil {
			return object, fmt.Errorf("the webhook serves every %v that its scheme knows: %w",
				reflect.TypeFor[T](), err)
		}
		object, fits := made.(T)
		if !fits {
			return object, fmt.Errorf("the webhook serves every %v, and a %s isn't one",
				reflect.TypeFor[T](), kind)
		}
		return object, nil
	}
}

// copiesOf makes copies of an object.
func copiesOf(object runtime.Object) maker[runtime.Object] {
	return func(Request) (runtime.Object, error) { return object.DeepCopyObject(), nil }
}

// decoding is the part that defaulters and validators share: it turns a request's objects into Go
// objects.
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

// Warnings are shown to the user, whether the request is allowed or not. The API server truncates
// them after about 120 characters.
type Warnings []string

// Validator decides whether an object may be created, changed or deleted.
//
// An error refuses the request: an API status, such as those of apimachinery's api/errors, reaches
// the user unchanged, and any other error with code 403.
type Validator[T runtime.Object] interface {
	// ValidateCreate is called with the new object.
	ValidateCreate(ctx context.Context, obj T) (warnings Warnings, err error)
	// ValidateUpdate is called with the stored object, and with the new one.
	ValidateUpdate(ctx context.Context, oldObj, newObj T) (warnings Warnings, err error)
	// ValidateDelete is called with the stored object.
	ValidateDelete(ctx context.Context, obj T) (warnings Warnings, err error)
}

// CustomValidator is a Validator of any object. Newer programs use Validator with their own type.
type CustomValidator = Validator[runtime.Object]

// WithValidator makes a validating Webhook from a Validator.
//
// The objects that the Validator gets are of type T. If T is an interface, they are of the
// request's kind.
func WithValidator[T runtime.Object](scheme *runtime.Scheme, validator Validator[T]) *Webhook {
	return withValidator(scheme, validator, makerOf[T](scheme))
}

// WithCustomValidator makes a validating Webhook for objects like obj.
func WithCustomValidator(
	scheme *runtime.Scheme, obj runtime.Object, validator CustomValidator,
) *Webhook {
	return withValidator(scheme, validator, copiesOf(obj))
}

func withValidator[T runtime.Object](
	scheme *runtime.Scheme, validator Validator[T], objects maker[T],
) *Webhook {
	return &Webhook{Handler: validating[T]{
		decoding:  decoding[T]{decoder: NewDecoder(scheme), new: objects},
		validator: validator,
	}}
}

type validating[T runtime.Object] struct {
	decoding[T]
	validator Validator[T]
}

// Handle implements Handler.
func (v validating[T]) Handle(ctx context.Context, req Request) Response {
	ctx = NewContextWithRequest(ctx, req)
	var ask func() (Warnings, error)
	var newObject, oldObject T
	var err error
	switch req.Operation {
	case admissionv1.Connect: // to a Pod's shell, for example: no object is stored
		return Allowed("")
	case admissionv1.Create:
		newObject, err = v.read(req, req.Object)
		ask = func() (Warnings, error) { return v.validator.ValidateCreate(ctx, newObject) }
	case admissionv1.Update:
		if newObject, err = v.read(req, req.Object); err == nil {
			oldObject, err = v.read(req, req.OldObject)
		}
		ask = func() (Warnings, error) {
			return v.validator.ValidateUpdate(ctx, oldObject, newObject)
		}
	case admissionv1.Delete:
		oldObject, err = v.read(req, req.OldObject)
		ask = func() (Warnings, error) { return v.validator.ValidateDelete(ctx, oldObject) }
	default:
		err = fmt.Errorf("unknown operation %q", req.Operation)
	}
	if err != nil {
		return Errored(http.StatusBadRequest, err)
	}
	warnings, err := ask()
	if err != nil {
		return refused(err).WithWarnings(warnings...)
	}
	return Allowed("").WithWarnings(warnings...)
}

// Defaulter fills in what a user left out, before the object is stored.
//
// Default changes obj. An error refuses the request: an API status, such as those of apimachinery's
// api/errors, reaches the user unchanged, and any other error with code 403.
//
// Caveats: the API server may call it more than once for one object, so a second call must change
// nothing.
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

// DefaulterRemoveUnknownOrOmitableFields also removes fields that the Go type doesn't know, and
// empty fields that it omits. Without it, they stay: they may be fields of a newer version of the
// kind.
func DefaulterRemoveUnknownOrOmitableFields(o *defaulterOptions) {
	o.removeUnknownOrOmitableFields = true
}

// WithDefaulter makes a mutating Webhook from a Defaulter.
//
// The object that Default gets is of type T. If T is an interface, it's of the request's kind.
func WithDefaulter[T runtime.Object](
	scheme *runtime.Scheme, defaulter Defaulter[T], opts ...DefaulterOption,
) *Webhook {
	return withDefaulter(scheme, defaulter, makerOf[T](scheme), opts)
}

// WithCustomDefaulter makes a mutating Webhook for objects like obj.
func WithCustomDefaulter(
	scheme *runtime.Scheme, obj runtime.Object, defaulter CustomDefaulter, opts ...DefaulterOption,
) *Webhook {
	return withDefaulter(scheme, defaulter, copiesOf(obj), opts)
}

func withDefaulter[T runtime.Object](
	scheme *runtime.Scheme, defaulter Defaulter[T], objects maker[T], opts []DefaulterOption,
) *Webhook {
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
	if req.Operation == admissionv1.Delete { // a deletion has no object to fill in
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
	if !d.options.removeUnknownOrOmitableFields &&
		reflect.DeepEqual(before, runtime.Object(object)) {
		return yes() // saves three JSON documents
	}
	return d.patch(req.Object.Raw, before, object)
}

// patch returns the changes as a response.
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
