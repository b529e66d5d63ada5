package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	conversionmetrics "github.com/loopwright/loopwright/manager/webhook/conversion/metrics"
)

// accepted is a model of the API server: what it makes of an answer about these objects.
func accepted(answer []byte, asked apiextensionsv1.ConversionReview) ([]*unstructured.Unstructured, error) {
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return nil, err
	}
	response := review.Response
	switch {
	case response == nil:
		return nil, errors.New("there is no response")
	case review.TypeMeta != asked.TypeMeta:
		return nil, fmt.Errorf("the response is a %s %s", review.APIVersion, review.Kind)
	case response.UID != asked.Request.UID:
		return nil, fmt.Errorf("the response has the UID %q", response.UID)
	case response.Result.Status != metav1.StatusSuccess:
		return nil, errors.New(response.Result.Message)
	case len(response.ConvertedObjects) != len(asked.Request.Objects):
		return nil, fmt.Errorf("%d objects for %d", len(response.ConvertedObjects), len(asked.Request.Objects))
	}
	var objects []*unstructured.Unstructured
	for i, converted := range response.ConvertedObjects {
		var before, after unstructured.Unstructured
		if err := errors.Join(before.UnmarshalJSON(asked.Request.Objects[i].Raw), after.UnmarshalJSON(converted.Raw)); err != nil {
			return nil, err
		}
		if after.GetAPIVersion() != asked.Request.DesiredAPIVersion || after.GetKind() != before.GetKind() ||
			after.GetName() != before.GetName() || after.GetNamespace() != before.GetNamespace() || after.GetUID() != before.GetUID() {
			return nil, fmt.Errorf("object %d became another one", i)
		}
		objects = append(objects, &after)
	}
	return objects, nil
}

func question(desired string, objects ...string) apiextensionsv1.ConversionReview {
	review := apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: "705ab4f5", DesiredAPIVersion: desired},
	}
	for _, object := range objects {
		review.Request.Objects = append(review.Request.Objects, runtime.RawExtension{Raw: []byte(object)})
	}
	return review
}

