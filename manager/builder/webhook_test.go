package builder_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

// agrees is a Defaulter and a Validator of everything.
type agrees[T runtime.Object] struct{}

func (agrees[T]) Default(context.Context, T) error { return nil }
func (agrees[T]) ValidateCreate(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}
func (agrees[T]) ValidateUpdate(context.Context, T, T) (admission.Warnings, error) {
	return nil, nil
}
func (agrees[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}
func (agrees[T]) ConvertObject(context.Context, runtime.Object, runtime.Object) error { return nil }

// served says which of the paths are.
func (w *world) served(paths ...string) (found []string) {
	for _, path := range paths {
		if _, pattern := w.GetWebhookServer().WebhookMux().Handler(&http.Request{URL: &url.URL{Path: path}}); pattern == path {
			found = append(found, path)
		}
	}
	return found
}

// The paths are part of the contract: the configurations that controller-gen writes have them.
func TestWebhooksAreServedAtTheirPaths(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		require.NoError(t, builder.WebhookManagedBy(w, &appsv1.Deployment{}).
			WithDefaulter(agrees[*appsv1.Deployment]{}).WithValidator(agrees[*appsv1.Deployment]{}).RecoverPanic(false).Complete())
		require.NoError(t, builder.WebhookManagedBy(w, &corev1.Pod{}).
			WithCustomDefaulter(agrees[runtime.Object]{}).WithDefaulterCustomPath("/default/pods").
			WithCustomValidator(agrees[runtime.Object]{}).WithValidatorCustomPath("/validate_pods").Complete())
		all := []string{"/mutate-apps-v1-deployment", "/validate-apps-v1-deployment",
			"/default/pods", "/validate_pods"}
		require.Equal(t, all, w.served(append(all, "/mutate--v1-pod", "/validate--v1-pod",
			"/convert")...))

		require.NoError(t, builder.WebhookManagedBy(w,
			&appsv1.Deployment{}).WithDefaulter(agrees[*appsv1.Deployment]{}).Complete(),
			"a path that is served already is left alone")
	})
}

func TestAConverterIsRegisteredAndServed(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		converter := func(*runtime.Scheme) (conversion.Converter, error) {
			return agrees[*corev1.Pod]{}, nil
		}
		require.NoError(t, builder.WebhookManagedBy(w,
			&corev1.Pod{}).WithConverter(converter).Complete())
		require.Equal(t, []string{"/convert"}, w.served("/convert"))
		_, found := w.GetConverterRegistry().GetConverter(schema.GroupKind{Kind: "Pod"})
		require.True(t, found)
		require.ErrorContains(t, builder.WebhookManagedBy(w,
			&corev1.Pod{}).WithConverter(converter).Complete(), "has a converter already")
		_, err := conversion.NewHubSpokeConverter(&corev1.Pod{})(w.GetScheme())
		require.NoError(t, err, "a kind of one version needs no spokes")
	})
}

func TestWebhooksThatCannotBeServedAreAnErrorAndNoneIsServed(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		pods := func() *builder.WebhookBuilder[*corev1.Pod] {
			return builder.WebhookManagedBy(w,
				&corev1.Pod{}).WithDefaulter(agrees[*corev1.Pod]{}).WithValidator(agrees[*corev1.Pod]{})
		}
		for want, complete := range map[string]func() error{
			"only one of Defaulter or CustomDefaulter can be set": pods().WithCustomDefaulter(agrees[runtime.Object]{}).Complete,
			"only one of Validator or CustomValidator can be set": pods().WithCustomValidator(agrees[runtime.Object]{}).Complete,
			`"default/pods" is not a path for a webhook`:          pods().WithDefaulterCustomPath("default/pods").Complete,
			`"/a b" is not a path for a webhook`:                  pods().WithValidatorCustomPath("/a b").Complete,
			"WebhookManagedBy needs an object":                    builder.WebhookManagedBy[runtime.Object](w, nil).Complete,
			"no kind is registered": builder.WebhookManagedBy(w,
				&unregistered{}).Complete,
		} {
			require.ErrorContains(t, complete(), want)
		}
		require.Empty(t, w.served("/mutate--v1-pod", "/validate--v1-pod"))
	})
}

