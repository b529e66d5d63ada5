package client

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingapply "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

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
		w.answersAtOnce(w.get("a"))
		require.Zero(w, w.remembered())
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

// A controller removes the last finalizer, and the object is gone. The server answers with the state
// before. If the next read shows that, the controller cleans up once more, and its write fails.
func TestAReadWaitsForTheEndOfAnObjectWhoseLastFinalizerIsRemoved(t *testing.T) {
	empty := RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for _, c := range []struct {
		name  string
		write func(w *lateWorld, obj *corev1.ConfigMap, dry bool) error
	}{
		{"update", func(w *lateWorld, obj *corev1.ConfigMap, dry bool) error {
			obj.Finalizers = nil
			if dry {
				return w.Update(w.Context(), obj, DryRunAll)
			}
			return w.Update(w.Context(), obj)
		}},
		{"patch", func(w *lateWorld, obj *corev1.ConfigMap, dry bool) error {
			if dry {
				return w.Patch(w.Context(), obj, empty, DryRunAll)
			}
			return w.Patch(w.Context(), obj, empty)
		}},
		{"apply", func(w *lateWorld, _ *corev1.ConfigMap, dry bool) error {
			without := coreapply.ConfigMap("a", "shop")
			if dry {
				return w.Apply(w.Context(), without, FieldOwner("me"), DryRunAll)
			}
			return w.Apply(w.Context(), without, FieldOwner("me"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
				with := coreapply.ConfigMap("a", "shop").WithFinalizers("shop.example/wait")
				require.NoError(w, w.Apply(w.Context(), with, FieldOwner("me")))
				require.NoError(w, w.Delete(w.Context(), configMap("a")))
				w.waits(w.get("a"))
				var obj corev1.ConfigMap
				require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), &obj))

				require.NoError(w, c.write(w, obj.DeepCopy(), true))
				w.answersAtOnce(w.get("a")) // of a dry run, nothing can be awaited
				require.NoError(w, c.write(w, &obj, false))
				w.waits(w.get("a"))
				_, stillThere := w.cache.objects[shopKey("a")]
				require.False(w, stillThere)
				require.Zero(w, w.remembered())
			})
		})
	}
}

// A controller writes a status more often than anything else, and reads the object the next time.
func TestAReadWaitsForWritesOfSubresources(t *testing.T) {
	none := DisableReadYourWritesConsistency
	patch := func(text string) Patch { return RawPatch(types.MergePatchType, []byte(text)) }
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx := w.Context()
		get := func() error { return w.Get(ctx, shopKey("web"), &appsv1.Deployment{}) }
		web, scale := deployment("web"), &autoscalingv1.Scale{}
		require.NoError(w, w.Create(ctx, web))
		w.waits(get)
		scaleTo := func(replicas int32) Object {
			require.NoError(w, w.SubResource("scale").Get(ctx, web, scale))
			scale.Spec.Replicas = replicas
			return scale
		}
		withStatus := func(ready int32) *appsapply.DeploymentApplyConfiguration {
			return appsapply.Deployment("web", "shop").WithStatus(appsapply.DeploymentStatus().WithReadyReplicas(ready))
		}
		for _, c := range []struct {
			name  string
			write func(n int32, none bool) error
		}{
			{"update of the status", func(n int32, skip bool) error {
				web.ResourceVersion, web.Status.Replicas = "", n
				if skip {
					return w.Status().Update(ctx, web, none)
				}
				return w.Status().Update(ctx, web)
			}},
			{"patch of the status", func(n int32, skip bool) error {
				text := patch(`{"status":{"observedGeneration":` + string('0'+n) + `}}`)
				if skip {
					return w.Status().Patch(ctx, web, text, none)
				}
				return w.Status().Patch(ctx, web, text)
			}},
			{"apply of the status", func(n int32, skip bool) error {
				if skip {
					return w.Status().Apply(ctx, withStatus(n), FieldOwner("me"), ForceOwnership, none)
				}
				return w.Status().Apply(ctx, withStatus(n), FieldOwner("me"), ForceOwnership)
			}},
			{"update of the scale, which has a form of its own", func(n int32, skip bool) error {
				if skip {
					return w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(scaleTo(n)), none)
				}
				return w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(scaleTo(n)))
			}},
			{"patch of the scale", func(n int32, skip bool) error {
				text := patch(`{"spec":{"replicas":` + string('2'+n) + `}}`)
				if skip {
					return w.SubResource("scale").Patch(ctx, deployment("web"), text, WithSubResourceBody(scale), none)
				}
				return w.SubResource("scale").Patch(ctx, deployment("web"), text, WithSubResourceBody(scale))
			}},
		} {
			w.Log(c.name)
			require.NoError(w, c.write(2, true))
			w.answersAtOnce(get)
			require.NoError(w, c.write(3, false))
			w.waits(get)
		}

		require.NoError(w, w.Create(ctx, pod("p")))
		w.cache.see(ctx)
		w.answersAtOnce(func() error { return w.Get(ctx, shopKey("p"), &corev1.Pod{}) })
		require.NoError(w, w.SubResource("eviction").Create(ctx, pod("p"), &policyv1.Eviction{}))
		w.answersAtOnce(func() error { return w.Get(ctx, shopKey("p"), &corev1.Pod{}) })
	})
}

