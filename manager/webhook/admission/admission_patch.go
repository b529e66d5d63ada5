package admission

import (
	"fmt"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// PatchResponseFromRaw says yes, if the object is changed from original to current. Both are JSON.
//
// For original, take the bytes of the request and not what Go makes of them: the API server applies the patch to
// what it has sent. A field that the Go type does not know is in the first and not in the second.
func PatchResponseFromRaw(original, current []byte) Response {
	return patchResponse(original, current, nil)
}

// patchResponse makes the patch from raw to after. If something would be removed or replaced, it asks for the object before, and
// removes nothing that is not there. Without that function, it removes all.
func patchResponse(raw, after []byte, before func() ([]byte, error)) Response {
	from, err := parsed(raw)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	to, err := parsed(after)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	operations := changes(from, from, to)
	if before == nil || !slices.ContainsFunc(operations, mayLose) {
		return patched(operations)
	}
	document, err := before()
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	known, err := parsed(document)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	return patched(changes(from, known, to))
}

// mayLose is true for a removal, and for an object or a list in the place of something else.
func mayLose(operation jsonpatch.Operation) bool {
	switch operation.Value.(type) {
	case map[string]any, []any:
		return operation.Operation == "replace"
	}
	return operation.Operation == "remove"
}

func parsed(document []byte) (value any, err error) {
	if err := json.Unmarshal(document, &value); err != nil {
		return nil, fmt.Errorf("making a patch: not a JSON document: %w", err)
	}
	return value, nil
}

// patched is a response with the type of its patch, and with none if nothing changes.
func patched(operations []jsonpatch.Operation) Response {
	response := yes()
	response.Patches = operations
	if len(operations) > 0 {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
	}
	return response
}