func object(version, name, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"shop.example/%s","kind":"Banana","metadata":{"name":%q,"namespace":"shop","uid":"u","labels":{"a":"b"}},%s}`,
		version, name, fields)
}

func post(hook http.Handler, contentType string, body []byte) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/convert?timeout=30s", bytes.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	hook.ServeHTTP(answer, request)
	return answer
}

func ask(t *testing.T, hook http.Handler, review apiextensionsv1.ConversionReview) ([]*unstructured.Unstructured, error) {
	t.Helper()
	body, err := json.Marshal(review)
	require.NoError(t, err)
	answer := post(hook, "application/json", body)
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	require.Equal(t, "application/json", answer.Result().Header.Get("Content-Type"))
	require.NotContains(t, answer.Body.String(), `"request"`, "the API server has the objects that it sent")
	return accepted(answer.Body.Bytes(), review)
}

// handlers convert by methods, and by functions.
func handlers(t *testing.T) map[string]http.Handler {
	t.Helper()
	converter, err := NewHubSpokeConverter(&bananaV2{},
		NewSpokeConverter(&bananaV1{},
			func(_ context.Context, hub *bananaV2, spoke *bananaV1) error { return spoke.ConvertFrom(hub) },
			func(_ context.Context, spoke *bananaV1, hub *bananaV2) error { return spoke.ConvertTo(hub) }),
		NewSpokeConverter(&bananaV3{},
			func(_ context.Context, hub *bananaV2, spoke *bananaV3) error { return spoke.ConvertFrom(hub) },
			func(_ context.Context, spoke *bananaV3, hub *bananaV2) error { return spoke.ConvertTo(hub) }),
	)(bananas())
	require.NoError(t, err)
	registry := NewRegistry()
	require.NoError(t, registry.RegisterConverter(schema.GroupKind{Group: "shop.example", Kind: "Banana"}, converter))
	return map[string]http.Handler{
		"methods": NewWebhookHandler(bananas(), NewRegistry()), "functions": NewWebhookHandler(bananas(), registry),
	}
}

// A user reads and writes the version that he knows, whichever is stored.
func TestEveryVersionBecomesEveryOther(t *testing.T) {
	fields := map[string]string{
		"v1": `"look":"yellow 12"`, "v2": `"colour":"yellow","length":12`, "v3": `"colour":"YELLOW","length":12`,
	}
	for name, hook := range handlers(t) {
		for from := range fields {
			for to := range fields {
				if from == to {
					continue
				}
				objects, err := ask(t, hook, question("shop.example/"+to, object(from, "first", fields[from]), object(from, "second", fields[from])))
				require.NoError(t, err, "%s: %s to %s", name, from, to)
				for i, want := range []string{"first", "second"} {
					got, err := objects[i].MarshalJSON()
					require.NoError(t, err)
					require.JSONEq(t, object(to, want, fields[to]), string(got), "%s: %s to %s", name, from, to)
				}
			}
		}
	}
}

// The message is all that a user gets to see when kubectl get fails because of one object among a thousand.
func TestAFailureNamesTheObject(t *testing.T) {
	good := object("v1", "good", `"look":"yellow 12"`)
	for _, c := range []struct{ name, to, object, want string }{
		{"a look that is none", "shop.example/v2", object("v1", "bad", `"look":"?"`),
			`object 2 of 2 (Banana shop/bad, of shop.example/v1), to shop.example/v2: the look "?" is not a colour and a length`},
		{"on the way through the hub", "shop.example/v3", object("v1", "bad", `"look":"?"`), "is not a colour and a length"},
		{"a panic", "shop.example/v2", object("v1", "bad", `"look":"skin"`),
			"object 2 of 2 (Banana shop/bad, of shop.example/v1), to shop.example/v2: internal error occurred during conversion"},
		{"a name that was lost", "shop.example/v2", object("v1", "bad", `"look":"nameless"`), `the conversion changed metadata.name from "bad" to ""`},
		{"a UID that was lost", "shop.example/v2", object("v1", "bad", `"look":"lost"`), `the conversion changed metadata.uid from "u" to ""`},
		{"that version already", "shop.example/v2", object("v2", "bad", `"colour":"green"`), "it has that version already"},
		{"a version that nobody knows", "shop.example/v2", object("v9", "bad", `"colour":"green"`), "no kind \"Banana\" is registered for version \"shop.example/v9\""},
		{"a kind that nobody knows", "shop.example/v2", `{"apiVersion":"shop.example/v1","kind":"Apple"}`, "no kind \"Apple\" is registered"},
		{"no object", "shop.example/v2", `[1]`, "object 2 of 2, to shop.example/v2: "},
		{"an object of no kind", "shop.example/v2", `{"metadata":{"name":"bad"}}`, "object 2 of 2, to shop.example/v2: "},
		{"an object that is broken elsewhere", "shop.example/v2", `{"kind":"Banana","metadata":1}`, "object 2 of 2, to shop.example/v2: "},
		{"an object in no namespace", "shop.example/v2", `{"apiVersion":"shop.example/v9","kind":"Banana","metadata":{"name":"bad"}}`,
			"object 2 of 2 (Banana bad, of shop.example/v9), to shop.example/v2: "},
		{"a broken object", "shop.example/v2", object("v1", "bad", `"look":1`), "cannot unmarshal"},
	} {
		for name, hook := range handlers(t) {
			objects, err := ask(t, hook, question(c.to, good, c.object))
			require.ErrorContains(t, err, c.want, "%s, by %s", c.name, name)
			require.Empty(t, objects)
		}
	}
	for _, c := range []struct{ to, want string }{
		{"shop.example/v9", `no kind "Banana" is registered for version "shop.example/v9"`},
		{"other.example/v1", "are not versions of one kind"}, {"", "are not versions of one kind"}, {"a/b/c", "are not versions of one kind"},
	} {
		for name, hook := range handlers(t) {
			_, err := ask(t, hook, question(c.to, good))
			require.ErrorContains(t, err, "object 1 of 1", "to %q, by %s", c.to, name)
			require.ErrorContains(t, err, c.want, "to %q, by %s", c.to, name)
		}
	}
}

func TestNoObjectsAreNoTrouble(t *testing.T) {
	for _, hook := range handlers(t) {
		objects, err := ask(t, hook, question("shop.example/v2"))
		require.NoError(t, err)
		require.Empty(t, objects)
	}
}

func TestPanicsAreCountedAndReported(t *testing.T) {
	var reported []any
	defer func(before []func(context.Context, any)) { utilruntime.PanicHandlers = before }(utilruntime.PanicHandlers)
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, value any) { reported = append(reported, value) }}
	before := testutil.ToFloat64(conversionmetrics.WebhookPanics)
	_, err := ask(t, handlers(t)["methods"], question("shop.example/v2", object("v1", "bad", `"look":"skin"`)))
	require.Error(t, err)
	require.Equal(t, before+1, testutil.ToFloat64(conversionmetrics.WebhookPanics))
	require.Equal(t, []any{"slipped"}, reported)
}

func TestWhatIsNoConversionReviewIsABadRequest(t *testing.T) {
	hook := http.MaxBytesHandler(NewWebhookHandler(bananas(), NewRegistry()), 100) // as the server does
	for _, c := range []struct {
		name, contentType, body string
		code                    int
		want                    string
	}{
		{"nothing", "", "", 400, "request body is empty"},
		{"no JSON", "", "{", 400, "the body is not a ConversionReview"},
		{"no request", "", "{}", 400, "the ConversionReview has no request"},
		{"another kind", "", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "the body is a AdmissionReview of version admission.k8s.io/v1"},
		{"a version to come", "", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v2"}`, 400, "of version apiextensions.k8s.io/v2"},
		{"YAML", "application/yaml", "{}", 400, "contentType=application/yaml, expected application/json"},
		{"nothing, as JSON", "application/json", "", 400, "request body is empty"},
		{"another kind of that version", "", `{"kind":"AdmissionReview","apiVersion":"apiextensions.k8s.io/v1"}`, 400, "the body is a AdmissionReview of version apiextensions.k8s.io/v1"},
		{"a version without a kind", "", `{"apiVersion":"apiextensions.k8s.io/v1"}`, 400, "the body is a  of version apiextensions.k8s.io/v1"},
		{"too much", "", `{"request":{"uid":"` + strings.Repeat("x", 100) + `"}}`, 413, "request entity is too large; limit is 100 bytes"},
	} {
		answer := post(hook, c.contentType, []byte(c.body))
		require.Equal(t, c.code, answer.Code, c.name)
		require.Contains(t, answer.Body.String(), c.want, c.name)
	}
}

