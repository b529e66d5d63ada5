package cache_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/cache"
)

// route is a type like those of istio.io/client-go: its spec is a protobuf message, which has unexported fields that
// lead to protobuf's own tables.
type route struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              structpb.Struct `json:"spec"`
}

func (r *route) DeepCopyObject() runtime.Object {
	made := &route{TypeMeta: r.TypeMeta}
	r.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	proto.Merge(&made.Spec, &r.Spec)
	return made
}

type routeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []route `json:"items"`
}

func (l *routeList) DeepCopyObject() runtime.Object {
	made := &routeList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]route, len(l.Items))}
	for i := range l.Items {
		item := l.Items[i].DeepCopyObject().(*route)
		made.Items[i].TypeMeta, made.Items[i].ObjectMeta = item.TypeMeta, item.ObjectMeta
		proto.Merge(&made.Items[i].Spec, &item.Spec)
	}
	return made
}

// The fields of other people's types lead anywhere. A cache that follows them crashes the program.
func TestATypeWithAProtobufMessageInItIsCached(t *testing.T) {
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(widgetKind, &route{})
	known.AddKnownTypeWithName(widgetKind.GroupVersion().WithKind("WidgetList"), &routeList{})
	metav1.AddToGroupVersion(known, widgetKind.GroupVersion())
	inWorld(t, cache.Options{Scheme: known}, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b"} {
			w.widget("default", name, map[string]any{"spec": map[string]any{"hosts": []any{"shop.example.com"}}})
		}
		w.begin()
		defer w.end()
		var all routeList
		require.NoError(t, w.List(t.Context(), &all))
		require.Len(t, all.Items, 2)
		w.widget("default", "c", map[string]any{"spec": map[string]any{"hosts": []any{"bank.example.com"}}})
		synctest.Wait()
		var one route
		require.NoError(t, w.Get(t.Context(), key("default", "c"), &one))
		require.Equal(t, "bank.example.com", one.Spec.Fields["hosts"].GetListValue().GetValues()[0].GetStringValue())
	})
}

// Two workers, each with a Pod of its own that it does not change. An append writes behind the end of an array, and a
// Quantity keeps in itself what it has computed, so the race detector finds what two Pods have in common.
func TestTwoPodsThatAreEqualHaveNothingInCommonThatAWorkerMayWrite(t *testing.T) {
	inWorld(t, cache.Options{DefaultUnsafeDisableDeepCopy: new(true)}, func(t *testing.T, w *world) {
		names := []string{"a", "b"}
		for _, name := range names {
			_, err := w.live.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "shop", Image: "shop", Args: []string{"-a", "-b", "-c"}}},
					Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(1<<30, resource.BinarySI)}}}},
				},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		w.begin()
		defer w.end()
		_, err := w.GetInformer(t.Context(), &corev1.Pod{})
		require.NoError(t, err)
		tooMuch := resource.MustParse("100000000000000000000Gi")
		args := make([][]string, len(names))
		var workers sync.WaitGroup
		for i, name := range names {
			workers.Go(func() {
				var pod corev1.Pod
				require.NoError(t, w.Get(t.Context(), key("default", name), &pod))
				args[i] = append(pod.Spec.Containers[0].Args, "-name="+name)
				require.Negative(t, pod.Spec.Volumes[0].EmptyDir.SizeLimit.Cmp(tooMuch))
			})
		}
		workers.Wait()
		for i, name := range names {
			require.Equal(t, []string{"-a", "-b", "-c", "-name=" + name}, args[i])
		}
	})
}
