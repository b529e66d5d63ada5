package main

import (
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
	require.JSONEq(t, `[
		{"op": "add", "path": "/spec/replicas", "value": 1},
		{"op": "remove", "path": "/spec/theme"},
		{"op": "add", "path": "/status", "value": {"checked": null, "ready": 0}}
	]`, string(patch))
}
