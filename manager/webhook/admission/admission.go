// Package admission answers the API server when it asks whether an object may be stored, and with
// which changes.
//
// An HTTP request holds an AdmissionReview. It becomes a Request; a Handler turns that into a
// Response; and the Response becomes an AdmissionReview again:
//
//	bytes -> readReview -> Request -> Handler -> Response -> Complete -> writeReview -> bytes
//
// Everything but ServeHTTP is a function of its arguments, and knows nothing of HTTP. A Handler is
// your own function, or is made from a Defaulter or a Validator, which work on Go objects.
//
// Neighbours: below it is package log. Above it are the webhook server, which serves a Webhook at a
// path, and the builder, which makes one for a kind.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is the API server's question: may this user do this with this object?
type Request struct {
	admissionv1.AdmissionRequest
}

// Response is the answer: whether the request is allowed, why, and how to change the object.
type Response struct {
	// Patches are the changes. Complete writes them into AdmissionResponse.Patch. A handler that
	// has its patch as bytes sets Patch and PatchType instead.
	Patches []jsonpatch.JsonPatchOperation
	admissionv1.AdmissionResponse
}

// Complete fills in what every answer needs: the UID of the request, a status code, and the patch
// as bytes.
//
// It removes a patch type without a patch, which the API server would refuse. It changes nothing
// that the response points to: a handler may return the same Response, and the same Result in it,
// many times.
func (r *Response) Complete(req Request) error {
	r.UID = req.UID
	result := metav1.Status{}
	if r.Result != nil {
		result = *r.Result
	}
	if result.Code == 0 {
		result.Code = http.StatusOK
	}
	r.Result = &result

	if len(r.Patches) > 0 {
		patch, err := json.Marshal(r.Patches)
		if err != nil {
			return err
		}
		patchType := admissionv1.PatchTypeJSONPatch
		r.Patch, r.PatchType = patch, &patchType
	}
	if len(r.Patch) == 0 {
		r.PatchType = nil
	}
	return nil
}

// Handler answers a Request.
type Handler interface {
	// Handle answers the request. The context ends when the API server no longer waits for the
	// answer.
	Handle(context.Context, Request) Response
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(context.Context, Request) Response

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, req Request) Response { return f(ctx, req) }

// requestKey is the context key of the Request.
type requestKey struct{}

// RequestFromContext returns the Request that a Defaulter or a Validator was called for.
func RequestFromContext(ctx context.Context) (Request, error) {
	req, found := ctx.Value(requestKey{}).(Request)
	if !found {
		return Request{}, errors.New("the context has no admission.Request: " +
			"only contexts that a Defaulter or a Validator is given have one, " +
			"and those made by NewContextWithRequest")
	}
	return req, nil
}

// NewContextWithRequest returns a context that has the Request. Tests of a Defaulter or a Validator
// use it.
func NewContextWithRequest(ctx context.Context, req Request) context.Context {
	return context.WithValue(ctx, requestKey{}, req)
}

// Allowed allows the request. The message may be empty.
func Allowed(message string) Response { return ValidationResponse(true, message) }

// Denied refuses the request. The user sees the message.
func Denied(message string) Response { return ValidationResponse(false, message) }

// Patched allows the request, with these changes to the object.
func Patched(message string, patches ...jsonpatch.JsonPatchOperation) Response {
	response := Allowed(message)
	response.Patches = patches
	return response
}

// Errored refuses the request because the webhook failed. The code is an HTTP status code; the user
// sees the error.
func Errored(code int32, err error) Response {
	return refusal(metav1.Status{Code: code, Message: err.Error()})
}

// ValidationResponse allows or refuses the request, with the codes 200 and 403.
func ValidationResponse(allowed bool, message string) Response {
	if !allowed {
		return refusal(metav1.Status{
			Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
		})
	}
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: true,
		Result:  &metav1.Status{Code: http.StatusOK, Message: message},
	}}
}

// WithWarnings adds warnings, which kubectl shows, to those that are there already.
func (r Response) WithWarnings(warnings ...string) Response {
	// A new slice: two responses made from the same one must not write into each other.
	r.Warnings = slices.Concat(r.Warnings, warnings)
	return r
}

func refusal(status metav1.Status) Response {
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// refused is the answer to an error of a Defaulter or a Validator. An error that is a Status, such
// as those of apimachinery's api/errors, reaches the user with its code and its details.
func refused(err error) Response {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return refusal(status.Status())
	}
	return Denied(err.Error())
}

// yes allows the request without a message.
func yes() Response {
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
}
