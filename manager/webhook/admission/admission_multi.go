package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MultiMutatingHandler asks several handlers, one after the other, and puts their patches together. The
// first that says no ends it, with its answer.
//
// Each handler sees the object as it came, without the patches of those before it. So the patches must not
// touch the same fields.
//
// A handler may give its patch as Patches or as bytes; controller-runtime loses the latter, and audit
// annotations.
func MultiMutatingHandler(handlers ...Handler) Handler {
	return several{handlers: handlers, mutating: true}
}

// MultiValidatingHandler asks several handlers, one after the other. The first that says no ends it, with
// its answer.
func MultiValidatingHandler(handlers ...Handler) Handler { return several{handlers: handlers} }

type several struct {
	handlers []Handler
	mutating bool
}

// Handle implements Handler.
func (s several) Handle(ctx context.Context, req Request) Response {
	all := yes()
	all.Result = &metav1.Status{Code: http.StatusOK}
	all.AuditAnnotations = map[string]string{}
	operations := []json.RawMessage{}
	for _, handler := range s.handlers {
		response := handler.Handle(ctx, req)
		if !response.Allowed {
			return response
		}
		theirs, err := operationsOf(response)
		if err != nil {
			return Errored(http.StatusInternalServerError, err)
		}
		operations = append(operations, theirs...)
		all = all.WithWarnings(response.Warnings...)
		maps.Copy(all.AuditAnnotations, response.AuditAnnotations)
	}
	if !s.mutating {
		return all
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return Errored(http.StatusInternalServerError, fmt.Errorf("putting the patches together: %w", err))
	}
	patchType := admissionv1.PatchTypeJSONPatch
	all.Patch, all.PatchType = patch, &patchType
	return all
}

// operationsOf returns the operations of a response's patch. They stay bytes: a user's own patch may have
// operations that jsonpatch.Operation has no fields for, such as move.
func operationsOf(response Response) (operations []json.RawMessage, err error) {
	if response.PatchType != nil && *response.PatchType != admissionv1.PatchTypeJSONPatch {
		return nil, fmt.Errorf("a handler answered with a patch of type %q; only %s can be put together with others",
			*response.PatchType, admissionv1.PatchTypeJSONPatch)
	}
	patch := response.Patch
	if len(response.Patches) > 0 {
		if patch, err = json.Marshal(response.Patches); err != nil {
			return nil, fmt.Errorf("a handler's patch cannot be written as JSON: %w", err)
		}
	}
	if len(patch) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("a handler's patch is not a list of operations: %w", err)
	}
	return operations, nil
}
