package admission

import (
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Warnings are shown to the user, whether the request is allowed or not. The API server cuts them off after 120
// characters or so.
type Warnings []string

// Validator says whether an object may be created, changed or deleted like this.
//
// An error refuses the request: an API status, such as those of apimachinery's api/errors, reaches the user
// as it is, and any other error as code 403.
type Validator[T runtime.Object] interface {
	// ValidateCreate is called with the new object.
	ValidateCreate(ctx context.Context, obj T) (warnings Warnings, err error)
	// ValidateUpdate is called with the object as it is stored, and as it is to be.
	ValidateUpdate(ctx context.Context, oldObj, newObj T) (warnings Warnings, err error)
	// ValidateDelete is called with the object as it is stored.
	ValidateDelete(ctx context.Context, obj T) (warnings Warnings, err error)
}

// CustomValidator is a Validator of any object. Newer programs use Validator with their own type.
type CustomValidator = Validator[runtime.Object]

// WithValidator makes a validating Webhook from a Validator.
//
// The objects that it is given are of type T. If T is an interface, they are of the request's kind.
func WithValidator[T runtime.Object](scheme *runtime.Scheme, validator Validator[T]) *Webhook {
	return withValidator(scheme, validator, makerOf[T](scheme))
}

// WithCustomValidator makes a validating Webhook for objects like obj.
func WithCustomValidator(scheme *runtime.Scheme, obj runtime.Object, validator CustomValidator) *Webhook {
	return withValidator(scheme, validator, copiesOf(obj))
}

func withValidator[T runtime.Object](scheme *runtime.Scheme, validator Validator[T], objects maker[T]) *Webhook {
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
	case admissionv1.Connect: // to a Pod's shell, say: no object is stored
		return Allowed("")
	case admissionv1.Create:
		newObject, err = v.read(req, req.Object)
		ask = func() (Warnings, error) { return v.validator.ValidateCreate(ctx, newObject) }
	case admissionv1.Update:
		if newObject, err = v.read(req, req.Object); err == nil {
			oldObject, err = v.read(req, req.OldObject)
		}
		ask = func() (Warnings, error) { return v.validator.ValidateUpdate(ctx, oldObject, newObject) }
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
