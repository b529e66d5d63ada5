package cache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// A program adds its indices once, at the start. They must not be lost with an informer.
func TestAnIndexIsBackWhenItsInformerIs(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"size": "1"}})
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", dataField("size")))
		w.begin()
		defer w.end()
		require.Equal(t, []string{"default/a"}, w.listed(client.MatchingFields{"data.size": "1"}))
		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.Equal(t, []string{"default/a"}, w.listed(client.MatchingFields{"data.size": "1"}))
		require.Equal(t, 2, w.watches("configmaps"))
		require.ErrorContains(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", dataField("kind")), "there is an index already")
	})
}

// Each form has indices of its own, because the functions get other Go types. They live on one informer all the same.
func TestEachFormHasItsIndices(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Annotations: map[string]string{"owner": "me"}}, Data: map[string]string{"owner": "you"}})
		w.begin()
		defer w.end()
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "owner", dataField("owner")))
		shown := func(object client.Object) *metav1.PartialObjectMetadata {
			partial := object.(*metav1.PartialObjectMetadata)
			if partial.GroupVersionKind() != configMapKind {
				t.Errorf("the function was given the metadata of a %s", partial.GroupVersionKind())
			}
			return partial
		}
		require.NoError(t, w.IndexField(t.Context(), metadataOf(configMapKind), "owner", func(object client.Object) []string {
			return []string{shown(object).Annotations["owner"]}
		}))
		require.NoError(t, w.IndexField(t.Context(), freeOf(configMapKind), "owner", func(object client.Object) []string {
			value, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "data", "owner")
			return []string{value, "unstructured"}
		}))
		count := func(list client.ObjectList, value string) int {
			require.NoError(t, w.List(t.Context(), list, client.MatchingFields{"owner": value}))
			return len(names(t, list))
		}
		require.Equal(t, []int{1, 0}, []int{count(&corev1.ConfigMapList{}, "you"), count(&corev1.ConfigMapList{}, "me")})
		require.Equal(t, []int{0, 1}, []int{count(metadataListOf(configMapKind), "you"), count(metadataListOf(configMapKind), "me")})
		require.Equal(t, []int{1, 1}, []int{count(freeListOf(configMapKind), "you"), count(freeListOf(configMapKind), "unstructured")})
		require.Equal(t, 2, w.watches("configmaps"))

		// Two fields of metadata: one is found by the index, the other is asked of the object.
		require.NoError(t, w.IndexField(t.Context(), metadataOf(configMapKind), "name", func(object client.Object) []string {
			return []string{shown(object).Name}
		}))
		require.NoError(t, w.List(t.Context(), metadataListOf(configMapKind), client.MatchingFields{"owner": "me", "name": "a"}))
	})
}

func TestAListThatTheCacheCannotAnswerIsAnErrorThatSaysWhatToDo(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		for _, c := range []struct {
			option client.ListOption
			want   string
		}{
			{client.MatchingFields{"data.size": "1"}, `no index of the field "data.size" for /v1, Kind=ConfigMap: add one with IndexField`},
			{client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.name", "a")}, "only by equality, and not by metadata.name!=a"},
			{client.Continue("token"), "leave Continue out"},
		} {
			list := corev1.ConfigMapList{Items: []corev1.ConfigMap{{}}}
			require.ErrorContains(t, w.List(t.Context(), &list, c.option), c.want)
			require.Len(t, list.Items, 1, "the list is as it was")
		}
		require.Error(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "x", nil))
		require.Error(t, w.IndexField(t.Context(), &unstructured.Unstructured{}, "x", dataField("x")))
	})
}

// A caller that reads page by page must notice that the rest is missing.
func TestAListThatIsCutOffSaysSo(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a", "b", "c")
		w.begin()
		defer w.end()
		for limit, isCutOff := range []bool{false, true, true, false, false} {
			var list corev1.ConfigMapList
			require.NoError(t, w.List(t.Context(), &list, client.Limit(limit)))
			require.Equal(t, isCutOff, list.Continue != "", "a limit of %d of 3", limit)
		}
	})
}

