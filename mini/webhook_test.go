package mini_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/internal/pipe"
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

func post(handler http.Handler, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// ask sends a review and returns the answer.
func ask(t *testing.T, handler http.Handler, body string) *admissionv1.AdmissionResponse {
	t.Helper()
	w := post(handler, "application/json; charset=utf-8", body)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var got admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "admission.k8s.io/v1", got.APIVersion)
	require.Equal(t, "AdmissionReview", got.Kind)
	require.Nil(t, got.Request, "the API server knows its own question")
	require.NotNil(t, got.Response)
	require.EqualValues(t, "705ab4f5", got.Response.UID, "the answer to another question")
	return got.Response
}

func reviewed(name string) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `"}}`
}

func TestAValidatorSeesTheOldAndTheNewObject(t *testing.T) {
	var old, now *corev1.ConfigMap
	handler := mini.Validate(func(_ context.Context, o, n *corev1.ConfigMap) error {
		old, now = o, n
		return nil
	})
	require.True(t, ask(t, handler, review("CREATE", "ConfigMap", "", reviewed("new"))).Allowed)
	require.Nil(t, old)
	require.Equal(t, "new", now.Name)
	require.True(t, ask(t, handler, review("UPDATE", "ConfigMap", reviewed("old"), reviewed("new"))).Allowed)
	require.Equal(t, "old", old.Name)
	require.Equal(t, "new", now.Name)
	answer := ask(t, handler, review("DELETE", "ConfigMap", reviewed("old"), ""))
	require.True(t, answer.Allowed)
	require.Nil(t, answer.Result)
	require.Equal(t, "old", old.Name, "a deletion is about the old object")
	require.Nil(t, now)
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
	} {
		deny := mini.Validate(func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) error { return c.err })
		refuse := mini.Default(func(context.Context, *corev1.ConfigMap) error { return c.err })
		for _, handler := range []http.Handler{deny, refuse} {
			answer := ask(t, handler, review("CREATE", "ConfigMap", "", reviewed("x")))
			require.False(t, answer.Allowed)
			require.Empty(t, answer.Patch)
			require.Equal(t, metav1.StatusFailure, answer.Result.Status)
			require.Equal(t, c.code, answer.Result.Code)
			require.Equal(t, c.reason, answer.Result.Reason)
			require.Contains(t, answer.Result.Message, "no bananas", "kubectl shows the message")
		}
	}
}

func TestWarningsReachTheUser(t *testing.T) {
	var denied error
	validate := mini.Validate(func(ctx context.Context, _, _ *corev1.ConfigMap) error {
		mini.Warn(ctx, "one")
		mini.Warn(ctx, "two")
		return denied
	})
	question := review("CREATE", "ConfigMap", "", reviewed("x"))
	require.Equal(t, []string{"one", "two"}, ask(t, validate, question).Warnings)
	denied = errors.New("no")
	require.Equal(t, []string{"one", "two"}, ask(t, validate, question).Warnings)
}

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
	for _, handler := range []http.Handler{validate, fill} {
		answer := ask(t, handler, review("UPDATE", "Scale", `{"kind":"Scale"}`, `{"kind":"Scale"}`))
		require.False(t, answer.Allowed)
		require.EqualValues(t, 400, answer.Result.Code)
		for _, bad := range []string{
			review("UPDATE", "ConfigMap", reviewed("x"), `{"data":3}`),
			review("UPDATE", "ConfigMap", `{"data":3}`, `{"data":3}`),
		} {
			answer = ask(t, handler, bad)
			require.False(t, answer.Allowed, "it cannot be read")
			require.EqualValues(t, 400, answer.Result.Code)
		}
	}
	require.False(t, called)
	require.False(t, ask(t, validate, review("UPDATE", "ConfigMap", `{"data":3}`, reviewed("x"))).Allowed)
	require.False(t, called)
}

func TestAPanicIsAnErrorAnswer(t *testing.T) {
	validate := mini.Validate(func(ctx context.Context, _, now *corev1.ConfigMap) error {
		mini.Warn(ctx, "careful")
		panic("no such key")
	})
	answer := ask(t, validate, review("DELETE", "ConfigMap", reviewed("x"), ""))
	require.False(t, answer.Allowed)
	require.EqualValues(t, 500, answer.Result.Code)
	require.Equal(t, metav1.StatusReasonInternalError, answer.Result.Reason)
	require.Equal(t, []string{"careful"}, answer.Warnings)
}

