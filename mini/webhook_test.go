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
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi/bufconn"
	"github.com/loopwright/loopwright/internal/tests/inorder"
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
func always(patch []byte, err error) mini.Admission {
	return func(context.Context, *admissionv1.AdmissionRequest) ([]byte, error) {
		return patch, err
	}
}

// The API server takes an HTTP error for a webhook that does not work, and not for a denial:
// its failure policy decides what becomes of the object.
//
// Function: Admission.ServeHTTP
func TestWhatIsNotAReviewIsAnHTTPError(t *testing.T) {
	for name, body := range inorder.Map(map[string]string{
		"not JSON":                "hello",
		"nothing":                 "",
		"no request":              `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
		"a kind that is a number": `{"kind":3,"request":{"uid":"705ab4f5"}}`,
	}) {
		t.Run(name, func(t *testing.T) {
			asked := mini.Admission(func(context.Context, *admissionv1.AdmissionRequest) ([]byte, error) {
				t.Error("the Admission was asked about no request")
				return nil, nil
			})
			answer := post(asked, body)
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
		patch := []byte(`[{"op":"remove","path":"/data"}]`)
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

// Function: Admission.answer
func TestAPatchIsSentWithItsType(t *testing.T) {
	patch := `[{"op":"add","path":"/data","value":{"a":"1"}}]`
	answer := ask(t, always([]byte(patch), nil), review("CREATE", "ConfigMap", "", reviewed("x")))
	require.True(t, answer.Allowed, "a change is no denial")
	require.NotNil(t, answer.PatchType, "the API server refuses a patch without its type")
	require.Equal(t, admissionv1.PatchTypeJSONPatch, *answer.PatchType)
	require.Equal(t, patch, string(answer.Patch), "the API server applies another patch")
}

// The API server refuses a type without a patch, so the user would get an error for an object that's all right.
//
// Function: Admission.answer
func TestAnEmptyPatchIsNoPatch(t *testing.T) {
	answer := ask(t, always([]byte{}, nil), review("CREATE", "ConfigMap", "", reviewed("x")))
	require.True(t, answer.Allowed)
	require.Nil(t, answer.PatchType)
	require.Nil(t, answer.Patch)
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
//
// Function: decode
func TestAnObjectOfAnotherKindIsRefused(t *testing.T) {
	called := false
	validate := mini.Validate(func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) error {
		called = true
		return nil
	})
	bad := `{"data":3}`
	for name, question := range inorder.Map(map[string]string{
		"another kind":                 review("UPDATE", "Scale", `{"kind":"Scale"}`, `{"kind":"Scale"}`),
		"a bad object":                 review("UPDATE", "ConfigMap", reviewed("x"), bad),
		"a bad old object":             review("UPDATE", "ConfigMap", bad, reviewed("x")),
		"a bad object of another kind": review("CREATE", "Scale", "", bad),
	}) {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, validate, question)
			require.False(t, answer.Allowed, "it was allowed without being read")
			require.False(t, called, "it was decoded as an object that it is not")
		})
	}
}

// The deletion of a Scale may come without an object. A check of ConfigMaps would see two that are nil, and allow anything.
//
// Function: decode
func TestAQuestionAboutAnotherKindIsRefusedEvenWithoutAnObject(t *testing.T) {
	called := false
	validate := mini.Validate(func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) error {
		called = true
		return nil
	})
	answer := ask(t, validate, review("DELETE", "Scale", "", ""))
	require.False(t, answer.Allowed)
	require.False(t, called, "the check knows nothing about a Scale")
}

// hungUp returns the error that an Admission's context has when the API server has given up. The Admission has to call during.
func hungUp(t *testing.T, handler func(during func(context.Context) error) mini.Admission) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(review("CREATE", "ConfigMap", "", reviewed("x"))))
		handler(func(ctx context.Context) error {
			hangUp()
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(time.Minute):
			}
			return err
		}).ServeHTTP(httptest.NewRecorder(), r)
	})
	return err
}

// The API server gives up after a few seconds, and the user tries again. A check that went on for the old request would take
// the time and the memory that the new one needs.
func TestACheckEndsWithItsRequest(t *testing.T) {
	err := hungUp(t, func(during func(context.Context) error) mini.Admission {
		return mini.Validate(func(ctx context.Context, _, _ *corev1.ConfigMap) error { return during(ctx) })
	})
	require.ErrorIs(t, err, context.Canceled, "the API server has given up, and check's context goes on")
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
//
// Function: Admission.ServeHTTP
func TestABodyThatDoesNotEndIsRefused(t *testing.T) {
	body := &endless{}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	recorder := httptest.NewRecorder()
	always(nil, nil).ServeHTTP(recorder, request)
	require.Equal(t, http.StatusRequestEntityTooLarge, recorder.Code)
	require.NotContains(t, recorder.Body.String(), "AdmissionReview", "there are two answers")
	require.Less(t, body.read, 16<<20, "bytes were read")
}

// The connection breaks in the middle of a review. Whoever reads the log of a 413 looks for an object that's too large.
//
// Function: Admission.ServeHTTP
func TestABodyThatBreaksOffIsNotTooLarge(t *testing.T) {
	whole := review("CREATE", "ConfigMap", "", reviewed("x"))
	body := io.MultiReader(strings.NewReader(whole[:len(whole)/2]), iotest.ErrReader(errors.New("broke")))
	recorder := httptest.NewRecorder()
	always(nil, nil).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body))
	require.Equal(t, http.StatusBadRequest, recorder.Code)
}

// Two states of the largest object that the API server takes have to fit.
//
// Function: Admission.ServeHTTP
func TestTheLargestObjectsFitIntoAReview(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	answer := ask(t, always(nil, nil), review("UPDATE", "ConfigMap", reviewed(large), reviewed(large)))
	require.True(t, answer.Allowed)
	empty := len(review("CREATE", "ConfigMap", "", reviewed("")))
	longest := review("CREATE", "ConfigMap", "", reviewed(strings.Repeat("x", 7<<20-empty)))
	require.True(t, ask(t, always(nil, nil), longest).Allowed, "this one has maxReview bytes")
	longer := strings.Replace(longest, "xx", "xxx", 1)
	require.Equal(t, http.StatusRequestEntityTooLarge, post(always(nil, nil), longer).Code, "this one has a byte more")
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
				began := time.Now()
				time.Sleep(31 * time.Second)
				// It ends, because the server has ended the connection.
				answer, err := io.Copy(io.Discard, conn)
				require.NoError(t, err)
				require.Zero(t, answer, "the server has kept an answer for a client that doesn't read")
				require.Less(t, time.Since(began), 32*time.Second, "the client has held the connection for longer than 30 s")
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}

// The API server is at the other end of a network. A request that takes long is not yet an attack.
func TestASlowClientIsAnsweredWithinItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.NewListener()
		webhook := &mini.Webhook{Listener: listener}
		webhook.Handle("/slow", mini.Validate(func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) error {
			time.Sleep(29 * time.Second)
			return nil
		}))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- webhook.Run(ctx) }()
		conn, err := listener.Dial(ctx)
		require.NoError(t, err)
		defer conn.Close()
		body := review("CREATE", "ConfigMap", "", reviewed("x"))
		_, err = io.WriteString(conn, "POST /slow HTTP/1.1\r\nConnection: close\r\n")
		require.NoError(t, err)
		time.Sleep(29 * time.Second)
		_, err = fmt.Fprintf(conn, "Host: webhook\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Contains(t, string(answer), `"allowed":true`, "the client was cut off before its time")
		stop()
		require.NoError(t, <-ended)
	})
}
