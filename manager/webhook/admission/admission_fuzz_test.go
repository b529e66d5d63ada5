package admission

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Whatever is sent, there is an answer, and the API server understands it. A validator is never asked to allow
// what could not be read.
func FuzzAReviewIsAnswered(f *testing.F) {
	whole := question(f, admissionv1.Update, configMap("size", "1"), configMap("size", "2"))
	for _, seed := range []string{
		"", "{", "null", "[]", `"text"`, "{}", string(whole), string(whole[:100]), string(whole[:len(whole)-1]), string(whole) + "x",
		strings.Replace(string(whole), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1),
		strings.Replace(string(whole), "UPDATE", "DELETE", 1),
		strings.Replace(string(whole), `"data":{"size":"1"}`, `"data":[1]`, 1),
		strings.Replace(string(whole), questionUID, `\u0000"`, 1),
		`{"kind":1}`, `{"request":{"uid":1}}`, `{"request":[]}`, `{"request":{"uid":"x","object":{"a":1e999}}}`,
		`{"request":{"operation":"CREATE","object":` + strings.Repeat("[", 20000) + `}}`,
		strings.Repeat(`{"request":`, 20000),
		"{\"request\":{\"uid\":\"\xff\",\"operation\":\"CREATE\",\"object\":{\"data\":{\"\xff\":\"\"}}}}",
	} {
		f.Add([]byte(seed))
	}
	hooks := map[bool]http.Handler{true: WithDefaulter(builtIn, coloured), false: WithValidator(builtIn, &noted[*corev1.ConfigMap]{})}
	f.Fuzz(func(t *testing.T, body []byte) {
		var question admissionv1.AdmissionReview
		readable := utiljson.Unmarshal(body, &question) == nil && question.Request != nil
		for mutating, hook := range hooks {
			request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			hook.ServeHTTP(answer, request)
			var review admissionv1.AdmissionReview
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &review))
			require.NotNil(t, review.Response)
			if !readable {
				require.False(t, review.Response.Allowed, "%s", body)
				continue
			}
			_, err := accepted(answer.Body.Bytes(), review.APIVersion, review.Response.UID, mutating)
			require.NoError(t, err, "%s", body)
			if known := answerVersion(question.TypeMeta); known == question.TypeMeta {
				require.Equal(t, known, review.TypeMeta)
				require.Equal(t, strings.ToValidUTF8(string(question.Request.UID), "\ufffd"), string(review.Response.UID))
			}
		}
	})
}

// A patch must lead from any document to any other.
func FuzzAPatchLeadsToTheDocument(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{"a":[1,2,{"b":null}]}`}, {`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`}, {`[1,2,3]`, `[2,3,4]`}, {`{"a":[]}`, `{"a":{}}`},
		{`{"":{"":1}}`, `{"":{"":2}}`}, {`{"a":1e3}`, `{"a":1000}`}, {`{"a":-0}`, `{"a":0}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, from, to []byte) {
		var raw, after any
		if utiljson.Unmarshal(from, &raw) != nil || utiljson.Unmarshal(to, &after) != nil {
			require.False(t, PatchResponseFromRaw(from, to).Allowed)
			return
		}
		// In an object, as all objects of the API server are: JSON patch cannot always replace a whole document.
		raw, after = map[string]any{"root": raw}, map[string]any{"root": after}
		require.True(t, equal(after, applied(t, raw, raw, after)), "from %s to %s", from, to)
	})
}
