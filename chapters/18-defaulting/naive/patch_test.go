package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The text shows this patch.
func TestThePatchIsTheOneThatTheTextShows(t *testing.T) {
	sent := `{"metadata":{"name":"shop","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"page":"home","theme":"dark"}}`
	patch, err := spare(t.Context(), &admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(sent)}})
	require.NoError(t, err)
	var operations []any
	require.NoError(t, json.Unmarshal(patch, &operations))
	require.ElementsMatch(t, []any{
		map[string]any{"op": "add", "path": "/spec/replicas", "value": 1.0},
		map[string]any{"op": "remove", "path": "/spec/theme"},
		map[string]any{"op": "add", "path": "/status", "value": map[string]any{"checked": nil, "ready": 0.0}},
	}, operations, "the library that compares puts them in any order")
}