func TestWhatIsNotAReviewIsAnHTTPError(t *testing.T) {
	handler := mini.Validate(func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) error { return nil })
	good := review("CREATE", "ConfigMap", "", reviewed("x"))
	for name, c := range inorder.Map(map[string]struct {
		contentType, body string
		code              int
	}{
		"another content type":     {"text/plain", good, http.StatusUnsupportedMediaType},
		"no content type":          {"", good, http.StatusUnsupportedMediaType},
		"not JSON":                 {"application/json", "hello", http.StatusBadRequest},
		"nothing":                  {"application/json", "", http.StatusBadRequest},
		"another kind":             {"application/json", strings.Replace(good, "AdmissionReview", "Pod", 1), http.StatusBadRequest},
		"a version of the past":    {"application/json", strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1), http.StatusBadRequest},
		"no request":               {"application/json", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, http.StatusBadRequest},
		"more than fits in memory": {"application/json", good + strings.Repeat(" ", 8<<20), http.StatusRequestEntityTooLarge},
	}) {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.code, post(handler, c.contentType, c.body).Code)
		})
	}
	large := review("CREATE", "ConfigMap", "", `{"data":{"a":"`+strings.Repeat("x", 3<<20)+`"}}`)
	require.True(t, ask(t, handler, large+strings.Repeat(" ", 3<<20)).Allowed, "two large objects have room")
}

// patched returns what the API server stores after fill.
func patched[T mini.Object](t *testing.T, kind, obj string, fill func(T)) (stored, patch string) {
	t.Helper()
	handler := mini.Default(func(_ context.Context, obj T) error {
		fill(obj)
		return nil
	})
	answer := ask(t, handler, review("CREATE", kind, "", obj))
	require.True(t, answer.Allowed)
	if len(answer.Patch) == 0 {
		require.Nil(t, answer.PatchType, "the API server refuses a type without a patch")
		return obj, ""
	}
	require.Equal(t, admissionv1.PatchTypeJSONPatch, *answer.PatchType)
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
		"fields that the type does not know": {
			`{"metadata":{"name":"x","new":{"a":1}},"newer":[1],"data":{"a":"1"}}`,
			func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"}; c.Data = nil },
			`{"metadata":{"name":"x","new":{"a":1},"labels":{"a":"b"}},"newer":[1]}`,
		},
		"a null": {
			`{"data":null}`, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "1"} }, `{"data":{"a":"1"}}`,
		},
	}) {
		t.Run(name, func(t *testing.T) {
			after, _ := patched(t, "ConfigMap", c.before, c.fill)
			require.JSONEq(t, c.after, after)
		})
	}
}

func TestADefaultThatChangesNothingSendsNoPatch(t *testing.T) {
	_, patch := patched(t, "Pod", `{"kind":"Pod","unknown":1,"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`,
		func(*corev1.Pod) {})
	require.Empty(t, patch, "empty fields of the Go type are no change")
}

func TestADefaultInAFieldThatTheAPIServerHasNotSentIsAPatchThatApplies(t *testing.T) {
	after, _ := patched(t, "Pod", `{"kind":"Pod"}`, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending // the Go type encodes an empty status and an empty spec
		p.Spec.ActiveDeadlineSeconds = new(int64(1<<53 + 1))
	})
	require.Contains(t, after, "9007199254740993", "a number has lost its last digit")
	require.Contains(t, after, `"phase":"Pending"`)
}

func TestADeletionHasNoDefaults(t *testing.T) {
	fill := mini.Default(func(context.Context, *corev1.ConfigMap) error { return errors.New("called") })
	answer := ask(t, fill, review("DELETE", "ConfigMap", reviewed("x"), ""))
	require.True(t, answer.Allowed)
	require.Empty(t, answer.Patch)
}

// serve runs a webhook whose review takes ten seconds.
func serve(t *testing.T, config *tls.Config, client *tls.Config, scheme string) {
	synctest.Test(t, func(t *testing.T) {
		listener := pipe.NewListener()
		webhook := &mini.Webhook{Listener: listener, TLS: config}
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
			response, err := (&http.Client{Transport: transport}).Post(scheme+"://webhook/slow", "application/json",
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

func TestAStopLetsRunningReviewsFinish(t *testing.T) { serve(t, nil, nil, "http") }

func TestAWebhookServesTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	certificate, transport := server.TLS.Certificates, server.Client().Transport.(*http.Transport)
	server.Close()
	client := transport.TLSClientConfig.Clone()
	client.ServerName = "example.com"
	client.Time = func() time.Time { return certificate[0].Leaf.NotBefore.Add(time.Hour) }
	serve(t, &tls.Config{Certificates: certificate}, client, "https")
}

func TestAWebhookThatCannotListenFails(t *testing.T) {
	listener := pipe.NewListener()
	require.NoError(t, listener.Close())
	require.Error(t, (&mini.Webhook{Listener: listener}).Run(t.Context()))
}
