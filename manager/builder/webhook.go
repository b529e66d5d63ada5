package builder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

var webhookLog = log.RuntimeLog.WithName("builder").WithName("webhooks")

// WebhookBuilder collects the webhooks of a kind. Complete registers them with the manager's
// webhook server: a defaulter at /mutate-group-version-kind, a validator at
// /validate-group-version-kind, and the conversion of all kinds at /convert.
type WebhookBuilder[T runtime.Object] struct {
	manager manager.Manager
	object  runtime.Object

	defaulter        admission.Defaulter[T]
	customDefaulter  admission.CustomDefaulter
	defaulterOptions []admission.DefaulterOption
	defaulterPath    string

	validator       admission.Validator[T]
	customValidator admission.CustomValidator
	validatorPath   string

	converter func(*runtime.Scheme) (conversion.Converter, error)

	recoverPanic   *bool
	logConstructor func(base logr.Logger, req *admission.Request) logr.Logger
	contextFunc    func(context.Context, *http.Request) context.Context
}

// WebhookManagedBy starts the description of the webhooks of the object's kind.
func WebhookManagedBy[T runtime.Object](m manager.Manager, object T) *WebhookBuilder[T] {
	return &WebhookBuilder[T]{manager: m, object: object}
}

// WithDefaulter adds a mutating webhook.
func (b *WebhookBuilder[T]) WithDefaulter(
	defaulter admission.Defaulter[T], opts ...admission.DefaulterOption,
) *WebhookBuilder[T] {
	b.defaulter, b.defaulterOptions = defaulter, opts
	return b
}

// WithCustomDefaulter is WithDefaulter for a defaulter that takes any object.
func (b *WebhookBuilder[T]) WithCustomDefaulter(
	defaulter admission.CustomDefaulter, opts ...admission.DefaulterOption,
) *WebhookBuilder[T] {
	b.customDefaulter, b.defaulterOptions = defaulter, opts
	return b
}

// WithDefaulterCustomPath serves the defaulter at another path.
func (b *WebhookBuilder[T]) WithDefaulterCustomPath(customPath string) *WebhookBuilder[T] {
	b.defaulterPath = customPath
	return b
}

// WithValidator adds a validating webhook.
func (b *WebhookBuilder[T]) WithValidator(validator admission.Validator[T]) *WebhookBuilder[T] {
	b.validator = validator
	return b
}

// WithCustomValidator is WithValidator for a validator that takes any object.
func (b *WebhookBuilder[T]) WithCustomValidator(
	validator admission.CustomValidator,
) *WebhookBuilder[T] {
	b.customValidator = validator
	return b
}

// WithValidatorCustomPath serves the validator at another path.
func (b *WebhookBuilder[T]) WithValidatorCustomPath(customPath string) *WebhookBuilder[T] {
	b.validatorPath = customPath
	return b
}

// WithConverter adds a converter, such as the one from conversion.NewHubSpokeConverter. A kind
// whose types convert themselves doesn't need one.
func (b *WebhookBuilder[T]) WithConverter(
	converterConstructor func(*runtime.Scheme) (conversion.Converter, error),
) *WebhookBuilder[T] {
	b.converter = converterConstructor
	return b
}

// WithLogConstructor sets the function that makes the webhooks' loggers.
func (b *WebhookBuilder[T]) WithLogConstructor(
	logConstructor func(base logr.Logger, req *admission.Request) logr.Logger,
) *WebhookBuilder[T] {
	b.logConstructor = logConstructor
	return b
}

// WithContextFunc sets a function that can copy values from the HTTP request to the webhooks'
// contexts.
func (b *WebhookBuilder[T]) WithContextFunc(
	contextFunc func(context.Context, *http.Request) context.Context,
) *WebhookBuilder[T] {
	b.contextFunc = contextFunc
	return b
}

// RecoverPanic sets whether a panic is recovered and answered with code 500. The default is true.
func (b *WebhookBuilder[T]) RecoverPanic(recoverPanic bool) *WebhookBuilder[T] {
	b.recoverPanic = &recoverPanic
	return b
}

