package client

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// A program that has forgotten to add its types to the scheme must hear so from whatever it calls first.
func TestEveryCallAboutATypeThatTheSchemeDoesNotHaveSaysSo(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx, merge := w.Context(), RawPatch(types.MergePatchType, []byte("{}"))
		applied := ApplyConfigurationFromUnstructured(newUnstructured(widgetKind.GroupVersion().WithKind("Nothing")))
		for i, err := range []error{
			w.Get(ctx, shopKey("a"), &stranger{}),
			w.Create(ctx, &stranger{}),
			w.Update(ctx, &stranger{}),
			w.Patch(ctx, &stranger{}, merge),
			w.Delete(ctx, &stranger{}),
			w.DeleteAllOf(ctx, &stranger{}),
			w.Status().Update(ctx, &stranger{}),
			w.Status().Patch(ctx, &stranger{}, merge),
			w.SubResource("scale").Get(ctx, &stranger{}, &autoscalingv1.Scale{}),
			w.SubResource("binding").Create(ctx, &stranger{}, &corev1.Binding{}),
		} {
			require.True(w, runtime.IsNotRegisteredError(err), "call %d: %v", i, err)
		}
		require.ErrorContains(w, w.Apply(ctx, applied), "Nothing")
		require.ErrorContains(w, w.Status().Apply(ctx, applied), "Nothing")
		require.ErrorContains(w, w.Status().Apply(ctx, notApplicable{}), "cannot be applied")
		require.Empty(w, w.wire.requests(), "the server must not have been asked")
	})
}

// unwritable is a configuration that cannot be written as JSON.
type unwritable struct {
	*coreapply.ConfigMapApplyConfiguration
}

// MarshalJSON implements json.Marshaler.
func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New("this cannot be written") }

// An empty patch, sent instead of one that could not be made, would be taken for a success.
func TestAPatchThatCannotBeMadeIsNotSent(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"))
		locked := MergeFromWithOptions(configMap("a"), MergeFromWithOptimisticLock{})
		require.ErrorContains(w, w.Patch(w.Context(), configMap("a"), locked), "has no resourceVersion")
		require.ErrorContains(w, w.Status().Patch(w.Context(), configMap("a"), locked), "has no resourceVersion")
		err := w.Apply(w.Context(), unwritable{coreapply.ConfigMap("a", "shop")}, FieldOwner("me"))
		require.ErrorContains(w, err, "apply ConfigMap a: ")
		require.ErrorContains(w, err, "this cannot be written")
		require.Empty(w, w.wire.requests())
	})
}

// Otherwise a program without access to discovery could not even use its cache.
func TestAReadThatTheCacheAnswersDoesNotAskWhereTheKindIs(t *testing.T) {
	inWorld(t, Options{Cache: &CacheOptions{Reader: readerFunc(func(string, runtime.Object) error { return nil })}}, func(w *world) {
		var asked []string
		w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
			asked = append(asked, request.URL.Path)
			return nil, errors.New("there is no server")
		})
		require.NoError(w, w.Get(w.Context(), ObjectKey{Name: "n"}, &corev1.Node{}))
		require.NoError(w, w.List(w.Context(), &corev1.NodeList{}))
		require.Empty(w, asked)
	})
}

// A program that lists page by page would go on with the token of another list.
func TestAListOfNothingHasNoNextPage(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		left := int64(3)
		list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "there", RemainingItemCount: &left}}
		require.NoError(w, w.List(w.Context(), list, MatchingLabelsSelector{}))
		require.Equal(w, metav1.ListMeta{}, list.ListMeta)
	})
}