func TestAnErrorOfASubresourceIsTheClients(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx, none := w.Context(), deployment("none")
		require.True(w, apierrors.IsNotFound(w.Status().Update(ctx, none)))
		require.True(w, apierrors.IsNotFound(w.Status().Patch(ctx, none, RawPatch(types.MergePatchType, []byte("{}")))))
		require.Error(w, w.Status().Apply(ctx, appsapply.Deployment("none", "shop")))
		body := autoscalingapply.Scale().WithSpec(autoscalingapply.ScaleSpec().WithReplicas(4))
		require.Error(w, w.SubResource("scale").Apply(ctx, appsapply.Deployment("none", "shop"), &SubResourceApplyOptions{SubResourceBody: body}))
		require.Zero(w, w.remembered())
	})
}

// Two goroutines write, one reads at the same time, and answers overtake each other.
func TestOnlyWhatWasSeenIsForgotten(t *testing.T) {
	var writes unconfirmedWrites
	a := shopKey("a")
	for _, version := range []string{"9", "10", "7", "", "abc"} { // 10 is more than 9; others have no order
		writes.wrote(a, 0, version, version != "7") // a late answer says nothing about version 10
	}
	writes.deleted(a, 0, "first")
	seen := writes.to(a)
	require.Equal(t, unconfirmed{"10", true, []types.UID{"first"}, "", 0}, seen)
	writes.wrote(a, 0, "11", false)
	writes.deleted(a, 0, "second")
	both := writes.to(a).deleted // another read waits for these
	for range 2 {                // two reads may have waited for the same
		writes.confirmed(a, seen)
		require.Equal(t, unconfirmed{"11", false, []types.UID{"second"}, "", 0}, writes.to(a))
	}
	require.Equal(t, []types.UID{"first", "second"}, both)
	writes.wrote(ObjectKey{Namespace: "other", Name: "a"}, 0, "7", true)
	require.Equal(t, []ObjectKey{a}, writes.keys("shop"))
	require.Len(t, writes.keys(""), 2)
	writes.confirmed(a, writes.to(a))
	require.Empty(t, writes.keys("shop"))

	seen = unconfirmed{version: "12", rewinds: 1}
	writes.wrote(a, 1, "12", true)
	writes.deleted(a, 2, "third") // the cache has gone back meanwhile
	require.Equal(t, unconfirmed{deleted: []types.UID{"third"}, rewinds: 2}, writes.to(a), "a write that was undone is forgotten")
	writes.confirmed(a, seen)
	require.Equal(t, unconfirmed{deleted: []types.UID{"third"}, rewinds: 2}, writes.to(a), "a read that began before says nothing about later writes")
	writes.wrote(a, 3, "4", true)
	require.Equal(t, unconfirmed{version: "4", isHeld: true, rewinds: 3}, writes.to(a), "4 is newer than anything in a history that's gone")
}

// The answer to a delete is a status, or the object, which may be gone all the same.
func TestADeleteIsAwaitedAsItsAnswerSays(t *testing.T) {
	inLateWorld(t, CacheOptions{Unstructured: true}, func(w *lateWorld) {
		held, running, unknown := heldWidget("held"), pod("running"), metadataOf(widgetKind, "unknown")
		running.Spec.NodeName = "node"
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
		w.reader.waiter = brokenWaiter{w.cache}
		gone := []Object{configMap("status"), widget("status"), pod("returned"), deployment("status"), &corev1.ServiceAccount{ObjectMeta: inShop("returned")}}
		for _, obj := range append(gone, held, running, heldWidget("unknown"), namespace) {
			require.NoError(w, w.cache.server.Create(w.Context(), obj))
		}
		for _, obj := range append(gone, held, running, unknown, namespace) { // the decoder has no Go type for unknown
			before := obj.GetUID()
			require.NoError(w, w.Delete(w.Context(), obj, GracePeriodSeconds(1)))
			written := w.reader.writesOf(obj).to(ObjectKeyFromObject(obj))
			isGone := slices.Contains(gone, obj)
			require.Equal(w, isGone && before != "", len(written.deleted) == 1, "%T %s: %v", obj, obj.GetName(), written)
			require.Equal(w, !isGone, written.version != "", "%T %s: %v", obj, obj.GetName(), written)
		}
	})
}

func heldWidget(name string) *unstructured.Unstructured {
	u := widget(name)
	u.SetFinalizers([]string{"shop.example/wait"})
	return u
}

// A wait for something that never comes is worse than none.
func TestAnAnswerToADeleteThatNobodyUnderstandsIsNotAwaited(t *testing.T) {
	for _, body := range []string{`{"kind":"Surprise","apiVersion":"shop.example/v9"}`, `{"kind":"PodList","apiVersion":"v1"}`} {
		inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
			w.answers(http.StatusOK, "application/json", body)
			require.NoError(w, w.Delete(w.Context(), configMap("a")))
			require.Zero(w, w.remembered(), body)
		})
	}
}

// fakeapi cannot apply a scale, so that the answer is made up: a scale has the version of its object.
func TestABodyThatWasAppliedHasTheVersionOfTheObject(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		body := autoscalingapply.Scale().WithResourceVersion("1000000")
		obj := appsapply.Deployment("web", "shop").WithResourceVersion("7")
		require.NoError(w, w.reader.applied(nil, false, obj, body))
		writes := w.reader.writesOf(&appsv1.Deployment{})
		require.Equal(w, "1000000", writes.to(shopKey("web")).version)
	})
}