// Complete registers the webhooks. If a path already has a webhook, it keeps that one.
//
// Errors: the scheme doesn't know the kind; there are two defaulters or two validators; a path is
// invalid; the kind's versions can't all be converted. In these cases nothing is registered.
func (b *WebhookBuilder[T]) Complete() error {
	if b.object == nil {
		return errors.New("WebhookManagedBy needs an object, such as &v1.Banana{}: its type " +
			"says which kind the webhooks are for")
	}
	kind, err := apiutil.GVKForObject(b.object, b.manager.GetScheme())
	if err != nil {
		return err
	}
	mutating, err := b.mutating()
	if err != nil {
		return err
	}
	validating, err := b.validating()
	if err != nil {
		return err
	}
	mutatingPath, err := webhookPath("/mutate-", kind, b.defaulterPath)
	if err != nil {
		return err
	}
	validatingPath, err := webhookPath("/validate-", kind, b.validatorPath)
	if err != nil {
		return err
	}
	converts, err := b.converts(kind)
	if err != nil {
		return err
	}
	if mutating != nil {
		b.register(kind, mutatingPath, b.prepared(kind, mutating))
	}
	if validating != nil {
		b.register(kind, validatingPath, b.prepared(kind, validating))
	}
	if converts {
		b.register(kind, "/convert",
			conversion.NewWebhookHandler(b.manager.GetScheme(), b.manager.GetConverterRegistry()))
	}
	return nil
}

func (b *WebhookBuilder[T]) mutating() (*admission.Webhook, error) {
	switch scheme := b.manager.GetScheme(); {
	case b.defaulter != nil && b.customDefaulter != nil:
		return nil, errors.New("only one of Defaulter or CustomDefaulter can be set")
	case b.defaulter != nil:
		return admission.WithDefaulter(scheme, b.defaulter, b.defaulterOptions...), nil
	case b.customDefaulter != nil:
		return admission.WithCustomDefaulter(scheme, b.object, b.customDefaulter,
			b.defaulterOptions...), nil
	}
	return nil, nil
}

func (b *WebhookBuilder[T]) validating() (*admission.Webhook, error) {
	switch scheme := b.manager.GetScheme(); {
	case b.validator != nil && b.customValidator != nil:
		return nil, errors.New("only one of Validator or CustomValidator can be set")
	case b.validator != nil:
		return admission.WithValidator(scheme, b.validator), nil
	case b.customValidator != nil:
		return admission.WithCustomValidator(scheme, b.object, b.customValidator), nil
	}
	return nil, nil
}

// converts returns true if the kind needs /convert, and registers its converter.
func (b *WebhookBuilder[T]) converts(kind schema.GroupVersionKind) (bool, error) {
	if b.converter == nil {
		return conversion.IsConvertible(b.manager.GetScheme(), b.object)
	}
	converter, err := b.converter(b.manager.GetScheme())
	if err != nil {
		return false, err
	}
	return true, b.manager.GetConverterRegistry().RegisterConverter(kind.GroupKind(), converter)
}

func (b *WebhookBuilder[T]) prepared(
	kind schema.GroupVersionKind, hook *admission.Webhook,
) *admission.Webhook {
	hook.RecoverPanic = b.recoverPanic
	hook.WithContextFunc = b.contextFunc
	hook.LogConstructor = b.logConstructor
	if hook.LogConstructor == nil {
		hook.LogConstructor = logOf(kind)
	}
	return hook
}

// logOf adds the kind and the request's object to the logger.
func logOf(kind schema.GroupVersionKind) func(logr.Logger, *admission.Request) logr.Logger {
	return func(base logr.Logger, req *admission.Request) logr.Logger {
		base = base.WithValues("webhookGroup", kind.Group, "webhookKind", kind.Kind)
		if req == nil {
			return base
		}
		return base.WithValues(kind.Kind, klog.KRef(req.Namespace, req.Name),
			"namespace", req.Namespace, "name", req.Name,
			"resource", req.Resource, "user", req.UserInfo.Username, "requestID", req.UID)
	}
}

// register serves a path, unless it already has a handler.
func (b *WebhookBuilder[T]) register(kind schema.GroupVersionKind, path string, hook http.Handler) {
	server := b.manager.GetWebhookServer()
	if mux := server.WebhookMux(); mux != nil {
		if _, taken := mux.Handler(&http.Request{URL: &url.URL{Path: path}}); taken == path {
			return
		}
	}
	webhookLog.Info("Registering a webhook", "kind", kind.String(), "path", path)
	server.Register(path, hook)
}

var validPath = regexp.MustCompile(`^((/[a-zA-Z0-9-_]+)+|/)$`)

// webhookPath is the path that the API server calls. controller-gen writes the same paths.
func webhookPath(prefix string, kind schema.GroupVersionKind, custom string) (string, error) {
	if custom == "" {
		return prefix + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" +
			strings.ToLower(kind.Kind), nil
	}
	if !validPath.MatchString(custom) {
		return "", fmt.Errorf("%q is not a path for a webhook: it begins with a slash "+
			"and has letters, digits, - and _ between slashes, as in /default/bananas", custom)
	}
	return custom, nil
}
