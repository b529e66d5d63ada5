package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/loopwright/loopwright/manager/log"
	admissionmetrics "github.com/loopwright/loopwright/manager/webhook/admission/metrics"
	"github.com/loopwright/loopwright/manager/webhook/internal/metrics"
)

// packageLog is used by webhooks that were given no other.
var packageLog = log.RuntimeLog.WithName("admission")

var errUnableToEncodeResponse = errors.New("unable to encode response")

// Webhook serves a Handler. Register it with a webhook server, or put it into an HTTP server of your own
// with StandaloneWebhook.
//
// Caveats: Its fields must not change once it serves.
type Webhook struct {
	// Handler decides. It is needed.
	Handler Handler

	// RecoverPanic says whether a panic of the handler is answered with code 500. Nil means true. If it is
	// false, net/http ends the connection without an answer, and the failure policy decides.
	RecoverPanic *bool

	// WithContextFunc may put something from the HTTP request, such as a header, into the handler's context.
	WithContextFunc func(context.Context, *http.Request) context.Context

	// LogConstructor makes the handler's logger, which log.FromContext returns. Nil means DefaultLogConstructor.
	// The request is nil for messages about requests that could not be read.
	LogConstructor func(base logr.Logger, req *Request) logr.Logger

	// log is the base of all loggers; without a sink, it is packageLog.
	log logr.Logger
}

// WithRecoverPanic sets RecoverPanic.
func (wh *Webhook) WithRecoverPanic(recoverPanic bool) *Webhook {
	wh.RecoverPanic = &recoverPanic
	return wh
}

// Handle asks the handler and completes its answer. A panic of the handler is counted, reported as the
// machinery reports panics, and answered with code 500, unless RecoverPanic is false.
func (wh *Webhook) Handle(ctx context.Context, req Request) (response Response) {
	return wh.handle(ctx, req, wh.logger(&req))
}

func (wh *Webhook) handle(ctx context.Context, req Request, reqLog logr.Logger) (response Response) {
	ctx = log.IntoContext(ctx, reqLog)
	defer func() {
		if value := recover(); value != nil {
			response = wh.panicked(ctx, req, value)
		}
	}()

	response = wh.Handler.Handle(ctx, req)
	if err := response.Complete(req); err != nil {
		reqLog.Error(err, "The patch of the handler is no JSON")
		response = Errored(http.StatusInternalServerError, errUnableToEncodeResponse)
		response.UID = req.UID
	}
	return response
}

func (wh *Webhook) panicked(ctx context.Context, req Request, value any) Response {
	admissionmetrics.WebhookPanics.WithLabelValues().Inc()
	if wh.RecoverPanic != nil && !*wh.RecoverPanic {
		log.FromContext(ctx).Info("The webhook panicked", "panic", fmt.Sprint(value))
		panic(value)
	}
	for _, report := range utilruntime.PanicHandlers { // crash reporters hook in there
		report(ctx, value)
	}
	response := Errored(http.StatusInternalServerError, fmt.Errorf("panic: %v [recovered]", value))
	response.UID = req.UID
	return response
}

func (wh *Webhook) logger(req *Request) logr.Logger {
	base := wh.log
	if base.GetSink() == nil {
		base = packageLog
	}
	if wh.LogConstructor != nil {
		return wh.LogConstructor(base, req)
	}
	return DefaultLogConstructor(base, req)
}

// DefaultLogConstructor adds what the request is about and who asked.
func DefaultLogConstructor(base logr.Logger, req *Request) logr.Logger {
	if req == nil {
		return base
	}
	return base.WithValues("object", klog.KRef(req.Namespace, req.Name),
		"namespace", req.Namespace, "name", req.Name,
		"resource", req.Resource, "user", req.UserInfo.Username,
		"requestID", req.UID,
	)
}

// StandaloneOptions are the options of StandaloneWebhook.
type StandaloneOptions struct {
	// Logger is the base of the webhook's loggers. The default is that of package log.
	Logger logr.Logger
	// MetricsPath is what the webhook is called in metrics. Without it there are none.
	MetricsPath string
}

// StandaloneWebhook makes an HTTP handler of a webhook, for a server of your own. The API server calls no
// webhook without TLS, which is up to your server then.
func StandaloneWebhook(hook *Webhook, opts StandaloneOptions) (http.Handler, error) {
	hook.log = opts.Logger
	if opts.MetricsPath == "" {
		return hook, nil
	}
	return metrics.InstrumentedHook(opts.MetricsPath, hook), nil
}
