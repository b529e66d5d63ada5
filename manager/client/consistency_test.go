package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Without the wait, a controller that has made a child does not see it the next time, and makes
// another one.
func TestAReadWaitsForTheWritesBeforeIt(t *testing.T) {
	merge := RawPatch(types.MergePatchType, []byte(`{"data":{"k":"v"}}`))
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx := w.Context()
		for _, c := range []struct {
			name  string
			write func() error
		}{
			{"create", func() error { return w.Create(ctx, configMap("a")) }},
			{"update", func() error { obj := configMap("a"); obj.Data = map[string]string{"k": "1"}; return w.Update(ctx, obj) }},
			{"patch", func() error { return w.Patch(ctx, configMap("a"), merge) }},
			{"apply", func() error {
				return w.Apply(ctx, coreapply.ConfigMap("a", "shop").WithData(map[string]string{"l": "1"}), FieldOwner("me"))
			}},
			{"delete", func() error { return w.Delete(ctx, configMap("a")) }},
			{"create again", func() error { return w.Create(ctx, configMap("a")) }},
			{"delete again", func() error { return w.Delete(ctx, configMap("a")) }},
		} {
			w.Log(c.name)
			require.NoError(w, c.write())
			w.answersAtOnce(w.get("b"))
			w.answersAtOnce(w.list(InNamespace("other")))
			w.waits(w.get("a"))
			require.Zero(w, w.remembered(), "what was waited for is forgotten")
		}
		require.NoError(w, w.Create(ctx, configMap("a")))
		require.NoError(w, w.Create(ctx, configMap("b")))
		w.waits(w.list(InNamespace("shop")))
		require.NoError(w, w.Update(ctx, configMap("a")))
		w.answersAtOnce(w.get("b"))
		_ = w.Delete(ctx, configMap("b"))
		w.waits(w.list())
		require.NoError(w, w.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "web-"}}))
		w.waits(w.list())
	})
}

func TestReadsInTheOtherFormsWaitForWritesInTheirForm(t *testing.T) {
	inLateWorld(t, CacheOptions{Unstructured: true}, func(w *lateWorld) {
		ctx := w.Context()
		getFree := func() error { return w.Get(ctx, shopKey("a"), newUnstructured(configMapKind)) }
		getMetadata := func() error { return w.Get(ctx, shopKey("a"), metadataOf(configMapKind, "")) }
		free := newUnstructured(configMapKind)
		free.SetNamespace("shop")
		free.SetName("a")
		require.NoError(w, w.Create(ctx, free))
		w.answersAtOnce(w.get("a"))
		w.waits(getFree)
		applied := newUnstructured(configMapKind)
		applied.SetNamespace("shop")
		applied.SetName("a")
		applied.SetLabels(map[string]string{"new": "true"})
		require.NoError(w, w.Apply(ctx, ApplyConfigurationFromUnstructured(applied), FieldOwner("me")))
		w.waits(getFree)
		require.NoError(w, w.Delete(ctx, free))
		w.waits(getFree)

		require.NoError(w, w.Create(ctx, configMap("a")))
		w.answersAtOnce(getMetadata)
		w.waits(w.get("a"))
		require.NoError(w, w.Patch(ctx, metadataOf(configMapKind, "a"), RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))))
		w.waits(getMetadata)
		require.NoError(w, w.Delete(ctx, metadataOf(configMapKind, "a")))
		w.waits(getMetadata)
		require.Equal(w, []string{
			"*unstructured.UnstructuredConfigMap shop/a", "*unstructured.UnstructuredConfigMap shop/a", "*unstructured.UnstructuredConfigMap shop/a gone",
			"*v1.ConfigMap shop/a", "*v1.PartialObjectMetadataConfigMap shop/a", "*v1.PartialObjectMetadataConfigMap shop/a gone",
		}, w.cache.waits, "the cache is told what is read, and in which form")
	})
}

func TestACallCanSayThatItDoesNotWait(t *testing.T) {
	none, merge := DisableReadYourWritesConsistency, RawPatch(types.MergePatchType, []byte(`{"data":{"k":"v"}}`))
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx := w.Context()
		require.NoError(w, w.Create(ctx, configMap("a")))
		w.answersAtOnce(w.get("a", none))
		w.answersAtOnce(w.list(none))
		w.waits(w.get("a"))

		require.NoError(w, w.Create(ctx, configMap("b"), none))
		require.NoError(w, w.Update(ctx, configMap("b"), none))
		require.NoError(w, w.Patch(ctx, configMap("b"), merge, none))
		require.NoError(w, w.Apply(ctx, coreapply.ConfigMap("b", "shop").WithData(map[string]string{"l": "1"}), FieldOwner("me"), none))
		require.NoError(w, w.Delete(ctx, configMap("b"), none))
		w.answersAtOnce(w.list())
		require.NoError(w, w.Delete(ctx, configMap("a"), none))
		w.answersAtOnce(w.list())
	})
}

