package client

import (
	"net/http"
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
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
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

// answers makes the server give one answer to everything but questions about its kinds.
func (w *world) answers(status int, contentType, body string) {
	server := w.wire.next
	w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
		if isDiscovery(request.URL.Path) {
			return server.RoundTrip(request)
		}
		return fakeapi.Answer(request, status, contentType, body), nil
	})
}

func applied1(w *world) error {
	return w.Apply(w.Context(), coreapply.ConfigMap("a", "shop").WithData(map[string]string{"a": "1"}), FieldOwner("me"))
}

func metadata1(w *world) error {
	return w.Get(w.Context(), shopKey("a"), metadataOf(configMapKind, ""))
}

// A proxy may answer, or a server that is ill. Nobody may take that for the object.
func TestAnAnswerThatIsNoObjectIsAnError(t *testing.T) {
	for _, c := range []struct {
		name        string
		call        func(*world) error
		contentType string
		body        string
		want        string
	}{
		{"apply, a page of a proxy", applied1, "text/html", "<html>", `the answer to an apply is "text/html", and should be JSON`},
		{"apply, protobuf", applied1, runtime.ContentTypeProtobuf, "k8s", `the answer to an apply is "application/vnd.kubernetes.protobuf", and should be JSON`},
		{"apply, no type that can be read", applied1, "///", "{}", "no media type"},
		{"apply, JSON that ends too soon", applied1, "application/json", `{"metadata":{`, "unexpected end of JSON input"},
		{"metadata of an unknown kind, with a name that is a number", metadata1, "application/json", `{"apiVersion":"shop.example/v1","kind":"Widget","metadata":{"name":5}}`, "decode the answer as metadata"},
		{"metadata, JSON that ends too soon", metadata1, "application/json", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{`, "unexpected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, Options{}, func(w *world) {
				w.answers(http.StatusOK, c.contentType, c.body)
				require.ErrorContains(w, c.call(w), c.want)
			})
		})
	}
}

func TestAnApplyThatIsRefusedLeavesTheConfigurationAsItIs(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.answers(http.StatusForbidden, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`)
		config := coreapply.ConfigMap("a", "shop").WithData(map[string]string{"a": "1"})
		require.ErrorContains(w, w.Apply(w.Context(), config, FieldOwner("me")), "no")
		require.Equal(w, map[string]string{"a": "1"}, config.Data)
	})
}

// What was in the configuration and is not in the answer is gone: an entry of a map, and an element of a list.
func TestTheAnswerToAnApplyIsAllThatIsInTheConfiguration(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.answers(http.StatusOK, "application/json; charset=utf-8",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"1","ownerReferences":[{"uid":"2"}]},"data":{"b":"2"}}`)
		config := coreapply.ConfigMap("a", "shop").WithData(map[string]string{"a": "1"}).
			WithOwnerReferences(metaapply.OwnerReference().WithName("it"), metaapply.OwnerReference().WithName("and another"))
		require.NoError(w, w.Apply(w.Context(), config, FieldOwner("me")))
		require.Equal(w, map[string]string{"b": "2"}, config.Data)
		require.Len(w, config.OwnerReferences, 1)
		require.Nil(w, config.OwnerReferences[0].Name)
		require.Equal(w, "1", string(*config.UID))
	})
}

// The same with metadata, of a server that sends the whole object.
func TestTheAnswerIsAllThatIsInTheMetadata(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.answers(http.StatusOK, "application/json", `{"apiVersion":"shop.example/v1","kind":"Widget","metadata":{"name":"w","labels":{"b":"2"}}}`)
		metadata := metadataOf(widgetKind, "w")
		metadata.Labels, metadata.Annotations = map[string]string{"a": "1"}, map[string]string{"a": "1"}
		require.NoError(w, w.Get(w.Context(), shopKey("w"), metadata))
		require.Equal(w, map[string]string{"b": "2"}, metadata.Labels)
		require.Empty(w, metadata.Annotations)
		require.Equal(w, widgetKind, metadata.GroupVersionKind())
	})
}

func TestAConfigurationSaysItsKind(t *testing.T) {
	broken := coreapply.ConfigMap("a", "shop").WithAPIVersion("a/b/c")
	_, err := describeApplied(broken)
	require.ErrorContains(t, err, "apply a *v1.ConfigMapApplyConfiguration: unexpected GroupVersion string: a/b/c")
	said, err := describeApplied(&coreapply.ConfigMapApplyConfiguration{})
	require.NoError(t, err)
	require.Equal(t, applied{encoding: applyConfig}, said)
	said, err = describeApplied(coreapply.ConfigMap("a", "shop"))
	require.NoError(t, err)
	require.Equal(t, applied{corev1.SchemeGroupVersion.WithKind("ConfigMap"), shopKey("a"), applyConfig}, said)
}

// An object without a kind does not get one that is empty over one that a decoder has found.
func TestAKindThatIsNotThereIsNotKept(t *testing.T) {
	obj := configMap("a")
	keep := keepKind(obj)
	obj.SetGroupVersionKind(configMapKind)
	keep()
	require.Equal(t, configMapKind, obj.GroupVersionKind())
}