type unregistered struct{ corev1.Pod }

func (u *unregistered) DeepCopyObject() runtime.Object { return u }

// asks is a Defaulter and a Validator that asks a function.
type asks[T runtime.Object] func(ctx context.Context, object runtime.Object) error

func (a asks[T]) Default(ctx context.Context, object T) error { return a(ctx, object) }
func (a asks[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	return nil, a(ctx, object)
}
func (a asks[T]) ValidateUpdate(ctx context.Context, _, object T) (admission.Warnings, error) {
	return nil, a(ctx, object)
}
func (a asks[T]) ValidateDelete(ctx context.Context, object T) (admission.Warnings, error) {
	return nil, a(ctx, object)
}

const (
	defaults  = "/mutate--v1-pod"
	validates = "/validate--v1-pod"
)

// call asks a webhook as the API server does when ann creates the Pod web.
func (w *world) call(path string) *admissionv1.AdmissionResponse {
	w.t.Helper()
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
		"uid": "1", "kind": {"version": "v1", "kind": "Pod"}, "resource": {"version": "v1", "resource": "pods"},
		"name": "web", "namespace": "default", "operation": "CREATE", "userInfo": {"username": "ann"},
		"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "unknown": true}}}`))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Via", "a proxy")
	answer := httptest.NewRecorder()
	w.GetWebhookServer().WebhookMux().ServeHTTP(answer, request)
	require.Equal(w.t, http.StatusOK, answer.Code)
	var review admissionv1.AdmissionReview
	require.NoError(w.t, json.Unmarshal(answer.Body.Bytes(), &review))
	require.NotNil(w.t, review.Response)
	return review.Response
}

func TestADefaulterAndAValidatorAreAskedAndMayRefuse(t *testing.T) {
	type asking = func(context.Context, runtime.Object) error
	type webhooks = *builder.WebhookBuilder[*corev1.Pod]
	for name, with := range map[string]func(w *world, asked asking) webhooks{
		"of the type": func(w *world, asked asking) webhooks {
			return builder.WebhookManagedBy(w, &corev1.Pod{}).
				WithDefaulter(asks[*corev1.Pod](asked)).WithValidator(asks[*corev1.Pod](asked))
		},
		"of any object": func(w *world, asked asking) webhooks {
			return builder.WebhookManagedBy(w, &corev1.Pod{}).
				WithCustomDefaulter(asks[runtime.Object](asked)).
				WithCustomValidator(asks[runtime.Object](asked))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
				var refusal error
				require.NoError(t, with(w, func(_ context.Context, object runtime.Object) error {
					require.Equal(t, "web", object.(*corev1.Pod).Name)
					return refusal
				}).Complete())
				for _, path := range []string{defaults, validates} {
					refusal = nil
					require.True(t, w.call(path).Allowed)
					refusal = errors.New("we are closed")
					response := w.call(path)
					require.False(t, response.Allowed)
					require.Contains(t, response.Result.Message, "we are closed")
				}
			})
		})
	}
}

func TestADefaultersOptionsReachIt(t *testing.T) {
	for removes, opts := range map[bool][]admission.DefaulterOption{true: {admission.DefaulterRemoveUnknownOrOmitableFields}, false: nil} {
		for _, custom := range []bool{false, true} {
			inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
				hooks := builder.WebhookManagedBy(w, &corev1.Pod{})
				if custom {
					hooks.WithCustomDefaulter(agrees[runtime.Object]{}, opts...)
				} else {
					hooks.WithDefaulter(agrees[*corev1.Pod]{}, opts...)
				}
				require.NoError(t, hooks.Complete())
				require.Equal(t, []string{defaults}, w.served(defaults, validates),
					"nobody asked for a validator")
				require.Equal(t, removes, strings.Contains(string(w.call(defaults).Patch),
					"/unknown"))
			})
		}
	}
}

