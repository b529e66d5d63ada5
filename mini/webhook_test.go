package mini_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/bufconn"
	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/mini"
)

// review is what the API server sends. Empty strings are no object.
func review(operation admissionv1.Operation, kind, old, obj string) string {
	request := &admissionv1.AdmissionRequest{
		UID: "705ab4f5", Operation: operation, Kind: metav1.GroupVersionKind{Version: "v1", Kind: kind},
	}
	if old != "" {
		request.OldObject = runtime.RawExtension{Raw: []byte(old)}
	}
	if obj != "" {
		request.Object = runtime.RawExtension{Raw: []byte(obj)}
	}
	data, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  request,
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func post(handler http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// ask sends a review and returns the answer.
func ask(t *testing.T, handler http.Handler, body string) *admissionv1.AdmissionResponse {
	t.Helper()
	w := post(handler, body)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "application/json", w.Result().Header.Get("Content-Type"))
	var got admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "admission.k8s.io/v1", got.APIVersion)
	require.Equal(t, "AdmissionReview", got.Kind)
	require.Nil(t, got.Request, "the API server knows its own question")
	require.NotNil(t, got.Response, "a review without a response is no answer")
	require.EqualValues(t, "705ab4f5", got.Response.UID, "the answer to another question")
	return got.Response
}

func reviewed(name string) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `"}}`
}

// always answers each question in the same way.
func always(operations []mini.Operation, err error) mini.Admission {
	return func(context.Context, *admissionv1.AdmissionRequest) ([]mini.Operation, error) {
		return operations, err
	}
}