const refusal = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`

// What is sent must have a name: some servers look at it. What has one keeps it, and the server says that it does not
// fit.
func TestABodyIsSentWithTheNameOfItsObjectOnlyIfItHasNone(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		w.answers(http.StatusForbidden, "application/json", refusal) // so that no answer overwrites what was sent
		own := metav1.ObjectMeta{Namespace: "own", Name: "own"}
		binding, named := &corev1.Binding{}, &corev1.Binding{ObjectMeta: own}
		require.ErrorContains(w, w.SubResource("binding").Create(ctx, pod("p"), binding), "no")
		require.ErrorContains(w, w.SubResource("binding").Create(ctx, pod("p"), named), "no")
		require.Equal(w, []string{"p", "own"}, []string{binding.Name, named.Name})

		scale, other := &autoscalingv1.Scale{}, &autoscalingv1.Scale{ObjectMeta: own}
		require.ErrorContains(w, w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(scale)), "no")
		require.ErrorContains(w, w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(other)), "no")
		require.Equal(w, []ObjectKey{shopKey("web"), {Namespace: "own", Name: "own"}}, []ObjectKey{ObjectKeyFromObject(scale), ObjectKeyFromObject(other)})

		free := newUnstructured(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		require.ErrorIs(w, w.SubResource("scale").Get(ctx, widget("w"), scale.DeepCopy()), errUnstructuredBody)
		require.ErrorContains(w, w.SubResource("scale").Get(ctx, widget("w"), free), "no")
		require.Equal(w, "w", free.GetName())
	})
}

// A call that is refused here leaves what it was given as it is, and asks the server for nothing.
func TestASubresourceThatIsNotSentIsAsItWas(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
			w.Errorf("the server is asked for %s", request.URL.Path)
			return nil, errors.New("there is no server")
		})
		scale := &autoscalingv1.Scale{}
		require.ErrorIs(w, w.SubResource("scale").Get(w.Context(), widget("w"), scale), errUnstructuredBody)
		require.Error(w, w.SubResource("scale").Get(w.Context(), metadataOf(widgetKind, "w"), scale))
		nothing := metadataOf(widgetKind.GroupVersion().WithKind("Nothing"), "w")
		require.ErrorContains(w, w.Status().Update(w.Context(), nothing), "it can be patched", "whatever the kind is")
		require.Empty(w, scale.Name)
	})
}

// A server may answer in the version that it stores, and an unstructured object has no other place for its kind.
func TestAnUnstructuredObjectKeepsItsKindWhateverTheAnswerSays(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.answers(http.StatusOK, "application/json", `{"apiVersion":"shop.example/v2","kind":"Surprise","metadata":{"name":"w","namespace":"shop","uid":"1"}}`)
		created, applied, read := widget("w"), widget("w"), newUnstructured(widgetKind)
		require.NoError(w, w.Create(w.Context(), created))
		require.NoError(w, w.Apply(w.Context(), ApplyConfigurationFromUnstructured(applied), FieldOwner("me")))
		require.NoError(w, w.Get(w.Context(), shopKey("w"), read))
		for _, obj := range []Object{created, applied, read} {
			require.Equal(w, widgetKind, obj.GetObjectKind().GroupVersionKind())
			require.EqualValues(w, "1", obj.GetUID())
		}
	})
}

// So it is in controller-runtime, and code that compares objects relies on it.
func TestATypedObjectThatIsReadOrMadeHasNoKind(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		obj := configMap("a")
		obj.SetGroupVersionKind(configMapKind)
		require.NoError(w, w.Create(w.Context(), obj))
		require.Empty(w, obj.TypeMeta)
		obj.SetGroupVersionKind(configMapKind)
		require.NoError(w, w.Get(w.Context(), shopKey("a"), obj))
		require.Empty(w, obj.TypeMeta)
	})
}

// A request about an object that has no place would be answered with 404, which means to a reconciler that the object is
// gone, and says nobody what to do.
func TestNothingIsSentAboutAnObjectWithoutItsNamespace(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx, bare := w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		for _, err := range []error{
			w.Get(ctx, ObjectKey{Name: "a"}, bare), w.Create(ctx, bare), w.Update(ctx, bare), w.Delete(ctx, bare), w.Status().Update(ctx, bare),
		} {
			require.ErrorContains(w, err, "an empty namespace may not be set")
		}
		config := coreapply.ConfigMap("a", "")
		config.Namespace = nil
		loose := newUnstructured(configMapKind)
		loose.SetName("a")
		merge := RawPatch(types.MergePatchType, []byte("{}"))
		for _, err := range []error{
			w.Patch(ctx, bare, merge), w.Patch(ctx, bare, Apply, FieldOwner("me")), w.Patch(ctx, loose, merge), w.Patch(ctx, metadataWithoutPlace(), merge),
			w.Status().Patch(ctx, bare, merge), w.SubResource("scale").Patch(ctx, bare, merge, WithSubResourceBody(&autoscalingv1.Scale{})),
		} {
			require.EqualError(w, err, `patch ConfigMap "a": its namespace is missing: set it, a ConfigMap is always in one`)
		}
		for _, err := range []error{
			w.Apply(ctx, config, FieldOwner("me")), w.Apply(ctx, ApplyConfigurationFromUnstructured(loose), FieldOwner("me")), w.Status().Apply(ctx, config, FieldOwner("me")),
		} {
			require.EqualError(w, err, `apply ConfigMap "a": its namespace is missing: set it, a ConfigMap is always in one`)
		}
		require.Empty(w, w.wire.requests())
	})
}

func metadataWithoutPlace() *metav1.PartialObjectMetadata {
	metadata := metadataOf(configMapKind, "a")
	metadata.Namespace = ""
	return metadata
}

// What is in no namespace must be patched without one.
func TestAnObjectOfTheClusterIsPatchedAndAppliedWithoutANamespace(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx, shop := w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		require.NoError(w, w.Patch(ctx, shop, RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"patched":"yes"}}}`))))
		require.NoError(w, w.Apply(ctx, coreapply.Namespace("shop").WithLabels(map[string]string{"applied": "yes"}), FieldOwner("me")))
		require.NoError(w, w.Get(ctx, ObjectKey{Name: "shop"}, shop))
		require.Subset(w, shop.Labels, map[string]string{"patched": "yes", "applied": "yes"})
	})
}

