package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The API server checks version and UID of an answer first. If they are wrong, it is all that the
// user reads.
func TestAnAnswerHasTheVersionAndTheUIDOfTheQuestion(t *testing.T) {
	hook := WithValidator(builtIn, &noted[*corev1.ConfigMap]{})
	v1 := question(t, admissionv1.Create, configMap(), nil)
	for _, c := range []struct {
		name, body, contentType, version string
		allowed                          bool
		code                             int32
		message                          string
	}{
		{"a question", string(v1), "application/json", "v1", true, 200, ""},
		{"with a charset", string(v1), "application/json; charset=utf-8", "v1", true, 200, ""},
		{"of the old version", strings.Replace(string(v1), "k8s.io/v1", "k8s.io/v1beta1", 1),
			"application/json", "v1beta1", true, 200, ""},
		{"of no version", strings.Replace(string(v1), `"apiVersion":"admission.k8s.io/v1",`, "", 1),
			"application/json", "v1", true, 200, ""},
		{"of a version to come", strings.Replace(string(v1), "k8s.io/v1", "k8s.io/v2", 1),
			"application/json", "v1", false, 400,
			"the body is a AdmissionReview of version admission.k8s.io/v2, and not an " +
				"AdmissionReview of version admission.k8s.io/v1 or v1beta1"},
		{"of another kind", strings.Replace(string(v1), "AdmissionReview", "TokenReview", 1),
			"application/json", "v1", false, 400, "the body is a TokenReview"},
		{"of no type", string(v1), "", "v1", false, 400, "contentType=, expected application/json"},
		{"of another type", string(v1), "application/yaml", "v1", false, 400,
			"contentType=application/yaml, expected application/json"},
		{"cut off", string(v1[:len(v1)-20]), "application/json", "v1", false, 400,
			"the body is not an AdmissionReview"},
		{"with a number for a name", strings.Replace(string(v1), `"name":"bananas"`, `"name":1`, 1),
			"application/json", "v1", false, 400, "cannot unmarshal number"},
	} {
		answer := post(t, hook, c.contentType, []byte(c.body))
		var review admissionv1.AdmissionReview
		require.NoError(t, json.Unmarshal(answer, &review), c.name)
		require.Equal(t, metav1.TypeMeta{APIVersion: "admission.k8s.io/" + c.version,
			Kind: "AdmissionReview"}, review.TypeMeta, c.name)
		// whose fields may mean something else
		if c.name != "of a version to come" && c.name != "of another kind" {
			require.EqualValues(t, questionUID, review.Response.UID, c.name)
		}
		require.Equal(t, c.allowed, review.Response.Allowed, c.name)
		require.Equal(t, c.code, review.Response.Result.Code, c.name)
		require.Contains(t, review.Response.Result.Message, c.message, c.name)
	}
}

// Tests of ported webhooks compare the text.
func TestAnAnswerEndsWithANewline(t *testing.T) {
	hook := WithValidator(builtIn, &noted[*corev1.ConfigMap]{})
	for _, body := range [][]byte{question(t, admissionv1.Create, configMap(), nil),
		[]byte("nonsense")} {
		answer := post(t, hook, "application/json", body)
		require.True(t, bytes.HasSuffix(answer, []byte("}\n")), "%s", answer)
	}
}

func TestWhatIsNoQuestionIsRefused(t *testing.T) {
	hook := WithValidator(builtIn, &noted[*corev1.ConfigMap]{})
	for _, c := range []struct{ body, message string }{
		{"", "request body is empty"},
		{"{", "the body is not an AdmissionReview"},
		{"nonsense", "the body is not an AdmissionReview"},
		{"null", "the AdmissionReview has no request"},
		{"{}", "the AdmissionReview has no request"},
		{`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
			"the AdmissionReview has no request"},
		{`{"request":{}}`, `unknown operation ""`},
		{`{"kind":"TokenReview"}`, "the body is a TokenReview"},
	} {
		var review admissionv1.AdmissionReview
		require.NoError(t, json.Unmarshal(post(t, hook, "application/json", []byte(c.body)),
			&review))
		require.Equal(t, metav1.TypeMeta{APIVersion: "admission.k8s.io/v1",
			Kind: "AdmissionReview"}, review.TypeMeta, c.body)
		require.False(t, review.Response.Allowed, c.body)
		require.EqualValues(t, http.StatusBadRequest, review.Response.Result.Code, c.body)
		require.Contains(t, review.Response.Result.Message, c.message, c.body)
	}
}

// An answer without the version and the UID of its question is lost, and with it what was wrong.
func TestVersionAndUIDAreFoundInADamagedReview(t *testing.T) {
	const v1, v1beta1 = "admission.k8s.io/v1", "admission.k8s.io/v1beta1"
	for _, c := range []struct{ name, body, version, uid string }{
		{"cut off behind the UID", `{"kind":"AdmissionReview","apiVersion":"` + v1beta1 +
			`","request":{"uid":"x","object":{`, v1beta1, "x"},
		{"with something in front of the UID",
			`{"apiVersion":"` + v1 +
				`","request":{"kind":{"uid":"of a kind"},"name":"n","uid":"x","object":{`, v1, "x"},
		{"with something in front of the request",
			`{"extra":{"request":{"uid":"of another"}},"apiVersion":"` + v1beta1 +
				`","request":{"uid":"x",`, v1beta1, "x"},
		{"with a version in the request",
			`{"apiVersion":"` + v1 + `","request":{"uid":"x","apiVersion":"` + v1beta1 +
				`","object":{`, v1, "x"},
		{"cut off in front of the UID", `{"apiVersion":"` + v1beta1 + `","request":{"name":"n",`,
			v1beta1, ""},
		{"with a number for a UID", `{"apiVersion":"` + v1 + `","request":{"uid":1}}`, v1, ""},
		{"a list", `["apiVersion","` + v1beta1 + `"]`, v1, ""},
		{"with a list for a request", `{"request":["uid","x"]}`, v1, ""},
		{"nothing", ``, v1, ""},
	} {
		require.Equal(t, head{version: metav1.TypeMeta{APIVersion: c.version,
			Kind: "AdmissionReview"}, uid: types.UID(c.uid)}, headOf([]byte(c.body)), c.name)
	}
}

// A body without an end must not fill the memory, and whoever sent it must learn why it was
// refused.
func TestABodyThatIsTooLargeIsRefusedByItsUID(t *testing.T) {
	hook := WithValidator(builtIn, &noted[*corev1.ConfigMap]{})
	for _, c := range []struct {
		name string
		size int
		code int32
	}{
		{"just fits", maxRequestSize, 200},
		{"one byte too much", maxRequestSize + 1, 413},
		{"far too much", 2 * maxRequestSize, 413},
	} {
		body := question(t, admissionv1.Create, configMap(), nil)
		body = append(body, bytes.Repeat([]byte(" "), c.size-len(body))...)
		response := ask(t, hook, false, body)
		require.Equal(t, c.code, response.Result.Code, c.name)
		require.Equal(t, c.code == 200, response.Allowed, c.name)
	}
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	hook := WithValidator(builtIn, &noted[*corev1.ConfigMap]{})
	whole := question(t, admissionv1.Create, configMap(), nil)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/",
		io.MultiReader(bytes.NewReader(whole[:200]), broken{}))
	answer := httptest.NewRecorder()
	hook.ServeHTTP(answer, request)
	response, err := accepted(answer.Body.Bytes(), "admission.k8s.io/v1", questionUID, false)
	require.NoError(t, err)
	require.Contains(t, response.Result.Message, "the line is cut")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }
