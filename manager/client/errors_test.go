package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

// Programs branch on these types.
func TestErrorsHaveTheTypesThatProgramsAskFor(t *testing.T) {
	unknown := schema.GroupVersionKind{Group: "nobody.example", Version: "v1", Kind: "Nothing"}
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		w.mustCreate(configMap("a"))
		stale := configMap("a")
		stale.ResourceVersion = "1"
		metadata := metadataOf(configMapKind, "a")
		patch := RawPatch(types.MergePatchType, []byte("{}"))
		uid := types.UID("another")
		for _, c := range []struct {
			name string
			err  error
			is   func(error) bool
		}{
			{"not found", w.Get(ctx, shopKey("missing"), &corev1.ConfigMap{}), apierrors.IsNotFound},
			{"an update of what is not there", w.Update(ctx, configMap("missing")), apierrors.IsNotFound},
			{"a delete of what is not there", w.Delete(ctx, widget("missing")), apierrors.IsNotFound},
			{"already there", w.Create(ctx, configMap("a")), apierrors.IsAlreadyExists},
			{"conflict", w.Update(ctx, stale), apierrors.IsConflict},
			{"precondition", w.Delete(ctx, configMap("a"), Preconditions{UID: &uid}), apierrors.IsConflict},
			{"invalid", w.Create(ctx, configMap("No Name")), apierrors.IsInvalid},
			{"expired or unknown place", w.List(ctx, &corev1.ConfigMapList{}, Limit(1), Continue("?")), apierrors.IsBadRequest},
			{"a kind that the server does not have", w.Get(ctx, shopKey("a"), newUnstructured(unknown)), meta.IsNoMatchError},
			{"a list of such a kind", w.List(ctx, listOf(unknown)), meta.IsNoMatchError},
			{"an apply of such a kind", w.Apply(ctx, ApplyConfigurationFromUnstructured(newUnstructured(unknown))), meta.IsNoMatchError},
			{"a Go type that the scheme does not have", w.Get(ctx, shopKey("a"), &stranger{}), runtime.IsNotRegisteredError},
			{"a delete of such a type", w.Delete(ctx, &stranger{}), runtime.IsNotRegisteredError},
			{"an object that does not say what it is", w.Get(ctx, shopKey("a"), &unstructured.Unstructured{Object: map[string]any{}}), runtime.IsMissingKind},
			{"metadata that does not say what it is", w.Get(ctx, shopKey("a"), &metav1.PartialObjectMetadata{}), runtime.IsMissingKind},
			{"no name", w.Get(ctx, ObjectKey{Namespace: "shop"}, &corev1.ConfigMap{}), says("resource name may not be empty")},
			{"no namespace", w.Get(ctx, ObjectKey{Name: "a"}, &corev1.ConfigMap{}), says("an empty namespace may not be set")},
			{"no namespace, of metadata", w.Get(ctx, ObjectKey{Name: "a"}, metadataOf(configMapKind, "")), says("an empty namespace may not be set")},
			{"create metadata", w.Create(ctx, metadata), says("cannot create an object of which only the metadata is known")},
			{"update metadata", w.Update(ctx, metadata), says("cannot update an object of which only the metadata is known")},
			{"update a status of metadata", w.Status().Update(ctx, metadata), says("cannot update a subresource")},
			{"get a scale of metadata", w.SubResource("scale").Get(ctx, metadata, &autoscalingv1.Scale{}), says("cannot get a subresource")},
			{"create a binding of metadata", w.SubResource("binding").Create(ctx, metadata, &corev1.Binding{}), says("cannot create a subresource")},
			{"a typed scale of something unstructured", w.SubResource("scale").Get(ctx, widget("w"), &autoscalingv1.Scale{}), func(err error) bool { return err == errUnstructuredBody }},
			{"a status of a kind that has none", w.Status().Patch(ctx, configMap("a"), patch), apierrors.IsNotFound},
			{"something that cannot be applied", w.Apply(ctx, notApplicable{}), says("cannot be applied")},
			{"an apply without an owner", w.Apply(ctx, coreapply.ConfigMap("a", "shop")), apierrors.IsInvalid},
		} {
			require.Error(w, c.err, c.name)
			require.True(w, c.is(c.err), "%s: %v", c.name, c.err)
		}
	})
}

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

type stranger struct{ corev1.ConfigMap }

func (s *stranger) DeepCopyObject() runtime.Object { return s }

type notApplicable struct{}

func (notApplicable) IsApplyConfiguration() {}

func TestIgnoredErrorsAreNoErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	notFound, exists := apierrors.NewNotFound(resource, "a"), apierrors.NewAlreadyExists(resource, "a")
	require.NoError(t, IgnoreNotFound(notFound))
	require.NoError(t, IgnoreAlreadyExists(exists))
	require.NoError(t, IgnoreNotFound(nil))
	require.NoError(t, IgnoreAlreadyExists(nil))
	require.Equal(t, exists, IgnoreNotFound(exists))
	require.Equal(t, notFound, IgnoreAlreadyExists(notFound))
}
