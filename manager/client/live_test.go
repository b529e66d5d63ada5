package client

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A reconciler that reuses a variable would otherwise act on labels that nobody has set.
func TestNothingOfWhatAnObjectWasStaysWhenItIsRead(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"), widget("a"))
		old := metav1.ObjectMeta{Labels: map[string]string{"old": "1"}, Finalizers: []string{"old/old"}}

		typed := &corev1.ConfigMap{ObjectMeta: old, Data: map[string]string{"old": "1"}}
		require.NoError(w, w.Get(w.Context(), shopKey("a"), typed))
		require.Empty(w, typed.Labels)
		require.Empty(w, typed.Finalizers)
		require.Empty(w, typed.Data)

		free := widget("old")
		free.SetLabels(old.Labels)
		require.NoError(w, w.Get(w.Context(), shopKey("a"), free))
		require.Empty(w, free.GetLabels())

		metadata := metadataOf(configMapKind, "old")
		metadata.Labels, metadata.Finalizers = old.Labels, old.Finalizers
		require.NoError(w, w.Get(w.Context(), shopKey("a"), metadata))
		require.Empty(w, metadata.Labels)
		require.Empty(w, metadata.Finalizers)

		list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{Continue: "old"}, Items: []corev1.ConfigMap{*typed, *typed, *typed}}
		require.NoError(w, w.List(w.Context(), list, InNamespace("nowhere")))
		require.Empty(w, list.Items)
		require.Empty(w, list.Continue)

		applied := coreapply.ConfigMap("b", "shop").WithData(map[string]string{"mine": "1"})
		require.NoError(w, w.Apply(w.Context(), applied, FieldOwner("me")))
		require.NotEmpty(w, *applied.UID, "what is applied gets the answer")
		require.Equal(w, map[string]string{"mine": "1"}, applied.Data)
		require.NotNil(w, applied.Name)
	})
}

func TestAnObjectWhoseCallFailedIsAsItWas(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, obj := range []Object{&corev1.ConfigMap{Data: map[string]string{"mine": "1"}}, widget("mine"), metadataOf(widgetKind, "mine")} {
			before := obj.DeepCopyObject()
			require.True(w, apierrors.IsNotFound(w.Get(w.Context(), shopKey("missing"), obj)))
			require.Equal(w, before, obj)
		}
	})
}

// Code that logs an object, or makes an owner reference of it, needs its kind. The decoder drops it.
func TestAnObjectKeepsTheKindThatItSays(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		typed := deployment("web")
		typed.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
		kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
		require.NoError(w, w.Create(ctx, typed.DeepCopy()))
		require.NoError(w, w.Update(ctx, typed))
		require.Equal(w, kind, typed.GroupVersionKind(), "update")
		patch := RawPatch(types.MergePatchType, []byte(`{}`))
		require.NoError(w, w.Patch(ctx, typed, patch))
		require.Equal(w, kind, typed.GroupVersionKind(), "patch")
		require.NoError(w, w.Status().Update(ctx, typed))
		require.Equal(w, kind, typed.GroupVersionKind(), "update of the status")
		require.NoError(w, w.Status().Patch(ctx, typed, patch))
		require.Equal(w, kind, typed.GroupVersionKind(), "patch of the status")

		for _, obj := range []Object{widget("w"), newUnstructured(widgetKind), metadataOf(widgetKind, "w")} {
			if u, ok := obj.(*unstructured.Unstructured); ok && u.GetName() != "" {
				require.NoError(w, w.Create(ctx, u))
				require.Equal(w, widgetKind, u.GroupVersionKind(), "create")
				require.NoError(w, w.Update(ctx, u))
				require.Equal(w, widgetKind, u.GroupVersionKind(), "update")
			}
			require.NoError(w, w.Get(ctx, shopKey("w"), obj))
			require.Equal(w, widgetKind, obj.GetObjectKind().GroupVersionKind(), "get %T", obj)
			require.NoError(w, w.Patch(ctx, obj, patch))
			require.Equal(w, widgetKind, obj.GetObjectKind().GroupVersionKind(), "patch %T", obj)
			require.NoError(w, w.Status().Patch(ctx, obj, patch))
			require.Equal(w, widgetKind, obj.GetObjectKind().GroupVersionKind(), "patch of the status of %T", obj)
		}
		applied := widget("applied")
		require.NoError(w, w.Apply(ctx, ApplyConfigurationFromUnstructured(applied), FieldOwner("me")))
		require.Equal(w, widgetKind, applied.GroupVersionKind())
		require.NotEmpty(w, applied.GetUID(), "what is applied gets the answer")

		list := metadataListOf(widgetKind.GroupVersion().WithKind("WidgetList"))
		require.NoError(w, w.List(ctx, list))
		require.Equal(w, "WidgetList", list.Kind)
		require.Len(w, list.Items, 2)
		for _, item := range list.Items {
			require.Equal(w, widgetKind, item.GroupVersionKind(), "an item of a list of metadata must say what it is")
		}
	})
}

func TestMetadataIsAllThatIsRead(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		big := configMap("big")
		big.Labels, big.Data = map[string]string{"a": "b"}, map[string]string{"much": "text"}
		w.mustCreate(big)
		metadata := metadataOf(configMapKind, "")
		require.NoError(w, w.Get(w.Context(), shopKey("big"), metadata))
		require.Equal(w, big.Labels, metadata.Labels)
		require.Equal(w, big.UID, metadata.UID)
	})
}

