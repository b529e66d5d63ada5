package cache_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// A reader that got something else than the server has would act on what is not there.
func TestAGetFindsWhatTheServerHasInEachForm(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prices", Labels: map[string]string{"app": "shop"}}, Data: map[string]string{"apple": "1"}})
		w.begin()
		defer w.end()
		want, err := w.live.CoreV1().ConfigMaps("default").Get(t.Context(), "prices", metav1.GetOptions{})
		require.NoError(t, err)
		want.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}

		var typed corev1.ConfigMap
		require.NoError(t, w.Get(t.Context(), key("default", "prices"), &typed))
		require.Equal(t, want, &typed)

		free := freeOf(configMapKind)
		require.NoError(t, w.Get(t.Context(), key("default", "prices"), free))
		require.Equal(t, map[string]any{"apple": "1"}, free.Object["data"])
		require.Equal(t, configMapKind, free.GroupVersionKind())

		partial := metadataOf(configMapKind)
		require.NoError(t, w.Get(t.Context(), key("default", "prices"), partial))
		require.Equal(t, want.ObjectMeta, partial.ObjectMeta)
		require.Equal(t, configMapKind, partial.GroupVersionKind())
	})
}

// All kinds have one Go type if they are read without their own.
func TestKindsWithOneGoTypeAreNotTakenForOneAnother(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "settings")
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		for _, c := range []struct {
			kind schema.GroupVersionKind
			name string
		}{{configMapKind, "settings"}, {widgetKind, "a"}} {
			require.NoError(t, w.Get(t.Context(), key("default", c.name), freeOf(c.kind)))
			require.NoError(t, w.Get(t.Context(), key("default", c.name), metadataOf(c.kind)))
			for _, list := range []client.ObjectList{freeListOf(c.kind), metadataListOf(c.kind)} {
				require.NoError(t, w.List(t.Context(), list))
				require.Equal(t, []string{"default/" + c.name}, names(t, list), "%T", list)
			}
		}
	})
}

func TestAnObjectThatIsNotThereIsNotFoundAndNothingIsWritten(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		object := corev1.ConfigMap{Data: map[string]string{"mine": "stays"}}
		err := w.Get(t.Context(), key("default", "missing"), &object)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.EqualError(t, err, `configmaps "missing" not found`)
		require.Equal(t, map[string]string{"mine": "stays"}, object.Data)
	})
}

func TestAListSelectsByNamespaceLabelsAndFields(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.namespaces("shop", "bank")
		for _, object := range []*corev1.ConfigMap{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Labels: map[string]string{"color": "red"}}, Data: map[string]string{"size": "1", "kind": "x"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b", Labels: map[string]string{"color": "blue"}}, Data: map[string]string{"size": "1", "kind": "y"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "a", Labels: map[string]string{"color": "red"}}, Data: map[string]string{"size": "2", "kind": "x"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "c"}, Data: map[string]string{"size": "1", "kind": "x"}},
		} {
			w.create(object)
		}
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", dataField("size")))
		w.begin()
		defer w.end()
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.kind", dataField("kind")), "an index may come later")
		for _, c := range []struct {
			what string
			opts []client.ListOption
			want []string
		}{
			{"a namespace", []client.ListOption{client.InNamespace("shop")}, []string{"shop/a", "shop/b"}},
			{"labels", []client.ListOption{client.MatchingLabels{"color": "red"}}, []string{"bank/a", "shop/a"}},
			{"both", []client.ListOption{client.MatchingLabels{"color": "red"}, client.InNamespace("bank")}, []string{"bank/a"}},
			{"a field", []client.ListOption{client.MatchingFields{"data.size": "1"}}, []string{"bank/c", "shop/a", "shop/b"}},
			{"a field in a namespace", []client.ListOption{client.MatchingFields{"data.size": "1"}, client.InNamespace("bank")}, []string{"bank/c"}},
			{"two fields", []client.ListOption{client.MatchingFields{"data.size": "1", "data.kind": "x"}}, []string{"bank/c", "shop/a"}},
			{"two fields in a namespace", []client.ListOption{client.MatchingFields{"data.size": "1", "data.kind": "x"}, client.InNamespace("shop")}, []string{"shop/a"}},
			{"a field and a label", []client.ListOption{client.MatchingFields{"data.size": "1"}, client.HasLabels{"color"}}, []string{"shop/a", "shop/b"}},
			{"the name", []client.ListOption{client.MatchingFields{"metadata.name": "a"}}, []string{"bank/a", "shop/a"}},
			{"the name in a namespace", []client.ListOption{client.MatchingFields{"metadata.name": "a"}, client.InNamespace("shop")}, []string{"shop/a"}},
			{"the namespace as a field", []client.ListOption{client.MatchingFields{"metadata.namespace": "bank", "data.size": "1"}}, []string{"bank/c"}},
			{"a value that none has", []client.ListOption{client.MatchingFields{"data.size": "3"}}, []string{}},
			{"no field", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.Everything()}, client.InNamespace("bank")}, []string{"bank/a", "bank/c"}},
		} {
			require.Equal(t, c.want, w.listed(c.opts...), c.what)
		}
	})
}

