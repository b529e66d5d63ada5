package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
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
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics"
	admissionmetrics "github.com/loopwright/loopwright/manager/webhook/admission/metrics"
)

func TestAPanicIsAnsweredAndCounted(t *testing.T) {
	var reported []any
	old := utilruntime.PanicHandlers
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, value any) { reported = append(reported, value) }}
	t.Cleanup(func() { utilruntime.PanicHandlers = old })
	count := func() float64 { return testutil.ToFloat64(admissionmetrics.WebhookPanics) }

	slips := HandlerFunc(func(context.Context, Request) Response { panic("a banana skin") })
	before := count()
	for _, hook := range []*Webhook{{Handler: slips}, (&Webhook{Handler: slips}).WithRecoverPanic(true)} {
		response := hook.Handle(t.Context(), Request{admissionv1.AdmissionRequest{UID: questionUID}})
		require.False(t, response.Allowed)
		require.EqualValues(t, questionUID, response.UID)
		require.EqualValues(t, http.StatusInternalServerError, response.Result.Code)
		require.Equal(t, "panic: a banana skin [recovered]", response.Result.Message)
	}
	require.Equal(t, []any{"a banana skin", "a banana skin"}, reported)
	require.Equal(t, before+2, count())

	reported = nil
	said := &lines{}
	require.PanicsWithValue(t, "a banana skin", func() {
		hook, err := StandaloneWebhook((&Webhook{Handler: slips}).WithRecoverPanic(false), StandaloneOptions{Logger: said.logger(0)})
		require.NoError(t, err)
		post(t, hook, "application/json", question(t, admissionv1.Create, configMap(), nil))
	})
	require.Empty(t, reported, "net/http, which ends the connection, reports the panic itself")
	require.Contains(t, said.only(t), `"msg"="The webhook panicked"`)
	require.Equal(t, before+3, count())
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
			// What a program does to the context is one thing, and how long the API server waits is another.
			hook.WithContextFunc = func(ctx context.Context, _ *http.Request) context.Context { return context.WithoutCancel(ctx) }
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

// A handler may have started something that goes on as long as its context does.
func TestAHandlersContextEndsWithItsAnswer(t *testing.T) {
	var handled context.Context
	hook := &Webhook{Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
		handled = ctx
		return Allowed("")
	})}
	ask(t, hook, false, question(t, admissionv1.Create, configMap(), nil))
	require.ErrorIs(t, handled.Err(), context.Canceled)
}

// lines are what a logger wrote.
type lines []string

func (l *lines) logger(verbosity int) logr.Logger {
	return funcr.New(func(prefix, args string) { *l = append(*l, prefix+" "+args) }, funcr.Options{Verbosity: verbosity})
}

// only is the one line.
func (l *lines) only(t testing.TB) string {
	t.Helper()
	require.Len(t, *l, 1)
	return (*l)[0]
}

func TestAHandlerFindsItsLoggerAndWhatTheRequestBrought(t *testing.T) {
	type key struct{}
	asked := func() *Webhook {
		return &Webhook{
			Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
				log.FromContext(ctx).Info("asked", "agent", ctx.Value(key{}))
				return Allowed("")
			}),
			WithContextFunc: func(ctx context.Context, r *http.Request) context.Context {
				return context.WithValue(ctx, key{}, r.Header.Get("Content-Type"))
			},
		}
	}
	for _, c := range []struct {
		verbosity int
		want      []string
	}{{4, []string{"asked"}}, {5, []string{"Received a request", "asked", "Answered"}}} {
		said := &lines{}
		handler, err := StandaloneWebhook(asked(), StandaloneOptions{Logger: said.logger(c.verbosity)})
		require.NoError(t, err)
		ask(t, handler, false, question(t, admissionv1.Create, configMap(), nil))
		require.Len(t, *said, len(c.want))
		for i, message := range c.want {
			line := (*said)[i]
			require.Contains(t, line, `"msg"="`+message+`"`)
			require.Contains(t, line, `"namespace"="shop"`)
			require.Contains(t, line, questionUID)
			require.Equal(t, message == "asked", strings.Contains(line, `"agent"="application/json"`))
			require.Equal(t, message == "Answered", strings.Contains(line, `"allowed"=true`))
		}
	}
}

// A constructor that reads the request's fields must not be given one that has none.
func TestALoggersConstructorGetsNoRequestWhereThereIsNone(t *testing.T) {
	said := &lines{}
	var requests []bool
	hook := &Webhook{Handler: always(Allowed("")), LogConstructor: func(base logr.Logger, req *Request) logr.Logger {
		require.NotNil(t, base.GetSink(), "there is a logger to begin with, even if the webhook was given none")
		requests = append(requests, req != nil)
		return said.logger(0).WithValues("mine", req != nil)
	}}
	ask(t, hook, false, question(t, admissionv1.Create, configMap(), nil))
	require.Equal(t, []bool{true}, requests)
	require.Empty(t, *said)

	for _, contentType := range []string{"", "application/json"} {
		*said, requests = nil, nil
		post(t, hook, contentType, []byte("x"))
		require.Equal(t, []bool{false}, requests)
		require.Contains(t, said.only(t), `"msg"="Answering a request that is no review"`)
		require.Contains(t, said.only(t), `"mine"=false`)
	}
}

// Whoever looks for the reason of a refusal finds it in the log of the webhook, which the user cannot see.
func TestWhatGoesWrongIsLogged(t *testing.T) {
	said := &lines{}
	standalone := func(handler Handler) http.Handler {
		hook, err := StandaloneWebhook(&Webhook{Handler: handler}, StandaloneOptions{Logger: said.logger(0)})
		require.NoError(t, err)
		return hook
	}
	post(t, standalone(always(Allowed(""))), "application/json", []byte("x"))
	require.Contains(t, said.only(t), `"msg"="Answering a request that is no review"`)

	*said = nil
	response := ask(t, standalone(always(Patched("", jsonpatch.NewOperation("add", "/a", math.Inf(1))))), true, question(t, admissionv1.Create, configMap(), nil))
	require.Equal(t, "unable to encode response", response.Result.Message)
	require.Contains(t, said.only(t), `"msg"="The patch of the handler is no JSON"`)
	require.Contains(t, said.only(t), "unsupported value: +Inf")

	*said = nil
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(question(t, admissionv1.Create, configMap(), nil)))
	request.Header.Set("Content-Type", "application/json")
	standalone(always(Allowed(""))).ServeHTTP(gone{httptest.NewRecorder()}, request)
	require.Contains(t, said.only(t), `"msg"="Cannot send the answer; the API server may have stopped waiting" "error"="nobody listens" "requestID"="`+questionUID)
}

// gone is an API server that has stopped waiting.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

// runs makes the paths of repeated runs differ: there is one registry for the process.
var runs atomic.Int64

// Dashboards and alerts that were made for controller-runtime go on working.
func TestAWebhookIsMeasuredUnderItsPath(t *testing.T) {
	path := fmt.Sprint("/measured/", runs.Add(1))
	for _, measured := range []string{path, ""} {
		handler, err := StandaloneWebhook(&Webhook{Handler: always(Allowed(""))}, StandaloneOptions{MetricsPath: measured})
		require.NoError(t, err)
		ask(t, handler, false, question(t, admissionv1.Create, configMap(), nil))
	}
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	found := map[string]string{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := ""
			for _, pair := range metric.GetLabel() {
				labels += pair.GetName() + "=" + pair.GetValue() + " "
			}
			require.NotContains(t, labels, "webhook= ", "a webhook without a path is measured")
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
