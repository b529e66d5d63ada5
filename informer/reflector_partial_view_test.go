package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Objects change while a view of 100,000 of them is still coming. Whatever order the events have,
// the view that the sink gets must be what the server has, each object once.
func TestAViewThatIsComingHoldsWhatAMapWouldHold(t *testing.T) {
	updates, deletions, repeated := 0, 0, 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		var v partialView[*corev1.ConfigMap]
		want := map[string]string{}
		object := func(n int) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("object-", n), ResourceVersion: fmt.Sprint(random.Uint32())}}
		}
		versions := func() map[string]string {
			got := map[string]string{}
			for _, item := range v.items {
				require.NotContains(t, got, item.Name, "seed %d: twice", seed)
				got[item.Name] = item.ResourceVersion
			}
			return got
		}
		indexed := false
		for range 1 + random.IntN(30) {
			event := Event[*corev1.ConfigMap]{Type: watch.Added, Object: object(random.IntN(8))}
			name := event.Object.Name
			if kind := random.IntN(6); kind == 0 {
				event.Type = watch.Modified
				updates++
			} else if kind == 1 {
				event.Type = watch.Deleted
				deletions++
			}
			if _, there := want[name]; there && event.Type == watch.Added {
				repeated++
			}
			v.apply(event)
			if event.Type == watch.Deleted {
				delete(want, name)
			} else {
				want[name] = event.Object.ResourceVersion
			}
			if indexed = indexed || event.Type != watch.Added; indexed {
				require.Equal(t, want, versions(), "seed %d", seed)
			} else {
				require.Nil(t, v.indexOf, "seed %d: as long as objects only come, an index is memory for nothing", seed)
			}
		}
		for _, item := range v.items[len(v.items):cap(v.items)] {
			require.Nil(t, item, "seed %d: an object that is gone is kept in memory", seed)
		}
	}
	require.Greater(t, updates, 100)
	require.Greater(t, deletions, 100)
	require.Greater(t, repeated, 100)
}

// A hundred pages are one view.
func TestAViewHoldsTheItemsOfAllPages(t *testing.T) {
	var v partialView[*corev1.ConfigMap]
	var want []string
	for page := range 3 {
		var items []*corev1.ConfigMap
		for i := range 2 {
			want = append(want, fmt.Sprintf("object-%d-%d", page, i))
			items = append(items, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: want[len(want)-1]}})
		}
		v.add(items)
	}
	require.Equal(t, want, namesOf(v.items))
}
