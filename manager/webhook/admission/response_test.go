package admission

import (
	"context"
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestTheAnswersOfAHandler(t *testing.T) {
	add := jsonpatch.NewOperation("add", "/data/colour", "yellow")
	for _, c := range []struct {
		name     string
		response Response
		allowed  bool
		status   metav1.Status
		patches  []jsonpatch.Operation
	}{
		{"yes", Allowed(""), true, metav1.Status{Code: 200}, nil},
		{"yes, with a message", Allowed("fine"), true, metav1.Status{Code: 200, Message: "fine"},
			nil},
		{"no", Denied("no"), false, metav1.Status{Code: 403, Reason: "Forbidden", Message: "no"},
			nil},
		{"a failure", Errored(418, errors.New("tea")), false,
			metav1.Status{Code: 418, Message: "tea"}, nil},
		{"a patch", Patched("coloured", add), true, metav1.Status{Code: 200, Message: "coloured"},
			[]jsonpatch.Operation{add}},
	} {
		require.Equal(t, c.allowed, c.response.Allowed, c.name)
		require.Equal(t, &c.status, c.response.Result, c.name)
		require.Equal(t, c.patches, c.response.Patches, c.name)
	}
}

func TestAPatchIsMadeOfTwoDocuments(t *testing.T) {
	response := PatchResponseFromRaw([]byte(`{"a":"b"}`), []byte(`{"a":"b","c":"d"}`))
	require.Equal(t, []jsonpatch.Operation{jsonpatch.NewOperation("add", "/c", "d")},
		response.Patches)
	require.Equal(t, admissionv1.PatchTypeJSONPatch, *response.PatchType)

	response = PatchResponseFromRaw([]byte(`{"a":1}`), []byte(` {"a" : 1}`))
	require.True(t, response.Allowed)
	require.Empty(t, response.Patches)
	require.Nil(t, response.PatchType, "the API server refuses a type without a patch")

	for _, broken := range [][2]string{{`{`, `{}`}, {`{}`, ``}} {
		response = PatchResponseFromRaw([]byte(broken[0]), []byte(broken[1]))
		require.False(t, response.Allowed)
		require.EqualValues(t, http.StatusInternalServerError, response.Result.Code)
	}
}

// A removal that nobody has asked for loses what a user has written. So if it is not known what Go
// made of the object, there is no patch that removes something.
func TestAPatchThatMayLoseSomethingNeedsTheObjectBefore(t *testing.T) {
	for _, c := range []struct {
		name, raw, after, before string
		err                      error
		want                     string
	}{
		{"it cannot be written", `{"a":1}`, `{}`, ``, errors.New("no words for it"),
			"no words for it"},
		{"it is no JSON", `{"a":1}`, `{}`, `{`, nil, "making a patch: not a JSON document"},
	} {
		response := patchResponse([]byte(c.raw), []byte(c.after), func() ([]byte, error) {
			return []byte(c.before), c.err
		})
		require.False(t, response.Allowed, c.name)
		require.EqualValues(t, http.StatusInternalServerError, response.Result.Code, c.name)
		require.Contains(t, response.Result.Message, c.want, c.name)
	}
	response := patchResponse([]byte(`{"a":1}`), []byte(`{"a":2,"b":{}}`), func() ([]byte, error) {
		t.Error("the object was written once more, for a patch that loses nothing")
		return nil, nil
	})
	require.Len(t, response.Patches, 2)
}

// One Response, kept in a variable, may answer many requests at the same time.
func TestAResponseThatIsUsedTwiceIsNotChanged(t *testing.T) {
	kept := Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true,
		Result: &metav1.Status{}}}
	first, second := kept, kept
	require.NoError(t, first.Complete(Request{admissionv1.AdmissionRequest{UID: "1"}}))
	require.NoError(t, second.Complete(Request{admissionv1.AdmissionRequest{UID: "2"}}))
	require.EqualValues(t, "1", first.UID)
	require.EqualValues(t, 200, first.Result.Code)
	require.Zero(t, kept.Result.Code,
		"Complete changed what the response points to, and so the answers of others")

	kept.Warnings = append(make([]string, 0, 8), "both")
	first, second = kept.WithWarnings("first"), kept.WithWarnings("second")
	require.Equal(t, []string{"both", "first"}, first.Warnings)
	require.Equal(t, []string{"both", "second"}, second.Warnings)
}

func TestCompleteMakesAnAnswerThatTheAPIServerTakes(t *testing.T) {
	jsonPatch := admissionv1.PatchTypeJSONPatch
	for _, c := range []struct {
		name     string
		response Response
		patch    string
	}{
		{"nothing but a no", Response{}, ""},
		{"operations", Patched("", jsonpatch.NewOperation("replace", "/a", nil)),
			`[{"op":"replace","path":"/a","value":null}]`},
		{"operations beside a patch",
			Response{Patches: []jsonpatch.Operation{jsonpatch.NewOperation("remove", "/a", nil)},
				AdmissionResponse: admissionv1.AdmissionResponse{Patch: []byte("old")}}, `[{"op":"remove","path":"/a"}]`},
		{"a patch as bytes",
			Response{AdmissionResponse: admissionv1.AdmissionResponse{Patch: []byte(`[]`),
				PatchType: &jsonPatch}}, `[]`},
		{"a type without a patch",
			Response{AdmissionResponse: admissionv1.AdmissionResponse{PatchType: &jsonPatch}}, ""},
	} {
		require.NoError(t,
			c.response.Complete(Request{admissionv1.AdmissionRequest{UID: questionUID}}))
		answer, err := accepted(writeReview(head{version: answerVersion(metav1.TypeMeta{}),
			uid: questionUID}, c.response),
			"admission.k8s.io/v1", questionUID, true)
		require.NoError(t, err, c.name)
		require.Equal(t, c.patch, string(answer.Patch), c.name)
	}
}

