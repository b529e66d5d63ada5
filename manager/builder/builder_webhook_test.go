package builder_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

// agrees is a Defaulter and a Validator of everything.
type agrees[T runtime.Object] struct{}

func (agrees[T]) Default(context.Context, T) error                                    { return nil }
func (agrees[T]) ValidateCreate(context.Context, T) (admission.Warnings, error)       { return nil, nil }
func (agrees[T]) ValidateUpdate(context.Context, T, T) (admission.Warnings, error)    { return nil, nil }
func (agrees[T]) ValidateDelete(context.Context, T) (admission.Warnings, error)       { return nil, nil }
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
		all := []string{"/mutate-apps-v1-deployment", "/validate-apps-v1-deployment", "/default/pods", "/validate_pods"}
		require.Equal(t, all, w.served(append(all, "/mutate--v1-pod", "/validate--v1-pod", "/convert")...))

		require.NoError(t, builder.WebhookManagedBy(w, &appsv1.Deployment{}).WithDefaulter(agrees[*appsv1.Deployment]{}).Complete(),
			"a path that is served already is left alone")
	})
}

func TestAConverterIsRegisteredAndServed(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		converter := func(*runtime.Scheme) (conversion.Converter, error) { return agrees[*corev1.Pod]{}, nil }
		require.NoError(t, builder.WebhookManagedBy(w, &corev1.Pod{}).WithConverter(converter).Complete())
		require.Equal(t, []string{"/convert"}, w.served("/convert"))
		_, found := w.GetConverterRegistry().GetConverter(schema.GroupKind{Kind: "Pod"})
		require.True(t, found)
		require.ErrorContains(t, builder.WebhookManagedBy(w, &corev1.Pod{}).WithConverter(converter).Complete(), "has a converter already")
		_, err := conversion.NewHubSpokeConverter(&corev1.Pod{})(w.GetScheme())
		require.NoError(t, err, "a kind of one version needs no spokes")
	})
}

func TestWebhooksThatCannotBeServedAreAnErrorAndNoneIsServed(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		pods := func() *builder.WebhookBuilder[*corev1.Pod] {
			return builder.WebhookManagedBy(w, &corev1.Pod{}).WithDefaulter(agrees[*corev1.Pod]{}).WithValidator(agrees[*corev1.Pod]{})
		}
		for want, complete := range map[string]func() error{
			"only one of Defaulter or CustomDefaulter can be set": pods().WithCustomDefaulter(agrees[runtime.Object]{}).Complete,
			"only one of Validator or CustomValidator can be set": pods().WithCustomValidator(agrees[runtime.Object]{}).Complete,
			`"default/pods" is not a path for a webhook`:          pods().WithDefaulterCustomPath("default/pods").Complete,
			`"/a b" is not a path for a webhook`:                  pods().WithValidatorCustomPath("/a b").Complete,
			"WebhookManagedBy needs an object":                    builder.WebhookManagedBy[runtime.Object](w, nil).Complete,
			"no kind is registered":                               builder.WebhookManagedBy(w, &unregistered{}).Complete,
		} {
			require.ErrorContains(t, complete(), want)
		}
		require.Empty(t, w.served("/mutate--v1-pod", "/validate--v1-pod"))
	})
}

type unregistered struct{ corev1.Pod }

func (u *unregistered) DeepCopyObject() runtime.Object { return u }
