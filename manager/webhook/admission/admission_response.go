package admission

import (
	"errors"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Allowed says yes. The message may be empty.
func Allowed(message string) Response { return ValidationResponse(true, message) }

// Denied says no. The user reads the message.
func Denied(message string) Response { return ValidationResponse(false, message) }

// Patched says yes, if the object is changed like this.
func Patched(message string, patches ...jsonpatch.JsonPatchOperation) Response {
	response := Allowed(message)
	response.Patches = patches
	return response
}

// Errored says no, because the webhook could not find out. The code is an HTTP status code; the user reads
// the error.
func Errored(code int32, err error) Response {
	return refusal(metav1.Status{Code: code, Message: err.Error()})
}

// ValidationResponse says yes or no, with the codes 200 and 403.
func ValidationResponse(allowed bool, message string) Response {
	if !allowed {
		return refusal(metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message})
	}
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: true,
		Result:  &metav1.Status{Code: http.StatusOK, Message: message},
	}}
}

// WithWarnings adds warnings, which kubectl shows. Those that are there stay.
func (r Response) WithWarnings(warnings ...string) Response {
	// The slice is a new one: two responses made of the same one must not write into each other.
	r.Warnings = slices.Concat(r.Warnings, warnings)
	return r
}

func refusal(status metav1.Status) Response {
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// refused is the answer to an error of a Defaulter or a Validator. An error that is a Status, such as
// those of apimachinery's api/errors, reaches the user with its code and its details.
func refused(err error) Response {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return refusal(status.Status())
	}
	return Denied(err.Error())
}

// yes is an answer without any words.
func yes() Response {
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
}
