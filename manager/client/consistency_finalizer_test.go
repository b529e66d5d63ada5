package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

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