// The API server takes an HTTP error for a webhook that does not work, and not for a denial:
// its failure policy decides what becomes of the object.
func TestWhatIsNotAReviewIsAnHTTPError(t *testing.T) {
	for name, body := range inorder.Map(map[string]string{
		"not JSON":                "hello",
		"nothing":                 "",
		"no request":              `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
		"a kind that is a number": `{"kind":3,"request":{"uid":"705ab4f5"}}`,
	}) {
		t.Run(name, func(t *testing.T) {
			answer := post(always(nil, nil), body)
			require.Equal(t, http.StatusBadRequest, answer.Code, "this is no question: %s", body)
		})
	}
}

func TestAnAdmissionWithoutAnErrorAllowsTheRequest(t *testing.T) {
	answer := ask(t, always(nil, nil), review("CREATE", "ConfigMap", "", reviewed("x")))
	require.True(t, answer.Allowed, "no error means yes: the user's object is refused")
	require.Nil(t, answer.Result)
	require.Nil(t, answer.PatchType, "the API server refuses a type without a patch")
	require.Empty(t, answer.Patch)
}

func TestADenialHasTheReasonAndTheCode(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, c := range []struct {
		err    error
		code   int32
		reason metav1.StatusReason
	}{
		{errors.New("no bananas"), 403, metav1.StatusReasonForbidden},
		{apierrors.NewConflict(resource, "x", errors.New("no bananas")), 409, metav1.StatusReasonConflict},
		{errors.Join(apierrors.NewBadRequest("no bananas")), 400, metav1.StatusReasonBadRequest},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 418, Message: "no bananas"}}, 418, ""},
	} {
		patch := []mini.Operation{{Op: "remove", Path: "/data"}}
		answer := ask(t, always(patch, c.err), review("CREATE", "ConfigMap", "", reviewed("x")))
		require.False(t, answer.Allowed, "the Admission has returned an error, and the object is stored")
		require.Empty(t, answer.Patch, "nothing is stored, so there is nothing to patch")
		require.NotNil(t, answer.Result, "the user does not learn the reason")
		require.Equal(t, metav1.StatusFailure, answer.Result.Status)
		require.Equal(t, c.code, answer.Result.Code)
		require.Equal(t, c.reason, answer.Result.Reason)
		require.Contains(t, answer.Result.Message, "no bananas", "kubectl shows the message")
	}
}

func TestOperationsAreSentAsAJSONPatch(t *testing.T) {
	operations := []mini.Operation{
		{Op: "add", Path: "/data", Value: []byte(`{"a":"1"}`)}, {Op: "remove", Path: "/metadata/labels"},
	}
	answer := ask(t, always(operations, nil), review("CREATE", "ConfigMap", "", reviewed("x")))
	require.True(t, answer.Allowed, "a change is no denial")
	require.NotNil(t, answer.PatchType, "the API server refuses a patch without its type")
	require.Equal(t, admissionv1.PatchTypeJSONPatch, *answer.PatchType)
	require.JSONEq(t, `[
		{"op":"add","path":"/data","value":{"a":"1"}},
		{"op":"remove","path":"/metadata/labels"}
	]`, string(answer.Patch))
}

func TestAValidatorSeesTheOldAndTheNewObject(t *testing.T) {
	var old, now *corev1.ConfigMap
	var denial error
	handler := mini.Validate(func(_ context.Context, o, n *corev1.ConfigMap) error {
		old, now = o, n
		return denial
	})
	require.True(t, ask(t, handler, review("CREATE", "ConfigMap", "", reviewed("new"))).Allowed)
	require.Nil(t, old, "an object that is being created has no old state")
	require.Equal(t, "new", now.Name)
	require.True(t, ask(t, handler, review("UPDATE", "ConfigMap", reviewed("old"), reviewed("new"))).Allowed)
	require.Equal(t, "old", old.Name, "a rule about a change compares the new state with the old one")
	require.Equal(t, "new", now.Name)
	answer := ask(t, handler, review("DELETE", "ConfigMap", reviewed("old"), ""))
	require.True(t, answer.Allowed)
	require.Nil(t, answer.Result)
	require.Equal(t, "old", old.Name, "a deletion is about the old object")
	require.Nil(t, now, "an object that is being deleted has no new state")
	denial = errors.New("no bananas")
	answer = ask(t, handler, review("CREATE", "ConfigMap", "", reviewed("new")))
	require.False(t, answer.Allowed, "check has refused the object, and it is stored")
	require.Contains(t, answer.Result.Message, "no bananas")
}

// A Scale is JSON that a Deployment could be decoded from. It would be an empty one, and pass
// each rule about what a Deployment has.
func TestAnObjectOfAnotherKindIsRefused(t *testing.T) {
	called := false
	validate := mini.Validate(func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) error {
		called = true
		return nil
	})
	fill := mini.Default(func(context.Context, *corev1.ConfigMap) error {
		called = true
		return nil
	})
	bad := `{"data":3}`
	for name, c := range inorder.Map(map[string]struct {
		handler  mini.Admission
		question string
	}{
		"another kind, validated":           {validate, review("UPDATE", "Scale", `{"kind":"Scale"}`, `{"kind":"Scale"}`)},
		"another kind, defaulted":           {fill, review("UPDATE", "Scale", `{"kind":"Scale"}`, `{"kind":"Scale"}`)},
		"a bad object, validated":           {validate, review("UPDATE", "ConfigMap", reviewed("x"), bad)},
		"a bad object, defaulted":           {fill, review("UPDATE", "ConfigMap", reviewed("x"), bad)},
		"a bad old object, validated":       {validate, review("UPDATE", "ConfigMap", bad, reviewed("x"))},
		"a bad object, of another kind too": {validate, review("CREATE", "Scale", "", bad)},
	}) {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, c.handler, c.question)
			require.False(t, answer.Allowed, "it was allowed without being read")
			require.False(t, called, "it was decoded as an object that it is not")
		})
	}
}

// patched returns what the API server stores after fill.
func patched[T mini.Object](t *testing.T, kind, obj string, fill func(T)) (stored, patch string) {
	t.Helper()
	handler := mini.Default(func(_ context.Context, obj T) error {
		fill(obj)
		return nil
	})
	answer := ask(t, handler, review("CREATE", kind, "", obj))
	require.True(t, answer.Allowed, "fill has returned no error")
	if len(answer.Patch) == 0 {
		return obj, ""
	}
	decoded, err := jsonpatch.DecodePatch(answer.Patch)
	require.NoError(t, err)
	after, err := decoded.Apply([]byte(obj))
	require.NoError(t, err, "the API server refuses the patch %s", answer.Patch)
	return string(after), string(answer.Patch)
}

func TestADefaultIsSentAsAPatch(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		before string
		fill   func(*corev1.ConfigMap)
		after  string
	}{
		"added": {
			`{"data":{"a":"1"}}`, func(c *corev1.ConfigMap) { c.Data["b"] = "2" }, `{"data":{"a":"1","b":"2"}}`,
		},
		"changed": {
			`{"data":{"a":"1","b":"2"}}`, func(c *corev1.ConfigMap) { c.Data["b"] = "3" }, `{"data":{"a":"1","b":"3"}}`,
		},
		"removed": {
			`{"data":{"a":"1","b":"2"}}`, func(c *corev1.ConfigMap) { delete(c.Data, "b") }, `{"data":{"a":"1"}}`,
		},
		"all at once": {
			`{"data":{"a":"1","b":"2"}}`,
			func(c *corev1.ConfigMap) { c.Data = map[string]string{"b": "3", "c": "4"} },
			`{"data":{"b":"3","c":"4"}}`,
		},
		"a map where there was none": {
			`{}`, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "1"} }, `{"data":{"a":"1"}}`,
		},
		"keys with slash and tilde": {
			`{"data":{"~1/":"1","a/b":"2"}}`,
			func(c *corev1.ConfigMap) { c.Data["~1/"] = "3"; delete(c.Data, "a/b"); c.Data["/~0"] = "4" },
			`{"data":{"~1/":"3","/~0":"4"}}`,
		},
		"a label where there is no metadata": {
			`{"data":{}}`, func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"} },
			`{"data":{},"metadata":{"labels":{"a":"b"}}}`,
		},
		"a list is replaced whole": {
			`{"metadata":{"finalizers":["a","b","c"]}}`,
			func(c *corev1.ConfigMap) { c.Finalizers = []string{"c", "a"} },
			`{"metadata":{"finalizers":["c","a"]}}`,
		},
		"a null": {
			`{"data":null}`, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "1"} }, `{"data":{"a":"1"}}`,
		},
	}) {
		t.Run(name, func(t *testing.T) {
			after, _ := patched(t, "ConfigMap", c.before, c.fill)
			require.JSONEq(t, c.after, after, "this is what the API server would store")
		})
	}
}

// The program may be older than the cluster: what its Go types do not know belongs to the user.
func TestADefaultKeepsFieldsThatTheGoTypeDoesNotKnow(t *testing.T) {
	after, _ := patched(t, "ConfigMap",
		`{"metadata":{"name":"x","new":{"a":1}},"newer":[1],"data":{"a":"1"}}`,
		func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"}; c.Data = nil })
	require.JSONEq(t, `{"metadata":{"name":"x","new":{"a":1},"labels":{"a":"b"}},"newer":[1]}`, after,
		"a field that fill has not touched was changed or lost")
}

func TestADefaultThatChangesNothingSendsNoPatch(t *testing.T) {
	_, patch := patched(t, "Pod", `{"kind":"Pod","unknown":1,"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`,
		func(*corev1.Pod) {})
	require.Empty(t, patch, "empty fields of the Go type are no change")
}

// The Go type encodes an empty status and an empty spec, which the API server has not sent.
func TestADefaultInAFieldThatTheAPIServerHasNotSentIsAPatchThatApplies(t *testing.T) {
	after, _ := patched(t, "Pod", `{"kind":"Pod"}`, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Spec.ActiveDeadlineSeconds = new(int64(1<<53 + 1))
	})
	require.Contains(t, after, "9007199254740993", "a number has lost its last digit")
	require.Contains(t, after, `"phase":"Pending"`)
	after, _ = patched(t, "Pod", `{"kind":"Pod","status":{"phase":"Running"}}`, func(p *corev1.Pod) {
		p.Status.Phase = ""
		p.Status.StartTime = nil // it is not there: there is nothing to remove
	})
	require.JSONEq(t, `{"kind":"Pod","status":{}}`, after)
	after, _ = patched(t, "ReplicaSet", `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`,
		func(r *appsv1.ReplicaSet) { r.Spec.Selector = nil }) // encoded as null
	require.JSONEq(t, `{"spec":{"selector":null}}`, after)
}

func TestADeletionHasNoDefaults(t *testing.T) {
	fill := mini.Default(func(context.Context, *corev1.ConfigMap) error { return errors.New("called") })
	answer := ask(t, fill, review("DELETE", "ConfigMap", reviewed("x"), ""))
	require.True(t, answer.Allowed, "no object is stored, so there is nothing to fill in")
	require.Empty(t, answer.Patch)
}

func TestAnErrorOfADefaultDeniesTheRequest(t *testing.T) {
	fill := mini.Default(func(_ context.Context, c *corev1.ConfigMap) error {
		c.Data = map[string]string{"a": "1"}
		return errors.New("no bananas")
	})
	answer := ask(t, fill, review("CREATE", "ConfigMap", "", reviewed("x")))
	require.False(t, answer.Allowed, "fill could not complete the object, and half of it is stored")
	require.Contains(t, answer.Result.Message, "no bananas")
}

// fragile cannot be encoded while its data is broken.
type fragile struct{ corev1.ConfigMap }

func (f *fragile) MarshalJSON() ([]byte, error) {
	if f.Data["state"] == "broken" {
		return nil, errors.New("it is broken")
	}
	return json.Marshal(f.ConfigMap)
}

// Half of a comparison would be a patch that deletes, or adds, whole objects.
func TestAnObjectThatCannotBeEncodedIsRefused(t *testing.T) {
	for _, state := range []struct{ before, after string }{{"broken", "whole"}, {"whole", "broken"}} {
		fill := mini.Default(func(_ context.Context, f *fragile) error {
			f.Data["state"] = state.after
			return nil
		})
		answer := ask(t, fill, review("CREATE", "fragile", "", `{"data":{"state":"`+state.before+`"}}`))
		require.False(t, answer.Allowed, "what fill has changed is not known")
		require.Contains(t, answer.Result.Message, "it is broken")
	}
}

// A process that is updated must not cut off reviews: each is a user who waits.
func TestAStopLetsRunningReviewsFinish(t *testing.T) {
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	certificate, client := server.TLS.Certificates, server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	server.Close()
	client.ServerName = "example.com"
	client.Time = func() time.Time { return certificate[0].Leaf.NotBefore.Add(time.Hour) }
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.NewListener()
		webhook := &mini.Webhook{Listener: tls.NewListener(listener, &tls.Config{Certificates: certificate})}
		webhook.Handle("/slow", mini.Validate(func(ctx context.Context, _, _ *corev1.ConfigMap) error {
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}))
		ctx, stop := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() { result <- webhook.Run(ctx) }()
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return listener.Dial(ctx)
		}, TLSClientConfig: client}
		defer transport.CloseIdleConnections()
		answers := make(chan int, 1)
		go func() {
			response, err := (&http.Client{Transport: transport}).Post("https://webhook/slow", "application/json",
				strings.NewReader(review("CREATE", "ConfigMap", "", reviewed("x"))))
			if err != nil {
				t.Error("the review was cut off: ", err)
				answers <- 0
				return
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if !strings.Contains(string(body), `"allowed":true`) {
				t.Errorf("the review was cut off: %s", body)
			}
			answers <- response.StatusCode
		}()
		time.Sleep(time.Second)
		stop(errSignal)
		time.Sleep(8 * time.Second)
		require.Empty(t, result, "Run has returned while a review is running")
		require.Equal(t, http.StatusOK, <-answers)
		require.NoError(t, <-result)
		_, err := listener.Dial(t.Context())
		require.Error(t, err, "the webhook still accepts connections")
	})
}