func TestAPatchThatIsNoJSONIsAFailure(t *testing.T) {
	hook := &Webhook{Handler: HandlerFunc(func(context.Context, Request) Response {
		return Patched("", jsonpatch.NewOperation("add", "/a", math.Inf(1)))
	})}
	response := hook.Handle(t.Context(), Request{admissionv1.AdmissionRequest{UID: questionUID}})
	require.False(t, response.Allowed)
	require.EqualValues(t, questionUID, response.UID,
		"without it, the API server refuses the answer, and the user never reads the message")
	require.Equal(t, "unable to encode response", response.Result.Message)
}

func always(response Response) Handler {
	return HandlerFunc(func(context.Context, Request) Response { return response })
}

func TestSeveralHandlersAnswerTogether(t *testing.T) {
	jsonPatch, other := admissionv1.PatchTypeJSONPatch, admissionv1.PatchType("MergePatch")
	adds := Patched("", jsonpatch.NewOperation("add", "/a", 1)).WithWarnings("added")
	moves := Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true,
		PatchType: &jsonPatch,
		Patch:     []byte(`[{"op":"move","from":"/b","path":"/c"}]`), AuditAnnotations: map[string]string{"moved": "b"}}}
	for _, c := range []struct {
		name     string
		handlers []Handler
		allowed  bool
		patch    string
		message  string
	}{
		{"none", nil, true, `[]`, ""},
		{"one without a patch", []Handler{always(Allowed(""))}, true, `[]`, ""},
		{"two patches, in order", []Handler{always(adds), always(moves)}, true,
			`[{"op":"add","path":"/a","value":1},{"op":"move","from":"/b","path":"/c"}]`, ""},
		{"several in several", []Handler{MultiMutatingHandler(always(adds)), always(moves)}, true,
			`[{"op":"add","path":"/a","value":1},{"op":"move","from":"/b","path":"/c"}]`, ""},
		{"a no ends it", []Handler{always(adds), always(Denied("no")),
			HandlerFunc(func(context.Context, Request) Response {
				panic("asked after a no")
			})}, false, "", "no"},
		{"a patch of another type",
			[]Handler{always(Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, PatchType: &other}})},
			false, "", `a handler answered with a patch of type "MergePatch"`},
		{"a patch that is none",
			[]Handler{always(Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, PatchType: &jsonPatch, Patch: []byte("{}")}})},
			false, "", "a handler's patch is not a list of operations"},
		{"a patch that is no JSON", []Handler{always(Patched("",
			jsonpatch.NewOperation("add", "/a", math.NaN())))},
			false, "", "a handler's patch cannot be written as JSON"},
	} {
		response := ask(t, &Webhook{Handler: MultiMutatingHandler(c.handlers...)}, true,
			question(t, admissionv1.Create, configMap(), nil))
		require.Equal(t, c.allowed, response.Allowed, c.name)
		require.Equal(t, c.patch, string(response.Patch), c.name)
		require.Contains(t, response.Result.Message, c.message, c.name)
	}
	notes := Allowed("")
	notes.AuditAnnotations = map[string]string{"noted": "yes"}
	response := MultiMutatingHandler(always(notes), always(adds), always(moves)).Handle(t.Context(),
		Request{})
	require.EqualValues(t, http.StatusOK, response.Result.Code)
	require.Equal(t, []string{"added"}, response.Warnings)
	require.Equal(t, map[string]string{"noted": "yes", "moved": "b"}, response.AuditAnnotations)
}

func TestSeveralValidatorsMustAllAgree(t *testing.T) {
	hook := &Webhook{Handler: MultiValidatingHandler(always(Allowed("").WithWarnings("a")),
		always(Allowed("").WithWarnings("b")))}
	response := ask(t, hook, false, question(t, admissionv1.Create, configMap(), nil))
	require.True(t, response.Allowed)
	require.Equal(t, []string{"a", "b"}, response.Warnings)

	hook = &Webhook{Handler: MultiValidatingHandler(always(Allowed("")), always(Denied("no")))}
	require.False(t, ask(t, hook, false, question(t, admissionv1.Create, configMap(), nil)).Allowed)
}

func TestADecoderReadsBothObjects(t *testing.T) {
	decoder := NewDecoder(builtIn)
	var req Request
	req.Object = runtime.RawExtension{Raw: document(t, configMap("size", "2"))}
	req.OldObject = runtime.RawExtension{Raw: document(t, configMap("size", "1"))}
	var object, old corev1.ConfigMap
	require.NoError(t, decoder.Decode(req, &object))
	require.NoError(t, decoder.DecodeRaw(req.OldObject, &old))
	require.Equal(t, "2", object.Data["size"])
	require.Equal(t, "1", old.Data["size"])
	require.ErrorContains(t, decoder.DecodeRaw(runtime.RawExtension{}, &old),
		"there is no content to decode")
	require.PanicsWithValue(t, "admission.NewDecoder needs a scheme: pass mgr.GetScheme()", func() {
		NewDecoder(nil)
	})
}

func TestARequestIsInTheContext(t *testing.T) {
	_, err := RequestFromContext(t.Context())
	require.ErrorContains(t, err, "has no admission.Request")
	want := Request{admissionv1.AdmissionRequest{UID: questionUID}}
	got, err := RequestFromContext(NewContextWithRequest(t.Context(), want))
	require.NoError(t, err)
	require.Equal(t, want, got)
}