func TestAUsersOwnIndicesAndHandlersSeeTheFormThatTheyAskedFor(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		require.Equal(t, []string{"default/a"}, w.listed())
		shared, err := w.GetInformer(t.Context(), metadataOf(configMapKind))
		require.NoError(t, err)
		seen := []string{}
		indexers := informer.Indexers{"mine": func(object any) ([]string, error) {
			seen = append(seen, fmt.Sprintf("%T of a %s", object, object.(client.Object).GetObjectKind().GroupVersionKind().Kind))
			return nil, nil
		}}
		require.NoError(t, shared.AddIndexers(indexers))
		require.Equal(t, []string{"*v1.PartialObjectMetadata of a ConfigMap"}, seen)
		whole, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.NoError(t, whole.AddIndexers(informer.Indexers{"whole": indexers["mine"]}))
		require.Equal(t, "*v1.ConfigMap of a ConfigMap", seen[1])
		require.Error(t, shared.AddIndexers(informer.Indexers{"mine": func(any) ([]string, error) { return nil, nil }}), "the name is taken")
		require.Error(t, shared.AddIndexers(informer.Indexers{"nothing": nil}))
		hears := newHearing()
		_, err = shared.AddEventHandler(hears)
		require.NoError(t, err)
		_, err = shared.AddEventHandler(nil)
		require.Error(t, err)
		changed := w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})
		changed.Data = map[string]string{"k": "v"}
		synctest.Wait()
		w.update(changed)
		synctest.Wait()
		w.delete("default", "b")
		synctest.Wait()
		as := "*v1.PartialObjectMetadata default/"
		require.Equal(t, []string{"initial " + as + "a", "add " + as + "b", "update " + as + "b", "delete " + as + "b"}, hears.all())
	})
}

// At a start, all that a program needs is asked for at once. What is wrong must be said there, and with the reason.
func TestWhatCannotBeIndexedOrWatchedSaysWhy(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		nothing := freeOf(widgetKind.GroupVersion().WithKind("Nothing"))
		err := w.IndexField(t.Context(), nothing, "size", dataField("size"))
		require.True(t, meta.IsNoMatchError(err), "%v", err)
		require.ErrorContains(t, err, `indexing the field "size"`)
		_, err = w.GetInformer(t.Context(), nothing)
		require.True(t, meta.IsNoMatchError(err), "%v", err)

		// Programs ask for these types, which are the same without a cache.
		for _, c := range []struct {
			obj client.Object
			is  func(error) bool
		}{{&unstructured.Unstructured{Object: map[string]any{}}, runtime.IsMissingKind}, {&stranger{}, runtime.IsNotRegisteredError}} {
			_, err := w.GetInformer(t.Context(), c.obj)
			for i, err := range []error{
				err, w.IndexField(t.Context(), c.obj, "size", dataField("size")), w.RemoveInformer(t.Context(), c.obj), w.Get(t.Context(), key("default", "a"), c.obj),
			} {
				require.True(t, c.is(err), "call %d with a %T: %v", i, c.obj, err)
			}
		}
	})
}

// stranger is a type that was not added to the scheme.
type stranger struct{ corev1.ConfigMap }

// The name of an index in the informer's store may be taken by an indexer of the user's own.
func TestAFieldWhoseIndexCannotBeAddedIsNotListedBy(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.NoError(t, from.AddIndexers(informer.Indexers{"field:typed:data.size": func(any) ([]string, error) { return []string{"1"}, nil }}))
		require.ErrorContains(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", dataField("size")), "there is an index of that name already")
		require.ErrorContains(t, w.List(t.Context(), &corev1.ConfigMapList{}, client.MatchingFields{"data.size": "1"}), `no index of the field "data.size"`)
	})
}

// A source that starts before its informer has listed would report the first objects as new.
func TestWhoeverAsksToWaitGetsAnInformerThatHasListed(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "the-cache"}, Delay: time.Second})
		for _, c := range []struct {
			obj     client.Object
			options []cache.InformerGetOption
			waits   bool
		}{
			{&corev1.ConfigMap{}, nil, true},
			{&corev1.Secret{}, []cache.InformerGetOption{cache.BlockUntilSynced(true)}, true},
			{&corev1.Pod{}, []cache.InformerGetOption{cache.BlockUntilSynced(false)}, false},
			{&corev1.Node{}, []cache.InformerGetOption{cache.BlockUntilSynced(false), cache.BlockUntilSynced(true)}, true},
		} {
			from, err := w.GetInformer(t.Context(), c.obj, c.options...)
			require.NoError(t, err)
			require.Equal(t, c.waits, from.HasSynced(), "%T", c.obj)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := w.GetInformer(ctx, &corev1.Service{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
