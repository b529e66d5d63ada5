package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics"
	admissionmetrics "github.com/loopwright/loopwright/manager/webhook/admission/metrics"
)

// The API server checks version and UID of an answer first. If they are wrong, it is all that the user reads.
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
		{"of the old version", strings.Replace(string(v1), "k8s.io/v1", "k8s.io/v1beta1", 1), "application/json", "v1beta1", true, 200, ""},
		{"of no version", strings.Replace(string(v1), `"apiVersion":"admission.k8s.io/v1",`, "", 1), "application/json", "v1", true, 200, ""},
		{"of a version to come", strings.Replace(string(v1), "k8s.io/v1", "k8s.io/v2", 1), "application/json", "v1", false, 400,
			"the body is a AdmissionReview of version admission.k8s.io/v2, and not an AdmissionReview of version admission.k8s.io/v1 or v1beta1"},
		{"of another kind", strings.Replace(string(v1), "AdmissionReview", "TokenReview", 1), "application/json", "v1", false, 400, "the body is a TokenReview"},
		{"of no type", string(v1), "", "v1", false, 400, "contentType=, expected application/json"},
		{"of another type", string(v1), "application/yaml", "v1", false, 400, "contentType=application/yaml, expected application/json"},
		{"cut off", string(v1[:len(v1)-20]), "application/json", "v1", false, 400, "the body is not an AdmissionReview"},
		{"with a number for a name", strings.Replace(string(v1), `"name":"bananas"`, `"name":1`, 1), "application/json", "v1", false, 400, "cannot unmarshal number"},
	} {
		answer := post(t, hook, c.contentType, []byte(c.body))
		var review admissionv1.AdmissionReview
		require.NoError(t, json.Unmarshal(answer, &review), c.name)
		require.Equal(t, metav1.TypeMeta{APIVersion: "admission.k8s.io/" + c.version, Kind: "AdmissionReview"}, review.TypeMeta, c.name)
		if c.name != "of a version to come" && c.name != "of another kind" { // whose fields may mean something else
			require.EqualValues(t, questionUID, review.Response.UID, c.name)
		}
		require.Equal(t, c.allowed, review.Response.Allowed, c.name)
		require.Equal(t, c.code, review.Response.Result.Code, c.name)
		require.Contains(t, review.Response.Result.Message, c.message, c.name)
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
		{`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, "the AdmissionReview has no request"},
		{`{"request":{}}`, `unknown operation ""`},
	} {
		var review admissionv1.AdmissionReview
		require.NoError(t, json.Unmarshal(post(t, hook, "application/json", []byte(c.body)), &review))
		require.False(t, review.Response.Allowed, c.body)
		require.EqualValues(t, http.StatusBadRequest, review.Response.Result.Code, c.body)
		require.Contains(t, review.Response.Result.Message, c.message, c.body)
	}
}

// A body without an end must not fill the memory, and whoever sent it must learn why it was refused.
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
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(bytes.NewReader(whole[:200]), broken{}))
	answer := httptest.NewRecorder()
	hook.ServeHTTP(answer, request)
	response, err := accepted(answer.Body.Bytes(), "admission.k8s.io/v1", questionUID, false)
	require.NoError(t, err)
	require.Contains(t, response.Result.Message, "the line is cut")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }

func TestAPanicIsAnsweredAndCounted(t *testing.T) {
	var reported []any
	old := utilruntime.PanicHandlers
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, value any) { reported = append(reported, value) }}
	t.Cleanup(func() { utilruntime.PanicHandlers = old })
	count := func() float64 { return testutil.ToFloat64(admissionmetrics.WebhookPanics) }

	slips := HandlerFunc(func(context.Context, Request) Response { panic("a banana skin") })
	before := count()
	response := ask(t, &Webhook{Handler: slips}, true, question(t, admissionv1.Create, configMap(), nil))
	require.False(t, response.Allowed)
	require.EqualValues(t, http.StatusInternalServerError, response.Result.Code)
	require.Equal(t, "panic: a banana skin [recovered]", response.Result.Message)
	require.Equal(t, []any{"a banana skin"}, reported)
	require.Equal(t, before+1, count())

	require.PanicsWithValue(t, "a banana skin", func() {
		post(t, (&Webhook{Handler: slips}).WithRecoverPanic(false), "application/json", question(t, admissionv1.Create, configMap(), nil))
	})
	require.Equal(t, before+2, count())
}

// The API server says how long it waits. Work that goes on after that is for nobody.
func TestAHandlersContextEndsWhenTheAPIServerStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			address string
			limit   time.Duration
		}{
			{"/hook?timeout=3s", 3 * time.Second}, {"/hook?timeout=250ms", 250 * time.Millisecond},
			{"/hook", 0}, {"/hook?timeout=soon", 0}, {"/hook?timeout=-3s", 0}, {"/hook?timeout=0s", 0},
		} {
			hook := &Webhook{Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
				start := time.Now()
				if c.limit == 0 {
					_, limited := ctx.Deadline()
					require.False(t, limited, c.address)
					return Allowed("")
				}
				<-ctx.Done()
				require.Equal(t, c.limit, time.Since(start), c.address)
				return Errored(http.StatusGatewayTimeout, context.Cause(ctx))
			})}
			request := httptest.NewRequest(http.MethodPost, c.address, bytes.NewReader(question(t, admissionv1.Create, configMap(), nil)))
			request.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			hook.ServeHTTP(answer, request)
			if c.limit > 0 {
				require.Contains(t, answer.Body.String(), "the API server no longer waits for the answer after "+c.limit.String())
			}
		}
	})
}

func TestAHandlerFindsItsLoggerAndWhatTheRequestBrought(t *testing.T) {
	var lines []string
	logger := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{Verbosity: 5})
	type key struct{}
	hook := &Webhook{
		Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
			log.FromContext(ctx).Info("asked", "agent", ctx.Value(key{}))
			return Allowed("")
		}),
		WithContextFunc: func(ctx context.Context, r *http.Request) context.Context {
			return context.WithValue(ctx, key{}, r.Header.Get("Content-Type"))
		},
	}
	handler, err := StandaloneWebhook(hook, StandaloneOptions{Logger: logger})
	require.NoError(t, err)
	ask(t, handler, false, question(t, admissionv1.Create, configMap(), nil))
	require.Len(t, lines, 3)
	require.Contains(t, lines[1], `"msg"="asked"`)
	require.Contains(t, lines[1], `"agent"="application/json"`)
	require.Contains(t, lines[1], `"namespace"="shop"`)
	require.Contains(t, lines[1], questionUID)

	lines = nil
	hook.LogConstructor = func(base logr.Logger, req *Request) logr.Logger { return base.WithValues("mine", req != nil) }
	ask(t, handler, false, question(t, admissionv1.Create, configMap(), nil))
	require.Contains(t, lines[1], `"mine"=true`)
	post(t, handler, "", []byte("x"))
	require.Contains(t, lines[len(lines)-1], `"mine"=false`)
}

// runs makes the paths of repeated runs differ: there is one registry for the process.
var runs atomic.Int64

// Dashboards and alerts that were made for controller-runtime go on working.
func TestAWebhookIsMeasuredUnderItsPath(t *testing.T) {
	path := fmt.Sprint("/measured/", runs.Add(1))
	handler, err := StandaloneWebhook(&Webhook{Handler: always(Allowed(""))}, StandaloneOptions{MetricsPath: path})
	require.NoError(t, err)
	ask(t, handler, false, question(t, admissionv1.Create, configMap(), nil))
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	found := map[string]string{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := ""
			for _, pair := range metric.GetLabel() {
				labels += pair.GetName() + "=" + pair.GetValue() + " "
			}
			if strings.Contains(labels, "webhook="+path) || strings.HasSuffix(family.GetName(), "webhook_panics_total") {
				found[family.GetName()+" "+labels] = metric.String()
			}
		}
	}
	require.Contains(t, found, "controller_runtime_webhook_panics_total ")
	require.Contains(t, found["controller_runtime_webhook_requests_total code=200 webhook="+path+" "], "value:1")
	require.Contains(t, found["controller_runtime_webhook_requests_total code=500 webhook="+path+" "], "value:0")
	require.Contains(t, found["controller_runtime_webhook_requests_in_flight webhook="+path+" "], "value:0")
	require.Contains(t, found["controller_runtime_webhook_latency_seconds webhook="+path+" "], "sample_count:1")
}
