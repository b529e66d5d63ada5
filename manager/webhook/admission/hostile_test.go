package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A question that breaks off anywhere is refused, and the handler isn't asked. As soon as the UID
// is in the part that came, it's in the answer: without it the user reads "expected response.uid"
// in place of the reason.
func TestAQuestionThatBreaksOffAnywhereIsRefusedWithItsUIDIfThatHasCome(t *testing.T) {
	whole := question(t, admissionv1.Create, configMap(), nil)
	asked := 0
	hook := answering(func() Response { asked++; return Allowed("") })
	found := bytes.Index(whole, []byte(questionUID)) + len(questionUID) + 1
	for n := range len(bytes.TrimSpace(whole)) {
		response := answerTo(t, hook, whole[:n], n >= found)
		require.False(t, response.Allowed, "%d bytes", n)
		require.NotEmpty(t, response.Result.Message, "%d bytes", n)
	}
	require.Zero(t, asked)
	require.True(t, answerTo(t, hook, whole, true).Allowed)
}

// The API server never sends these. Whoever else does gets a refusal, and the process goes on.
func TestWhateverIsSentTheAnswerIsAReviewThatAllowsNothing(t *testing.T) {
	hook := answering(func() Response { return Allowed("") })
	for name, body := range map[string]string{
		"null":                "null",
		"a list":              "[]",
		"a text":              `"hello"`,
		"two documents":       `{"request":{"uid":"a"}}{"request":{"uid":"b"}}`,
		"10,000 brackets":     strings.Repeat("[", 10_000),
		"10,000 objects":      strings.Repeat(`{"request":`, 10_000),
		"a UID of a number":   `{"request":{"uid":7}}`,
		"a request of a list": `{"request":[]}`,
		"a request of null":   `{"request":null}`,
		"no UTF-8":            "{\"request\":{\"uid\":\"\xff\xfe\",\"operation\":7}}",
		"zeros":               strings.Repeat("\x00", 100),
		"another kind":        `{"kind":"Status","apiVersion":"v1","request":{"uid":"a"}}`,
		"an old version": `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1alpha1",` +
			`"request":{"uid":"a"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			response := answerTo(t, hook, []byte(body), false)
			require.False(t, response.Allowed)
			require.EqualValues(t, http.StatusBadRequest, response.Result.Code)
		})
	}
}

// A handler may answer another request's UID by mistake, when it returns a response that it keeps.
func TestAnAnswerHasTheUIDOfItsQuestionWhateverTheHandlerSays(t *testing.T) {
	kept := Allowed("")
	kept.UID = "of another request"
	hook := answering(func() Response { return kept })
	require.True(t, answerTo(t, hook, question(t, admissionv1.Create, configMap(), nil),
		true).Allowed)
	require.Equal(t, types.UID("of another request"), kept.UID)
	asked := Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: questionUID}}
	require.EqualValues(t, questionUID, hook.Handle(t.Context(), asked).UID,
		"for a caller without HTTP")
	require.Contains(t, string(writeReview(head{uid: questionUID}, kept)), questionUID,
		"for a request of which the handler never heard")
}

func answering(answer func() Response) *Webhook {
	return &Webhook{Handler: HandlerFunc(func(context.Context, Request) Response {
		return answer()
	})}
}

func answerTo(
	t *testing.T, hook *Webhook, body []byte, hasUID bool,
) *admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(post(t, hook, "application/json", body), &review))
	require.Equal(t, "AdmissionReview", review.Kind)
	if hasUID {
		require.EqualValues(t, questionUID, review.Response.UID, "%d bytes", len(body))
	}
	return review.Response
}
