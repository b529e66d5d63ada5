package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/loopwright/loopwright/manager/log"
	admissionmetrics "github.com/loopwright/loopwright/manager/webhook/admission/metrics"
	"github.com/loopwright/loopwright/manager/webhook/internal/metrics"
)

// packageLog is the default log of webhooks.
var packageLog = log.RuntimeLog.WithName("admission")

var errUnableToEncodeResponse = errors.New("unable to encode response")

// Webhook serves a Handler. Register it with a webhook server, or use it in an HTTP server of your
// own with StandaloneWebhook.
//
// Caveats: don't change its fields once it serves.
type Webhook struct {
	// Handler answers the requests. It's required.
	Handler Handler

	// RecoverPanic says whether a panic of the handler is answered with code 500. Nil means true.
	// If it's false, net/http closes the connection without an answer, and the failure policy
	// decides.
	RecoverPanic *bool

	// WithContextFunc may copy values from the HTTP request, such as a header, to the handler's
	// context.
	WithContextFunc func(context.Context, *http.Request) context.Context

	// LogConstructor makes the handler's logger, which log.FromContext returns. Nil means
	// DefaultLogConstructor. The request is nil for messages about requests that couldn't be read.
	LogConstructor func(base logr.Logger, req *Request) logr.Logger

	// log is the base of all loggers; without a sink, it's packageLog.
	log logr.Logger
}

// WithRecoverPanic sets RecoverPanic.
func (wh *Webhook) WithRecoverPanic(recoverPanic bool) *Webhook {
	wh.RecoverPanic = &recoverPanic
	return wh
}

// Handle calls the handler and completes its answer. A panic of the handler is counted, reported to
// apimachinery's panic handlers, and answered with code 500, unless RecoverPanic is false.
func (wh *Webhook) Handle(ctx context.Context, req Request) (response Response) {
	return wh.handle(ctx, req, wh.logger(&req))
}

func (wh *Webhook) handle(
	ctx context.Context, req Request, reqLog logr.Logger,
) (response Response) {
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
	for _, report := range utilruntime.PanicHandlers { // crash reporters register there
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

// DefaultLogConstructor adds the object and the user of the request.
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
	// MetricsPath is the webhook's label in metrics. Without it the webhook isn't measured.
	MetricsPath string
}

// StandaloneWebhook makes an HTTP handler from a webhook, for a server of your own. The API server
// calls webhooks only over TLS, which your server has to provide.
func StandaloneWebhook(hook *Webhook, opts StandaloneOptions) (http.Handler, error) {
	hook.log = opts.Logger
	if opts.MetricsPath == "" {
		return hook, nil
	}
	return metrics.InstrumentedHook(opts.MetricsPath, hook), nil
}

// MultiMutatingHandler calls several handlers, one after another, and joins their patches. The
// first refusal is the answer, and the handlers after it aren't called.
//
// Each handler gets the original object, without the patches of the handlers before it. So the
// patches must not touch the same fields.
//
// A handler may return its patch as Patches or as bytes; controller-runtime loses the latter, and
// audit annotations.
func MultiMutatingHandler(handlers ...Handler) Handler {
	return several{handlers: handlers, mutating: true}
}

// MultiValidatingHandler calls several handlers, one after another. The first refusal is the
// answer, and the handlers after it aren't called.
func MultiValidatingHandler(handlers ...Handler) Handler { return several{handlers: handlers} }

type several struct {
	handlers []Handler
	mutating bool
}

// Handle implements Handler.
func (s several) Handle(ctx context.Context, req Request) Response {
	all := yes()
	all.Result = &metav1.Status{Code: http.StatusOK}
	all.AuditAnnotations = map[string]string{}
	operations := []json.RawMessage{}
	for _, handler := range s.handlers {
		response := handler.Handle(ctx, req)
		if !response.Allowed {
			return response
		}
		theirs, err := operationsOf(response)
		if err != nil {
			return Errored(http.StatusInternalServerError, err)
		}
		operations = append(operations, theirs...)
		all = all.WithWarnings(response.Warnings...)
		maps.Copy(all.AuditAnnotations, response.AuditAnnotations)
	}
	if !s.mutating {
		return all
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return Errored(http.StatusInternalServerError,
			fmt.Errorf("putting the patches together: %w", err))
	}
	patchType := admissionv1.PatchTypeJSONPatch
	all.Patch, all.PatchType = patch, &patchType
	return all
}

// operationsOf returns the operations of a response's patch. They stay bytes: a user's own patch
// may have operations, such as move, for which jsonpatch.Operation has no fields.
func operationsOf(response Response) (operations []json.RawMessage, err error) {
	if response.PatchType != nil && *response.PatchType != admissionv1.PatchTypeJSONPatch {
		return nil, fmt.Errorf("a handler answered with a patch of type %q; only %s can be put "+
			"together with others",
			*response.PatchType, admissionv1.PatchTypeJSONPatch)
	}
	patch := response.Patch
	if len(response.Patches) > 0 {
		if patch, err = json.Marshal(response.Patches); err != nil {
			return nil, fmt.Errorf("a handler's patch cannot be written as JSON: %w", err)
		}
	}
	if len(patch) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("a handler's patch is not a list of operations: %w", err)
	}
	return operations, nil
}
