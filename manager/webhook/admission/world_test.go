package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// accepted is a model of the API server: what it makes of an answer to its question. The error is
// what the user reads as "failed calling webhook".
func accepted(
	answer []byte, version string, uid types.UID, mutating bool,
) (*admissionv1.AdmissionResponse, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return nil, err
	}
	response := review.Response
	switch {
	case response == nil:
		return nil, errors.New("there is no response")
	case version == "admission.k8s.io/v1beta1": // of which it checks nothing
		return response, nil
	case response.UID != uid:
		return nil, fmt.Errorf("the response has the UID %q, and not %q", response.UID, uid)
	case review.APIVersion != version || review.Kind != "AdmissionReview":
		return nil, fmt.Errorf("the response is a %s %s", review.APIVersion, review.Kind)
	case !mutating && (len(response.Patch) > 0 || response.PatchType != nil):
		return nil, errors.New("a validating webhook has a patch")
	case len(response.Patch) > 0 && response.PatchType == nil:
		return nil, errors.New("a patch has no type")
	case len(response.Patch) == 0 && response.PatchType != nil:
		return nil, errors.New("a patch type has no patch")
	case response.PatchType != nil && *response.PatchType != admissionv1.PatchTypeJSONPatch:
		return nil, fmt.Errorf("a patch has the type %q", *response.PatchType)
	}
	return response, nil
}

const questionUID = "705ab4f5-6393-11e8-b7cc-42010a800002"

// question is a request about an object, as bytes. old may be nil, and so may object.
func question(t testing.TB, operation admissionv1.Operation, object, old any) []byte {
	t.Helper()
	raw := func(object any) (e runtime.RawExtension) {
		switch object := object.(type) {
		case nil:
		case string:
			e.Raw = []byte(object)
		default:
			e.Raw = document(t, object)
		}
		return e
	}
	return document(t, admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       questionUID,
			Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			Name:      "bananas",
			Namespace: "shop",
			Operation: operation,
			Object:    raw(object),
			OldObject: raw(old),
		},
	})
}

// post sends a body to a webhook, with a type of content that may be empty.
func post(t testing.TB, hook http.Handler, contentType string, body []byte) []byte {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook?timeout=10s",
		bytes.NewReader(body))
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	answer := httptest.NewRecorder()
	hook.ServeHTTP(answer, request)
	require.Equal(t, http.StatusOK, answer.Code,
		"an answer with another status never reaches the user")
	require.Equal(t, "application/json", answer.Result().Header.Get("Content-Type"))
	return answer.Body.Bytes()
}

// ask sends a question, and fails if the API server refuses the answer.
func ask(
	t testing.TB, hook http.Handler, mutating bool, question []byte,
) *admissionv1.AdmissionResponse {
	t.Helper()
	answer := post(t, hook, "application/json", question)
	response, err := accepted(answer, "admission.k8s.io/v1", questionUID, mutating)
	require.NoError(t, err, "the API server refuses the answer %s", answer)
	return response
}

func configMap(data ...string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bananas"},
	}
	for i := 0; i+1 < len(data); i += 2 {
		if object.Data == nil {
			object.Data = map[string]string{}
		}
		object.Data[data[i]] = data[i+1]
	}
	return object
}

// defaultFunc is a Defaulter.
type defaultFunc[T runtime.Object] func(ctx context.Context, object T) error

func (f defaultFunc[T]) Default(ctx context.Context, object T) error { return f(ctx, object) }

// noted is a Validator that notes what it is asked, and says what it is told to say.
type noted[T runtime.Object] struct {
	asked    []string
	warnings Warnings
	err      error
}

func (n *noted[T]) note(ctx context.Context, question string, objects ...T) (Warnings, error) {
	req, err := RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("%s for %s:", question, req.Operation)
	for _, object := range objects {
		bytes, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		var content struct{ Data map[string]string }
		if err := json.Unmarshal(bytes, &content); err != nil {
			return nil, err
		}
		line += fmt.Sprint(" ", content.Data)
	}
	n.asked = append(n.asked, line)
	return n.warnings, n.err
}

func (n *noted[T]) ValidateCreate(ctx context.Context, object T) (Warnings, error) {
	return n.note(ctx, "create", object)
}

func (n *noted[T]) ValidateUpdate(ctx context.Context, old, object T) (Warnings, error) {
	return n.note(ctx, "update", old, object)
}

func (n *noted[T]) ValidateDelete(ctx context.Context, object T) (Warnings, error) {
	return n.note(ctx, "delete", object)
}

var builtIn = scheme.Scheme