// Such a server is behind the aggregation layer, and was built without what cuts objects down.
func TestMetadataIsCutOutHereIfTheServerDoesNotKnowHow(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		whole := configMap("a")
		w.mustCreate(whole)
		unaware := w.wire.next
		w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
			if !isDiscovery(request.URL.Path) {
				request.Header.Set("Accept", "application/json")
			}
			return unaware.RoundTrip(request)
		})
		metadata := metadataOf(configMapKind, "")
		require.NoError(w, w.Get(w.Context(), shopKey("a"), metadata))
		require.Equal(w, whole.UID, metadata.UID)
		require.Equal(w, configMapKind, metadata.GroupVersionKind())
		list := metadataListOf(configMapKind)
		require.NoError(w, w.List(w.Context(), list))
		require.Len(w, list.Items, 1)
		require.Equal(w, whole.UID, list.Items[0].UID)
	})
}

func TestTheServerNamesAnObjectThatHasOnlyTheBeginningOfAName(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "web-"}}
		require.NoError(w, w.Create(w.Context(), obj))
		require.Regexp(w, "^web-.+", obj.Name)
	})
}

// A form that was asked for first must not decide how the others travel. In controller-runtime an
// unstructured object that is read after a typed one was applied comes without its kind.
func TestTheFormsOfOneKindDoNotGetInEachOthersWay(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		require.NoError(w, w.Apply(ctx, coreapply.ConfigMap("a", "shop"), FieldOwner("me")))
		free := newUnstructured(configMapKind)
		require.NoError(w, w.Get(ctx, shopKey("a"), free))
		require.Equal(w, configMapKind, free.GroupVersionKind())
		w.mustCreate(deployment("web"))
		require.NoError(w, w.Apply(ctx, appsapply.Deployment("web", "shop"), FieldOwner("me")))
		scale := newUnstructured(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		web := newUnstructured(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		web.SetNamespace("shop")
		web.SetName("web")
		require.NoError(w, w.SubResource("scale").Get(ctx, web, scale))
		require.Equal(w, "Scale", scale.GetKind())
	})
}

func TestASubresourceWithoutANameGetsThatOfItsObject(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(pod("p"), deployment("web"))
		binding := &corev1.Binding{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
		require.NoError(w, w.SubResource("binding").Create(w.Context(), pod("p"), binding), "the server refuses a binding of another name")
		require.Equal(w, "Binding", binding.Kind, "the kind that it says stays")
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
		require.NoError(w, w.SubResource("scale").Update(w.Context(), deployment("web"), WithSubResourceBody(scale)))
		require.Equal(w, shopKey("web"), ObjectKeyFromObject(scale))
		var after appsv1.Deployment
		require.NoError(w, w.Get(w.Context(), shopKey("web"), &after))
		require.EqualValues(w, 4, *after.Spec.Replicas)
	})
}

func TestAWatchBringsWhatChanges(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, list := range []ObjectList{&corev1.ConfigMapList{}, listOf(configMapKind), metadataListOf(configMapKind)} {
			watching, err := w.Watch(w.Context(), list, InNamespace("shop"))
			require.NoError(w, err)
			obj := configMap("a")
			w.mustCreate(obj)
			event := <-watching.ResultChan()
			require.Equal(w, watch.Added, event.Type)
			require.Equal(w, obj.UID, event.Object.(metav1.Object).GetUID(), "%T", event.Object)
			watching.Stop()
			require.NoError(w, w.Delete(w.Context(), obj))
		}
		_, err := w.Watch(w.Context(), listOf(schema.GroupVersionKind{Version: "v1", Kind: "Nothing"}))
		require.True(w, meta.IsNoMatchError(err))
	})
}

func TestAClientKnowsKindsAndWhereTheyAre(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		gvk, err := w.GroupVersionKindFor(&corev1.ConfigMap{})
		require.NoError(w, err)
		require.Equal(w, configMapKind, gvk)
		namespaced, err := w.IsObjectNamespaced(&corev1.ConfigMap{})
		require.NoError(w, err)
		require.True(w, namespaced)
		namespaced, err = w.IsObjectNamespaced(&corev1.Namespace{})
		require.NoError(w, err)
		require.False(w, namespaced)
		require.NotNil(w, w.Scheme())
		mapping, err := w.RESTMapper().RESTMapping(widgetKind.GroupKind())
		require.NoError(w, err)
		require.Equal(w, "widgets", mapping.Resource.Resource)
	})
}

// The first request for a kind finds out where it is. While the server is slow to say so, requests
// for kinds that are known must go on.
func TestAKindThatIsBeingLookedUpDoesNotHoldUpOthers(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"))
		slow := w.wire.next
		w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path == "/apis/shop.example/v1" {
				time.Sleep(20 * time.Second) // the mapper waits for 30
			}
			return slow.RoundTrip(request)
		})
		began := time.Now()
		done := make(chan error)
		go func() { done <- w.List(w.Context(), listOf(widgetKind)) }()
		synctest.Wait()
		require.NoError(w, w.Get(w.Context(), shopKey("a"), &corev1.ConfigMap{}))
		require.Zero(w, time.Since(began), "this kind was known already")
		require.NoError(w, <-done)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestAnAnswerThatIsNoJSONCannotBeApplied(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"))
		w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
			return fakeapi.Answer(request, http.StatusOK, "application/yaml", "a: b"), nil
		})
		applied := coreapply.ConfigMap("a", "shop")
		require.ErrorContains(w, w.Apply(w.Context(), applied, FieldOwner("me")), "should be JSON")
		require.Equal(w, "a", *applied.Name, "an object whose call failed is as it was")
	})
}
