package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/trace"
)

func TestEachWriteIsRecordedWithItsReconcile(t *testing.T) {
	recorder := trace.New(0)
	inWorld(t, Options{Recorder: recorder}, func(w *world) {
		ctx := trace.WithReconcile(w.Context(), "web", "Website", "shop", "one")
		nothing := RawPatch(types.MergePatchType, []byte(`{}`))
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = "shop", "p"
		pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
		cm := configMap("a")
		require.NoError(w, w.Create(ctx, cm))
		created := cm.ResourceVersion
		require.NoError(w, w.Get(ctx, shopKey("a"), cm))
		require.NoError(w, w.Update(ctx, cm))
		require.NoError(w, w.Patch(ctx, cm, nothing))
		require.NoError(w, w.Apply(ctx, coreapply.ConfigMap("b", "shop"), FieldOwner("me")))
		require.NoError(w, w.Create(ctx, pod))
		require.NoError(w, w.Status().Update(ctx, pod))
		require.NoError(w, w.Status().Patch(ctx, pod, nothing))
		require.NoError(w, w.Status().Apply(ctx, coreapply.Pod("p", "shop"), FieldOwner("me")))
		old := cm.DeepCopy()
		old.ResourceVersion = "1"
		old.Data = map[string]string{"new": "1"}
		require.Error(w, w.Update(ctx, old))
		require.NoError(w, w.Delete(ctx, cm))
		require.Error(w, w.Delete(w.Context(), cm)) // nobody's reconcile
		require.NoError(w, w.DeleteAllOf(ctx, configMap(""), InNamespace("shop")))

		var got []string
		for i, e := range recorder.Events() {
			require.Equal(w, trace.Write, e.Kind)
			require.Equal(w, e.Outcome != 0, e.Reason != "")
			if i == 0 {
				require.Equal(w, created, e.Version)
			}
			got = append(got, fmt.Sprintf("%s %s %s/%s %s for %s: %s %s/%s", e.Op, e.Object,
				e.Namespace, e.Name, e.Outcome, e.Layer, e.ToObject, e.ToNamespace, e.ToName))
		}
		require.Equal(w, []string{
			"create ConfigMap shop/a  for web: Website shop/one",
			"update ConfigMap shop/a  for web: Website shop/one",
			"patch ConfigMap shop/a  for web: Website shop/one",
			"apply ConfigMap shop/b  for web: Website shop/one",
			"create Pod shop/p  for web: Website shop/one",
			"update status Pod shop/p  for web: Website shop/one",
			"patch status Pod shop/p  for web: Website shop/one",
			"apply status Pod shop/p  for web: Website shop/one",
			"update ConfigMap shop/a conflict for web: Website shop/one",
			"delete ConfigMap shop/a  for web: Website shop/one",
			"delete ConfigMap shop/a failed for client:  /",
			"delete all ConfigMap shop/  for web: Website shop/one",
		}, got)
	})
}

func TestAWriteOfASubresourceThatIsRefusedIsRecorded(t *testing.T) {
	recorder := trace.New(0)
	inWorld(t, Options{Recorder: recorder}, func(w *world) {
		require.Error(w, w.SubResource("eviction").Create(w.Context(), configMap("a"), configMap("a")))
		events := recorder.Events()
		require.Len(w, events, 1)
		require.Equal(w, "create eviction", events[0].Op)
		require.Equal(w, trace.Failed, events[0].Outcome)
	})
}
