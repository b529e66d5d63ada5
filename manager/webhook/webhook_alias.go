package webhook

import (
	"gomodules.xyz/jsonpatch/v2"

	"github.com/loopwright/loopwright/manager/webhook/admission"
)

// These are package admission's, for programs that import this package alone.
type (
	// CustomDefaulter fills in what a user left out. Newer programs use admission.Defaulter.
	CustomDefaulter = admission.CustomDefaulter
	// CustomValidator says whether an object may be stored. Newer programs use admission.Validator.
	CustomValidator = admission.CustomValidator
	// AdmissionRequest is what the API server asks.
	AdmissionRequest = admission.Request
	// AdmissionResponse is the answer.
	AdmissionResponse = admission.Response
	// Admission serves a handler.
	Admission = admission.Webhook
	// AdmissionHandler decides about a request.
	AdmissionHandler = admission.Handler
	// AdmissionDecoder makes Go objects of a request.
	AdmissionDecoder = admission.Decoder
	// JSONPatchOp is an operation of a JSON patch.
	JSONPatchOp = jsonpatch.Operation
)

// The answers of package admission.
var (
	// Allowed says yes.
	Allowed = admission.Allowed
	// Denied says no.
	Denied = admission.Denied
	// Patched says yes, if the object is changed.
	Patched = admission.Patched
	// Errored says no, because the webhook could not find out.
	Errored = admission.Errored
)