func TestAPanicIsAnAnswerUnlessTheBuilderSaysOtherwise(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		panics := asks[*corev1.Pod](func(context.Context, runtime.Object) error {
			panic("at the disco")
		})
		require.NoError(t, builder.WebhookManagedBy(w,
			&corev1.Pod{}).WithValidator(panics).Complete())
		require.EqualValues(t, http.StatusInternalServerError, w.call(validates).Result.Code)
		require.NoError(t, builder.WebhookManagedBy(w,
			&corev1.Pod{}).WithValidator(panics).WithValidatorCustomPath("/other").RecoverPanic(false).Complete())
		require.Panics(t, func() { w.call("/other") })
	})
}

type via struct{}

// What only the HTTP request has, such as a header, is lost otherwise.
func TestAWebhookHasTheContextAndTheLoggerThatTheBuilderMakes(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		var said []string
		var got any
		hook := asks[*corev1.Pod](func(ctx context.Context, _ runtime.Object) error {
			got = ctx.Value(via{})
			log.FromContext(ctx).Info("here")
			return nil
		})
		require.NoError(t, builder.WebhookManagedBy(w,
			&corev1.Pod{}).WithDefaulter(hook).WithValidator(hook).
			WithContextFunc(func(ctx context.Context, r *http.Request) context.Context {
				return context.WithValue(ctx, via{}, r.Header.Get("Via"))
			}).
			WithLogConstructor(func(logr.Logger, *admission.Request) logr.Logger {
				return funcr.New(func(_, line string) {
					said = append(said, line)
				}, funcr.Options{})
			}).Complete())
		for _, path := range []string{defaults, validates} {
			got, said = nil, nil
			require.True(t, w.call(path).Allowed)
			require.Equal(t, "a proxy", got)
			require.Equal(t, []string{`"level"=0 "msg"="here"`}, said)
		}
	})
}

// program is the log of the program; it can be set once.
var program = func() func() string {
	var mu sync.Mutex // guards lines
	var lines []string
	log.SetLogger(funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{}))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		since := strings.Join(lines, "\n")
		lines = nil
		return since
	}
}()

// Somebody who looks for the reason of a refusal has the name of an object, or that of a user.
func TestTheLogOfAWebhookNamesTheKindTheObjectAndTheUser(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		hook := asks[*corev1.Pod](func(ctx context.Context, _ runtime.Object) error {
			log.FromContext(ctx).Info("here")
			return nil
		})
		program()
		require.NoError(t, builder.WebhookManagedBy(w,
			&corev1.Pod{}).WithValidator(hook).Complete())
		require.Equal(t, []string{validates}, w.served(defaults, validates),
			"nobody asked for a defaulter")
		require.Contains(t, program(),
			`"msg"="Registering a webhook" "kind"="/v1, Kind=Pod" "path"="`+validates+`"`)
		require.True(t, w.call(validates).Allowed)
		require.Contains(t, program(),
			`"msg"="here" "webhookGroup"="" "webhookKind"="Pod" "Pod"={"name"="web" "namespace"="default"} `+
				`"namespace"="default" "name"="web" "resource"={"group"="" "version"="v1" "resource"="pods"} "user"="ann" "requestID"="1"`)

		answer := httptest.NewRecorder()
		w.GetWebhookServer().WebhookMux().ServeHTTP(answer,
			httptest.NewRequest(http.MethodPost, validates, strings.NewReader("nonsense")))
		require.Contains(t, program(), `"webhookGroup"="" "webhookKind"="Pod"`,
			"a request that cannot be read has a kind all the same")
	})
}

func TestAConverterThatCannotBeMadeIsAnErrorAndNothingIsServed(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		broken := errors.New("broken")
		err := builder.WebhookManagedBy(w, &corev1.Pod{}).WithDefaulter(agrees[*corev1.Pod]{}).
			WithConverter(func(*runtime.Scheme) (conversion.Converter, error) {
				return nil, broken
			}).Complete()
		require.ErrorIs(t, err, broken)
		require.Empty(t, w.served(defaults, "/convert"))
	})
}