func TestAWebhookThatCannotListenFails(t *testing.T) {
	listener := bufconn.NewListener()
	require.NoError(t, listener.Close())
	require.Error(t, (&mini.Webhook{Listener: listener}).Run(t.Context()), "the process would run on without its webhook")
}

// endless is a body that never ends, and counts what has been read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '"' // a text, and another one, and another
		if e.read+i > 0 {
			p[i] = 'x'
		}
	}
	e.read += len(p)
	return len(p), nil
}

// One client would take all of the process's memory.
func TestABodyThatDoesNotEndIsRefused(t *testing.T) {
	body := &endless{}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	recorder := httptest.NewRecorder()
	always(nil, nil).ServeHTTP(recorder, request)
	require.Equal(t, http.StatusRequestEntityTooLarge, recorder.Code)
	require.Less(t, body.read, 16<<20, "bytes were read")
}

// Two states of the largest object that the API server takes have to fit.
func TestTheLargestObjectsFitIntoAReview(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	answer := ask(t, always(nil, nil), review("UPDATE", "ConfigMap", reviewed(large), reviewed(large)))
	require.True(t, answer.Allowed)
}

// A few thousand clients that say nothing, or hear nothing, would use up the process's connections.
func TestASlowClientIsCutOff(t *testing.T) {
	headers := "POST /fast HTTP/1.1\r\nHost: webhook\r\n"
	for what, says := range inorder.Map(map[string]string{
		"nothing":            "",
		"half of its header": headers,
		"half of its body":   headers + "Content-Length: 100\r\n\r\n{",
		"a review, but it does not read the answer": headers + fmt.Sprintf("Content-Length: %d\r\n\r\n%s",
			len(review("CREATE", "ConfigMap", "", reviewed("x"))), review("CREATE", "ConfigMap", "", reviewed("x"))),
	}) {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := bufconn.NewListener()
				webhook := &mini.Webhook{Listener: listener}
				webhook.Handle("/fast", always(nil, nil))
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- webhook.Run(ctx) }()
				conn, err := listener.Dial(ctx)
				require.NoError(t, err)
				defer conn.Close()
				_, err = io.WriteString(conn, says)
				require.NoError(t, err)
				time.Sleep(61 * time.Second)
				// It ends, because the server has ended the connection.
				answer, err := io.Copy(io.Discard, conn)
				require.NoError(t, err)
				require.Zero(t, answer, "the server has kept an answer for a client that doesn't read")
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}
