package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/metrics"
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

		web := func() *appsv1.Deployment { return deployment("web") }
		require.NoError(w, w.cache.server.Create(ctx, web())) // the cache has not seen it
		merge = RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"k":"v"}}}`))
		update := UpdateOptions{Raw: &metav1.UpdateOptions{DryRun: []string{"All"}}}
		updateStatus := &SubResourceUpdateOptions{UpdateOptions: update}
		patch := PatchOptions{Raw: &metav1.PatchOptions{DryRun: []string{"All"}}}
		patchStatus := &SubResourcePatchOptions{PatchOptions: patch}
		status, applied := w.Status(), appsapply.Deployment("web", "shop")
		require.NoError(w, w.Update(ctx, web(), &update))
		require.NoError(w, w.Patch(ctx, web(), merge, &patch))
		require.NoError(w, status.Update(ctx, web(), DryRunAll))
		require.NoError(w, status.Update(ctx, web(), updateStatus))
		require.NoError(w, status.Patch(ctx, web(), merge, DryRunAll))
		require.NoError(w, status.Patch(ctx, web(), merge, patchStatus))
		require.NoError(w, status.Apply(ctx, applied, FieldOwner("me"), DryRunAll))
		w.answersAtOnce(func() error { return w.Get(ctx, shopKey("web"), web()) })

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
		w.reader.restClients.scheme = runtime.NewScheme()
		require.NoError(w, w.Apply(w.Context(), coreapply.ConfigMap("a", "shop"), FieldOwner("me")))
		require.Zero(w, w.remembered())
		_, err := newObject(configMapKind, typedObject, w.Scheme())
		require.True(w, runtime.IsNotRegisteredError(err))
		_, err = newObject(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), typedObject, w.cache.server.Scheme())
		require.ErrorContains(w, err, "isn't an object with a name")
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
				return fakeapi.Answer(request, http.StatusOK, "application/json", answer), nil
			})
			require.NoError(w, w.Delete(w.Context(), configMap("a")))
			w.answersAtOnce(w.get("a"))
			require.Zero(w, w.remembered())
			// Here the UID is known.
			for _, remove := range []func() error{
				func() error {
					return w.Delete(w.Context(), configMap("a"), Preconditions{UID: &obj.UID})
				},
				func() error { return w.Delete(w.Context(), obj) },
			} {
				require.NoError(w, remove())
				require.Equal(w, strings.Contains(answer, "Status"), w.remembered() == 1)
				clear(w.reader.writes)
			}
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

func TestAWaitThatTakesTooLongIsAnErrorThatSaysForWhat(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		ctx, end := context.WithTimeout(w.Context(), time.Second)
		defer end()
		consistencyWait.Reset()
		err := w.Get(ctx, shopKey("a"), &corev1.ConfigMap{})
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "get ConfigMap shop/a, until the cache has seen what was written")
		w.waits(w.get("a"))
		w.answersAtOnce(w.list())
		observeWait("list", time.Second, errors.New("another error"))
		counts, seconds := waitsCounted(w.T)
		require.Equal(w, map[string]uint64{"get timeout": 1, "get success": 2, "list success": 1, "list error": 1}, counts)
		require.Equal(w, map[string]float64{"get timeout": 1, "get success": 0, "list success": 0, "list error": 1}, seconds)
	})
}

// The context ends while the read waits for a delete. The next read has to wait for it again.
func TestWhatWasNotSeenIsWaitedForAgain(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		for range 2 {
			ctx, end := context.WithTimeout(w.Context(), time.Second)
			require.ErrorIs(w, w.Get(ctx, shopKey("a"), &corev1.ConfigMap{}), context.DeadlineExceeded)
			require.ErrorIs(w, w.List(ctx, &corev1.ConfigMapList{}), context.DeadlineExceeded)
			end()
		}
		w.waits(w.get("a"))
	})
}

// A cache that has not seen that an object was made does not have it, as if it had seen the delete.
func TestAReadWaitsForTheMakingBeforeTheDelete(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.Equal(w, []string{"*v1.ConfigMap shop/a", "*v1.ConfigMap shop/a gone"}, w.cache.waits)
	})
}

func TestTheCachesAnswerIsTheClients(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.True(w, apierrors.IsNotFound(w.get("missing")()))
		require.True(w, runtime.IsNotRegisteredError(w.Create(w.Context(), &stranger{})))
		require.True(w, runtime.IsNotRegisteredError(w.Delete(w.Context(), &stranger{})))
		require.ErrorContains(w, w.Apply(w.Context(), notApplicable{}), "cannot be applied")
		unknown := schema.GroupVersionKind{Group: "nobody.example", Version: "v1", Kind: "Nothing"}
		require.True(w, meta.IsNoMatchError(w.Apply(w.Context(), ApplyConfigurationFromUnstructured(newUnstructured(unknown)))))
		w.cache.broken = errors.New("no such index")
		require.Equal(w, w.cache.broken, w.get("a")())
		require.Equal(w, w.cache.broken, w.list()())
	})
}

// waitsCounted are the waits in the metric, by what was done and how it ended, and their seconds.
func waitsCounted(t *testing.T) (counts map[string]uint64, seconds map[string]float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	counts, seconds = map[string]uint64{}, map[string]float64{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_client_consistency_wait_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := metric.GetLabel() // sorted by name: operation, result
			key := labels[0].GetValue() + " " + labels[1].GetValue()
			counts[key], seconds[key] = metric.GetHistogram().GetSampleCount(), metric.GetHistogram().GetSampleSum()
		}
	}
	return counts, seconds
}

// Such objects would be waited for until the next bookmark, a minute later.
func TestWhatTheCacheDoesNotHoldIsNotWaitedFor(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.cache.ignore["a"] = true
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.NoError(w, w.Apply(w.Context(), coreapply.ConfigMap("a", "shop"), FieldOwner("me")))
		w.answersAtOnce(w.get("a"))
		held := configMap("held")
		held.Finalizers = []string{"shop.example/wait"}
		w.cache.ignore["held"] = true
		require.NoError(w, w.Create(w.Context(), held))
		require.NoError(w, w.Delete(w.Context(), held))
		w.answersAtOnce(w.get("held"))
		w.answersAtOnce(w.list())

		require.NoError(w, w.Create(w.Context(), configMap("b")))
		w.waits(w.get("b"))
		w.cache.ignore["b"] = true
		for range 2 { // the first takes it out of the cache, the second has no event
			out := configMap("b")
			out.Labels = map[string]string{"out": "true"}
			require.NoError(w, w.Update(w.Context(), out))
		}
		w.waits(w.get("b"))
		w.answersAtOnce(w.list())
		require.Zero(w, w.remembered(), "the cache has come so far")
	})
}

// A controller writes events, and never reads any.
func TestWritesOfAKindThatIsNotInTheCacheAreForgottenAtOnce(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.cache.isEmpty = true
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.Zero(w, w.remembered())
	})
}

// A controller that only writes would fill the memory.
func TestWritesThatNobodyReadsAreForgottenWhenTheCacheHasSeenThem(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		for i := range 100 {
			require.NoError(w, w.Create(w.Context(), configMap(fmt.Sprint("a", i))))
		}
		require.Equal(w, 100, w.remembered(), "what the cache has not seen stays")
		w.cache.see(w.Context())
		for i := range 100 {
			require.NoError(w, w.Delete(w.Context(), configMap(fmt.Sprint("a", i))))
			w.cache.see(w.Context())
		}
		require.Less(w, w.remembered(), 10)
		require.Empty(w, w.cache.waits, "to look is not to wait")
	})
}

func TestAllCannotBeDeletedAtOnce(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.cache.see(w.Context())
		w.wire.requests()
		require.ErrorContains(w, w.DeleteAllOf(w.Context(), &corev1.ConfigMap{}, InNamespace("shop")), "list, and delete one by one")
		require.Empty(w, w.wire.requests(), "nothing must have been deleted")
	})
}

// brokenWaiter is a cache that cannot say what it has seen: its informer has failed.
type brokenWaiter struct{ *lateCache }

var errInformer = errors.New("the informer has failed")

// WaitFor implements WriteWaiter.
func (brokenWaiter) WaitFor(context.Context, Object, ObjectKey, string) error { return errInformer }

// WaitForEnd implements WriteWaiter.
func (brokenWaiter) WaitForEnd(context.Context, Object, ObjectKey, func(Object) bool) error {
	return errInformer
}

// What comes after it may take forever, and the caller can do something about the error.
func TestAReadWhoseWaitFailsEndsAtOnce(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.reader.waiter = brokenWaiter{w.cache}
		read := make(chan error, 1)
		go func() { read <- w.get("a")() }()
		synctest.Wait()
		select {
		case err := <-read:
			require.ErrorIs(w, err, errInformer)
			require.ErrorContains(w, err, "get ConfigMap shop/a")
		default:
			w.cache.see(w.Context())
			<-read
			require.FailNow(w, "the read must not wait until the deleted object is gone")
		}
	})
}

// pointers is a cache that notes into what it was asked to read.
type pointers struct {
	*lateCache
	got Object
}

// Get implements Reader.
func (p *pointers) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	p.got = obj
	return p.lateCache.Get(ctx, key, obj, opts...)
}

// A copy of each object would cost more than the read.
func TestAReadThatNeedNotLookTwiceReadsIntoWhatItWasGiven(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		cache := &pointers{lateCache: w.cache}
		w.reader.reads.cache = cache
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		into := &corev1.ConfigMap{}
		w.waits(func() error { return w.Get(w.Context(), shopKey("a"), into) })
		require.Same(w, into, cache.got)
	})
}

// An error that is lost makes an empty list, and a controller deletes what it believes to be too much.
func TestAListThatDoesNotWaitReturnsItsError(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.cache.broken = errInformer
		require.ErrorIs(w, w.list(DisableReadYourWritesConsistency)(), errInformer)
	})
	inLateWorld(t, CacheOptions{DisableFor: []Object{&corev1.ConfigMap{}}}, func(w *lateWorld) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list"}, Status: fakeapi.InternalError()})
		require.Error(w, w.list()())
	})
}

func TestATypeThatNobodyKnowsLeavesNoLog(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		_ = w.Get(w.Context(), shopKey("a"), &stranger{})
		require.Empty(w, w.reader.writes)
	})
}

// comesAndLeaves lets somebody else bring an object into the cache, and this client take it out again. The cache has
// heard of neither. It hears of the first when the next read looks, after the wait.
func (w *lateWorld) comesAndLeaves() {
	w.Helper()
	require.NoError(w, w.cache.server.Create(w.Context(), configMap("a")))
	var came corev1.ConfigMap
	require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), &came))
	w.cache.ignore["a"] = true
	left := configMap("a")
	left.Labels = map[string]string{"out": "true"}
	require.NoError(w, w.Update(w.Context(), left))
	w.cache.news = func() { w.cache.objects[shopKey("a")] = came }
}

// Between the wait and the read, the cache may hear of an older state. Then it would show what this client
// has overwritten.
func TestAReadThatFindsWhatHasLeftTheCacheReadsAgain(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.comesAndLeaves()
		read := &corev1.ConfigMap{Data: map[string]string{"kept": "true"}}
		w.waits(func() error { return w.Get(w.Context(), shopKey("a"), read) })
		require.Equal(w, &corev1.ConfigMap{Data: map[string]string{"kept": "true"}}, read, "it is not found, and what was in the object stays")
		require.Zero(w, w.remembered())
	})
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("b")))
		w.cache.see(w.Context())
		w.comesAndLeaves()
		var read corev1.ConfigMapList
		w.waits(func() error { return w.List(w.Context(), &read) })
		require.Len(w, read.Items, 1)
		require.Equal(w, "b", read.Items[0].Name)
	})
}

// What is in the cache is not kept back because something else has left it.
func TestAReadShowsWhatHasNotLeftTheCache(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("b")))
		w.cache.see(w.Context())
		w.comesAndLeaves()
		w.cache.news = nil
		var list corev1.ConfigMapList
		require.NoError(w, w.List(w.Context(), &list))
		require.Len(w, list.Items, 1)
		require.Equal(w, 1, w.remembered(), "the cache may still be about to show it")

		w.cache.ignore["a"] = false // somebody else brings it back, with a later version
		require.NoError(w, w.cache.server.Update(w.Context(), configMap("a")))
		w.cache.news = func() {
			var back corev1.ConfigMap
			require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), &back))
			w.cache.objects[shopKey("a")] = back
		}
		var back corev1.ConfigMap
		require.NoError(w, w.Get(w.Context(), shopKey("a"), &back))
		require.Equal(w, "a", back.Name)
	})
}

// The context of a reconcile has a deadline, and the next reconcile must not get what this one would not wait for.
func TestAWaitForTheEndOfWhatHasLeftTheCacheEndsWithItsContext(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		w.cache.ignore["a"] = true
		out := configMap("a")
		out.Labels = map[string]string{"out": "true"}
		require.NoError(w, w.Update(w.Context(), out))
		for range 2 {
			ctx, end := context.WithTimeout(w.Context(), time.Second)
			require.ErrorIs(w, w.Get(ctx, shopKey("a"), &corev1.ConfigMap{}), context.DeadlineExceeded)
			require.ErrorIs(w, w.List(ctx, &corev1.ConfigMapList{}), context.DeadlineExceeded)
			end()
		}
		w.waits(w.get("a"))
	})
}

// scraped returns the buckets of the waits of an operation, and the schema of the native ones, as they are scraped.
func scraped(t *testing.T, operation string) (bounds []float64, schema int32) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() != "operation" || label.GetValue() != operation {
					continue
				}
				for _, bucket := range metric.GetHistogram().GetBucket() {
					bounds = append(bounds, bucket.GetUpperBound())
				}
				schema = metric.GetHistogram().GetSchema()
			}
		}
	}
	return bounds, schema
}

// Dashboards and alerts that were made for controller-runtime name these buckets.
func TestWaitsAreMeasuredInControllerRuntimesBuckets(t *testing.T) {
	waits := consistencyWait.WithLabelValues("of a test", "success")
	t.Cleanup(func() { consistencyWait.DeleteLabelValues("of a test", "success") })
	// A native bucket ends 2^(1/8) times higher than the one before it, and there are 100 of them at most.
	observe := func(n int) { waits.Observe(math.Exp2((float64(n) + 0.5) / 8)) }
	for n := range 100 {
		observe(n)
	}
	bounds, schema := scraped(t, "of a test")
	require.Equal(t, []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 6, 8, 10}, bounds)
	require.EqualValues(t, 3, schema, "a factor of at most 1.1 from bucket to bucket")
	observe(100)
	_, schema = scraped(t, "of a test")
	require.EqualValues(t, 2, schema, "with more than 100 buckets, they become wider")
}