func TestTheOldVersionIsAnsweredInTheOldVersion(t *testing.T) {
	review := question("shop.example/v2", object("v1", "first", `"look":"yellow 12"`))
	review.APIVersion = "apiextensions.k8s.io/v1beta1"
	_, err := ask(t, handlers(t)["methods"], review)
	require.NoError(t, err)
}

// Whatever is sent, there is an answer, and it is one that the API server can read.
func FuzzAConversionIsAnswered(f *testing.F) {
	for _, object := range []string{object("v1", "a", `"look":"yellow 12"`), object("v1", "a", `"look":"skin"`), object("v3", "a", `"length":1e9`), "null", "{}", "[]"} {
		for _, to := range []string{"shop.example/v2", "shop.example/v3", "", "///"} {
			body, err := json.Marshal(question(to, object))
			require.NoError(f, err)
			f.Add(body)
			f.Add(body[:len(body)/2])
		}
	}
	f.Add([]byte(`{"request":{"objects":[{"apiVersion":"shop.example/v1","kind":"Banana","metadata":{"name":1}}]}}`))
	f.Add([]byte(`{"request":{"desiredAPIVersion":"shop.example/v2","objects":[` + strings.Repeat("[", 20000) + `]}}`))
	hook := NewWebhookHandler(bananas(), NewRegistry())
	f.Fuzz(func(t *testing.T, body []byte) {
		var asked, answered apiextensionsv1.ConversionReview
		readable := json.Unmarshal(body, &asked) == nil && asked.Request != nil
		answer := post(hook, "application/json", body)
		if !readable {
			require.Equal(t, http.StatusBadRequest, answer.Code)
			return
		}
		if answer.Code == http.StatusBadRequest { // a version that is not known
			return
		}
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &answered))
		if answered.Response.Result.Status == metav1.StatusSuccess {
			asked.TypeMeta = answered.TypeMeta
			asked.Request.UID = answered.Response.UID
			_, err := accepted(answer.Body.Bytes(), asked)
			require.NoError(t, err)
		}
	})
}
