package client

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// What a dry run answers is never seen in a cache, so a read that waits for its answer waits for nothing.
func TestAReadDoesNotWaitForADryRunThatIsUnderWay(t *testing.T) {
	merge := RawPatch(types.MergePatchType, []byte(`{}`))
	for _, c := range []struct {
		name, verb string
		dry        func(w *lateWorld) error
	}{
		{"create", "create", func(w *lateWorld) error { return w.Create(w.Context(), deployment("web"), DryRunAll) }},
		{"update of the status", "update", func(w *lateWorld) error { return w.Status().Update(w.Context(), deployment("web"), DryRunAll) }},
		{"patch of the status", "patch", func(w *lateWorld) error { return w.Status().Patch(w.Context(), deployment("web"), merge, DryRunAll) }},
		{"apply of the status", "patch", func(w *lateWorld) error {
			return w.Status().Apply(w.Context(), appsapply.Deployment("web", "shop"), FieldOwner("me"), DryRunAll)
		}},
		{"update of the status, in Raw", "update", func(w *lateWorld) error {
			raw := UpdateOptions{Raw: &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}}
			return w.Status().Update(w.Context(), deployment("web"), &SubResourceUpdateOptions{UpdateOptions: raw})
		}},
		{"patch of the status, in Raw", "patch", func(w *lateWorld) error {
			raw := PatchOptions{Raw: &metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}}
			return w.Status().Patch(w.Context(), deployment("web"), merge, &SubResourcePatchOptions{PatchOptions: raw})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
				w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: c.verb}, Delay: time.Minute})
				began, written := time.Now(), make(chan error, 1)
				go func() { written <- c.dry(w) }()
				synctest.Wait()
				require.Empty(w, written, "the dry run must be under way")
				w.answersAtOnce(func() error { return w.Get(w.Context(), shopKey("web"), &appsv1.Deployment{}) })
				<-written
				require.Equal(w, time.Minute, time.Since(began))
			})
		})
	}
}

// One of two controllers has done its part. The object is still there, and the other one's part is not done.
func TestAnObjectThatKeepsAFinalizerIsNotWaitedForAsGone(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		obj := configMap("a")
		obj.Finalizers = []string{"shop.example/mine", "shop.example/theirs"}
		require.NoError(w, w.Create(w.Context(), obj))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), obj))
		obj.Finalizers = obj.Finalizers[1:]
		require.NoError(w, w.Update(w.Context(), obj))
		w.waits(w.get("a"))
		_, stillThere := w.cache.objects[shopKey("a")]
		require.True(w, stillThere)
	})
}

// The answer is the state before, which nobody need see, and which the cache may never have had.
func TestTheLastStateOfAnObjectThatIsGoneIsNotWaitedFor(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		obj := configMap("a")
		obj.Finalizers = []string{"shop.example/wait"}
		require.NoError(w, w.cache.server.Create(w.Context(), obj))
		require.NoError(w, w.cache.server.Delete(w.Context(), configMap("a")))
		require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), obj))
		obj.Finalizers = nil
		require.NoError(w, w.Update(w.Context(), obj))
		version, _, deleted := w.reader.logOf(obj).answered(shopKey("a"))
		require.Empty(w, version)
		require.Equal(w, []types.UID{obj.UID}, deleted)
	})
}

// Whoever only deletes never reads, and would be told of nothing that could be forgotten.
func TestADeleteThatNamesNobodyIsNotNoted(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.answers(http.StatusOK, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		require.Zero(w, w.remembered())
	})
}

// holder is a cache that notes what it is asked about.
type holder struct {
	*lateCache
	asked []Object
}

// Holds implements WriteWaiter.
func (h *holder) Holds(written Object) bool {
	h.asked = append(h.asked, written.DeepCopyObject().(Object))
	return h.lateCache.Holds(written)
}

// The cache decides by namespace, name and labels whether the object is one of its own.
func TestTheCacheIsAskedAboutWhatADeleteHasLeft(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		obj := configMap("a")
		obj.Finalizers, obj.Labels = []string{"shop.example/wait"}, map[string]string{"app": "web"}
		require.NoError(w, w.cache.server.Create(w.Context(), obj))
		cache := &holder{lateCache: w.cache}
		w.reader.waiter = cache
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		require.Len(w, cache.asked, 1)
		require.IsType(w, &corev1.ConfigMap{}, cache.asked[0])
		require.Equal(w, shopKey("a"), ObjectKeyFromObject(cache.asked[0]))
		require.Equal(w, obj.Labels, cache.asked[0].GetLabels())
	})
}