// dataField indexes ConfigMaps by an entry.
func dataField(name string) client.IndexerFunc {
	return func(object client.Object) []string {
		if value, ok := object.(*corev1.ConfigMap).Data[name]; ok {
			return []string{value}
		}
		return nil
	}
}

// Kinds such as a PriceList exist, and are no lists of Prices.
func TestAKindMayBeCalledAList(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "PriceList"}
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.server.Register(fakeapi.Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
		prices := &unstructured.Unstructured{Object: map[string]any{}}
		prices.SetGroupVersionKind(kind)
		prices.SetName("spring")
		_, err := w.free.Resource(kind.GroupVersion().WithResource("pricelists")).Namespace("default").Create(t.Context(), prices, metav1.CreateOptions{})
		require.NoError(t, err)
		w.begin()
		defer w.end()
		require.NoError(t, w.Get(t.Context(), key("default", "spring"), freeOf(kind)))
		require.NoError(t, w.Get(t.Context(), key("default", "spring"), metadataOf(kind)))
		all := freeListOf(kind)
		require.NoError(t, w.List(t.Context(), all))
		require.Equal(t, []string{"default/spring"}, names(t, all))
		_, err = w.GetInformer(t.Context(), freeOf(kind))
		require.NoError(t, err)
		require.Equal(t, 1, w.watches("pricelists"))
	})
}

// Whoever selects nothing and gets everything may delete it.
func TestASelectorThatMatchesNothingListsNothing(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a", "b")
		w.begin()
		defer w.end()
		require.Len(t, w.listed(), 2)
		for _, nothing := range []client.ListOption{
			client.MatchingFieldsSelector{}, client.MatchingFieldsSelector{Selector: fields.Nothing()}, &client.ListOptions{FieldSelector: fields.Nothing()},
			client.MatchingLabelsSelector{}, client.HasLabels{"no label can have this name!"},
		} {
			require.Empty(t, w.listed(nothing), "%#v", nothing)
			for object, err := range cache.All(t.Context(), w.Cache, &corev1.ConfigMap{}, nothing) {
				t.Errorf("%#v yields %v, %v", nothing, object, err)
			}
		}
	})
}

// A mistake in one reconciler must not end the process, whether the cache knows the kind already or not.
func TestAReadIntoNilIsAnError(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prices"}})
		w.begin()
		defer w.end()
		for range 2 {
			for _, object := range []client.Object{nil, (*corev1.ConfigMap)(nil), (*unstructured.Unstructured)(nil), (*metav1.PartialObjectMetadata)(nil)} {
				require.Error(t, w.Get(t.Context(), key("default", "prices"), object), "%T", object)
				_, err := w.GetInformer(t.Context(), object)
				require.Error(t, err, "%T", object)
				require.Error(t, w.RemoveInformer(t.Context(), object), "%T", object)
				require.Error(t, w.IndexField(t.Context(), object, "f", func(client.Object) []string { return nil }), "%T", object)
			}
			for _, list := range []client.ObjectList{nil, (*corev1.ConfigMapList)(nil), (*unstructured.UnstructuredList)(nil), (*metav1.PartialObjectMetadataList)(nil)} {
				require.Error(t, w.List(t.Context(), list), "%T", list)
			}
			require.NoError(t, w.Get(t.Context(), key("default", "prices"), &corev1.ConfigMap{}))
			require.NoError(t, w.List(t.Context(), &corev1.ConfigMapList{}))
		}
	})
}

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