func TestWhatChangesNothingIsNotWaitedFor(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx := w.Context()
		require.NoError(w, w.Create(ctx, configMap("a")))
		w.waits(w.get("a"))
		merge := RawPatch(types.MergePatchType, []byte(`{"data":{"k":"v"}}`))
		require.NoError(w, w.Create(ctx, configMap("b"), DryRunAll))
		require.NoError(w, w.Update(ctx, configMap("a"), DryRunAll))
		require.NoError(w, w.Patch(ctx, configMap("a"), merge, DryRunAll))
		require.NoError(w, w.Apply(ctx, coreapply.ConfigMap("c", "shop"), FieldOwner("me"), DryRunAll))
		require.NoError(w, w.Delete(ctx, configMap("a"), DryRunAll))
		require.NoError(w, w.Delete(ctx, configMap("a"), &DeleteOptions{Raw: &metav1.DeleteOptions{DryRun: []string{"All"}}}))
		for _, verb := range []string{"create", "update", "patch", "delete"} {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb}, Status: fakeapi.InternalError()})
		}
		require.Error(w, w.Create(ctx, configMap("d")))
		require.Error(w, w.Update(ctx, configMap("a")))
		require.Error(w, w.Apply(ctx, coreapply.ConfigMap("a", "shop"), FieldOwner("me")))
		require.Error(w, w.Delete(ctx, configMap("a")))
		w.answersAtOnce(w.get("a"))
		w.answersAtOnce(w.list())
		require.Zero(w, w.remembered())
	})
}

func TestReadsThatGoToTheServerDoNotWait(t *testing.T) {
	inLateWorld(t, CacheOptions{DisableFor: []Object{&corev1.ConfigMap{}}}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.NoError(w, w.Get(w.Context(), shopKey("a"), &corev1.ConfigMap{}))
		require.NoError(w, w.List(w.Context(), &corev1.ConfigMapList{}))
		free := newUnstructured(configMapKind)
		require.NoError(w, w.Get(w.Context(), shopKey("a"), free))
		require.NoError(w, w.Update(w.Context(), free))
		require.NoError(w, w.Apply(w.Context(), ApplyConfigurationFromUnstructured(widget("w")), FieldOwner("me")))
		require.NoError(w, w.Delete(w.Context(), free))
		require.Zero(w, w.remembered(), "nobody will ask for it")
		require.Empty(w, w.cache.waits)
	})
}

// The write has begun before the read, so that the read has to see it, if it succeeds.
func TestAReadWaitsForAWriteThatIsUnderWay(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create"}, Delay: time.Minute})
		written := make(chan error, 1)
		go func() { written <- w.Create(w.Context(), configMap("a")) }()
		synctest.Wait()
		began := time.Now()
		read := make(chan error, 1)
		go func() { read <- w.get("a")() }()
		require.NoError(w, <-written)
		require.Equal(w, time.Minute, time.Since(began))
		synctest.Wait()
		require.Empty(w, read, "the cache has not seen it yet")
		w.cache.see(w.Context())
		require.NoError(w, <-read)

		go func() { written <- w.Create(w.Context(), configMap("b")) }()
		synctest.Wait()
		ctx, give := context.WithCancelCause(w.Context())
		go func() { read <- w.List(ctx, &corev1.ConfigMapList{}) }()
		synctest.Wait()
		reason := errors.New("the caller gives up")
		give(reason)
		require.ErrorIs(w, <-read, reason)
		require.NoError(w, <-written)
	})
}

// An object with finalizers is still there, and what the caller wants to see is that it goes.
func TestADeletedObjectThatHasFinalizersIsReadAsBeingDeleted(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		obj := configMap("a")
		obj.Finalizers = []string{"shop.example/wait"}
		require.NoError(w, w.Create(w.Context(), obj))
		w.waits(w.get("a"))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		var live corev1.ConfigMap
		require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), &live))
		require.NotNil(w, live.DeletionTimestamp)
	})
}

// In controller-runtime, such a delete fails.
func TestWhatTheCacheHasNotSeenYetCanBeDeleted(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.cache.server.Create(w.Context(), configMap("a")))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		w.answersAtOnce(w.get("a"))
	})
}

// A program that only applies a kind need not have its Go type in the scheme.
func TestWhatHasNoGoTypeIsAppliedAllTheSame(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.reader.endpoints.scheme = runtime.NewScheme()
		require.NoError(w, w.Apply(w.Context(), coreapply.ConfigMap("a", "shop"), FieldOwner("me")))
		require.Zero(w, w.remembered())
		_, err := newObject(configMapKind, formTyped, w.Scheme())
		require.True(w, runtime.IsNotRegisteredError(err))
		_, err = newObject(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), formTyped, w.cache.server.Scheme())
		require.ErrorContains(w, err, "is no object with a name")
	})
}

// If it is not known what was deleted, or whether it is gone, a wait might never end.
func TestADeleteOfWhichNothingIsKnownIsNotWaitedFor(t *testing.T) {
	for _, answer := range []string{`{"kind":"Surprise","apiVersion":"shop.example/v9"}`, `{"kind":"Status","apiVersion":"v1","status":"Success"}`} {
		inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
			obj := configMap("a")
			require.NoError(w, w.Create(w.Context(), obj))
			w.waits(w.get("a"))
			next := w.wire.next
			w.wire.next = roundTripper(func(request *http.Request) (*http.Response, error) {
				if request.Method != http.MethodDelete {
					return next.RoundTrip(request)
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
			})
			require.NoError(w, w.Delete(w.Context(), configMap("a")))
			w.answersAtOnce(w.get("a"))
			require.Zero(w, w.remembered())
			require.NoError(w, w.Delete(w.Context(), obj)) // whose UID is known
			require.Equal(w, strings.Contains(answer, "Status"), w.remembered() == 1)
		})
	}
}

// The namespace of a request is often at hand, and wrong for a kind that has none; servers and caches ignore it.
func TestTheNamespaceOfAKindWithoutNamespacesDoesNotMatter(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		inShop := ObjectKey{Namespace: "shop", Name: "new"}
		require.NoError(w, w.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}))
		w.waits(func() error { return w.Get(w.Context(), inShop, &corev1.Namespace{}) })
		require.NoError(w, w.Update(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"a": "b"}}}))
		w.waits(func() error { return w.List(w.Context(), &corev1.NamespaceList{}, InNamespace("shop")) })
	})
}
