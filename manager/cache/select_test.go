package cache_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// counted is dataField, and counts how many objects it is asked about. To be asked about each of a hundred thousand
// objects at every list is what an index is there to avoid.
func counted(name string, calls *atomic.Int32) client.IndexerFunc {
	return func(object client.Object) []string {
		calls.Add(1)
		return dataField(name)(object)
	}
}

func TestAListLooksAtAsFewObjectsAsItsIndicesAllow(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.namespaces("shop")
		for i := range 10 {
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}, Data: map[string]string{"size": "1", "kind": fmt.Sprint(i / 2), "zone": fmt.Sprint(i / 2)}})
		}
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}, Data: map[string]string{"size": "1", "kind": "0", "zone": "0"}})
		var sizes, kinds atomic.Int32
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", counted("size", &sizes)))
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.kind", counted("kind", &kinds)))
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.zone", dataField("zone")))
		w.begin()
		defer w.end()
		w.listed()
		synctest.Wait()
		for _, c := range []struct {
			fields, namespace string
			want              []string
			sizes, kinds      int32
		}{
			{"data.size=1", "", nil, 0, 0},
			{"data.size=1,data.kind=0", "", []string{"default/0", "default/1", "shop/a"}, 3, 0},
			{"data.size=1,data.zone=0", "", []string{"default/0", "default/1", "shop/a"}, 3, 0},
			{"data.kind=0,data.size=1,data.zone=0", "", []string{"default/0", "default/1", "shop/a"}, 3, 0},
			{"data.kind=0", "default", []string{"default/0", "default/1"}, 0, 0},
			{"data.kind=0", "shop", []string{"shop/a"}, 0, 1},
			{"data.size=1,data.kind=0", "shop", []string{"shop/a"}, 1, 1},
			{"data.size=1,data.kind=4", "shop", []string{}, 0, 1},
			{"metadata.namespace=shop,data.size=1", "", []string{"shop/a"}, 1, 0},
			{"metadata.name=a,data.size=1", "shop", []string{"shop/a"}, 1, 0},
			{"metadata.name=b,data.size=1", "shop", []string{}, 0, 0},
			{"metadata.name=1,data.kind=0", "", []string{"default/1"}, 0, 0},
			{"metadata.name=1,metadata.name=2", "default", []string{}, 0, 0},
			{"data.kind=none,data.size=1", "", []string{}, 0, 0},
			{"data.kind=none", "shop", []string{}, 0, 0},
		} {
			sizes.Store(0)
			kinds.Store(0)
			found := w.listed(client.InNamespace(c.namespace), client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie(c.fields)})
			what := c.fields + " in " + c.namespace
			if c.want == nil {
				require.Len(t, found, 11, what)
			} else {
				require.Equal(t, c.want, found, what)
			}
			require.Equal(t, []int32{c.sizes, c.kinds}, []int32{sizes.Load(), kinds.Load()}, what)
		}
	})
}

// In a cache of single namespaces, an object is found by its name without a look at the others.
func TestAListOfANameLooksAtOneObjectOfEachNamespace(t *testing.T) {
	inWorld(t, inNamespaces("default", "shop"), func(t *testing.T, w *world) {
		w.namespaces("shop")
		for i := range 5 {
			for _, namespace := range []string{"default", "shop"} {
				w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(i)}, Data: map[string]string{"size": "1"}})
			}
		}
		var sizes atomic.Int32
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", counted("size", &sizes)))
		w.begin()
		defer w.end()
		w.listed()
		synctest.Wait()
		sizes.Store(0)
		require.Len(t, w.listed(client.MatchingFields{"data.size": "1"}), 10)
		require.Zero(t, sizes.Load(), "each namespace has the index")
		require.Equal(t, []string{"default/3", "shop/3"}, w.listed(client.MatchingFields{"metadata.name": "3", "data.size": "1"}))
		require.EqualValues(t, 2, sizes.Load())
		require.Equal(t, []string{"shop/3"}, w.listed(client.MatchingFields{"metadata.name": "3"}, client.InNamespace("shop")))
		nodes := &corev1.NamespaceList{}
		require.NoError(t, w.List(t.Context(), nodes, client.MatchingFields{"metadata.name": "shop"}, client.InNamespace("ignored")))
		require.Equal(t, []string{"/shop"}, names(t, nodes))
	})
}

// countingSelector counts how many objects it is asked about.
type countingSelector struct {
	labels.Selector
	calls *atomic.Int32
}

func (c countingSelector) Matches(set labels.Labels) bool {
	c.calls.Add(1)
	return c.Selector.Matches(set)
}

// A controller that lists the pods of one namespace must not pay for those of a thousand others.
func TestAListOfANamespaceLooksAtNoObjectOfAnother(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.namespaces("shop")
		w.configMaps("default", "a", "b", "c")
		w.configMaps("shop", "a")
		w.begin()
		defer w.end()
		w.listed()
		var calls atomic.Int32
		selector := client.MatchingLabelsSelector{Selector: countingSelector{labels.SelectorFromSet(labels.Set{"color": "red"}), &calls}}
		require.Empty(t, w.listed(client.InNamespace("shop"), selector))
		require.EqualValues(t, 1, calls.Load())
	})
}