// An object that is nil is a mistake of the program, in one reconcile. It must not end the process, and take all other
// controllers with it.
func TestACallAboutNilIsAnError(t *testing.T) {
	options := map[string]Options{
		"live":       {},
		"cached":     {Cache: &CacheOptions{Reader: readerFunc(func(string, runtime.Object) error { panic("the cache was asked for nil") })}},
		"consistent": {Cache: &CacheOptions{EnableReadYourWritesConsistency: new(true), Reader: &lateCache{}}},
		"wrapped":    {DryRun: new(true), FieldOwner: "me", FieldValidation: "Strict"},
	}
	for name, options := range inorder.Map(options) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, options, func(w *world) {
				for _, c := range []Client{w, NewNamespacedClient(w, "shop")} {
					for _, obj := range []Object{nil, (*corev1.Pod)(nil), (*unstructured.Unstructured)(nil), (*metav1.PartialObjectMetadata)(nil)} {
						for call, err := range aboutNil(w.Context(), c, obj) {
							require.Error(w, err, "%s of %T", call, obj)
						}
					}
					for _, list := range []ObjectList{nil, (*corev1.PodList)(nil), (*unstructured.UnstructuredList)(nil), (*metav1.PartialObjectMetadataList)(nil)} {
						require.Error(w, c.List(w.Context(), list), "List of %T", list)
					}
					for _, applied := range []runtime.ApplyConfiguration{nil, (*coreapply.PodApplyConfiguration)(nil), ApplyConfigurationFromUnstructured(nil)} {
						require.Error(w, c.Apply(w.Context(), applied), "Apply of %T", applied)
						require.Error(w, c.Status().Apply(w.Context(), applied), "Apply of the status of %T", applied)
					}
				}
				_, err := w.Watch(w.Context(), (*corev1.PodList)(nil))
				require.Error(w, err)
				require.Empty(w, w.wire.requests())
			})
		})
	}
}

func aboutNil(ctx context.Context, c Client, obj Object) map[string]error {
	merge, some := RawPatch(types.MergePatchType, []byte("{}")), configMap("a")
	_, kind := c.GroupVersionKindFor(obj)
	_, namespaced := c.IsObjectNamespaced(obj)
	return map[string]error{
		"GroupVersionKindFor": kind,
		"IsObjectNamespaced":  namespaced,
		"Get":                 c.Get(ctx, shopKey("a"), obj),
		"Create":              c.Create(ctx, obj),
		"Update":              c.Update(ctx, obj),
		"Patch":               c.Patch(ctx, obj, merge),
		"Patch by nil":        c.Patch(ctx, some, nil),
		"Delete":              c.Delete(ctx, obj),
		"DeleteAllOf":         c.DeleteAllOf(ctx, obj),
		"Status.Update":       c.Status().Update(ctx, obj),
		"Status.Patch":        c.Status().Patch(ctx, obj, merge),
		"Scale.Get":           c.SubResource("scale").Get(ctx, obj, &autoscalingv1.Scale{}),
		"Scale.Get into":      c.SubResource("scale").Get(ctx, some, obj),
		"Scale.Update":        c.SubResource("scale").Update(ctx, obj, WithSubResourceBody(&autoscalingv1.Scale{})),
		"Scale.Update by":     c.SubResource("scale").Update(ctx, some, WithSubResourceBody((*autoscalingv1.Scale)(nil))),
		"Scale.Patch by":      c.SubResource("scale").Patch(ctx, some, merge, WithSubResourceBody((*autoscalingv1.Scale)(nil))),
		"Binding.Create":      c.SubResource("binding").Create(ctx, obj, &corev1.Binding{}),
		"Binding.Create of":   c.SubResource("binding").Create(ctx, some, obj),
	}
}
