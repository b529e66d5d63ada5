package informer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
)

// 5,000 objects, an API server that dies in the middle, and a database that has
// forgotten what happened meanwhile: in the end the store is what the server has,
// and every listener has heard a legal history that ends there.
func TestFiveThousandObjectsSurviveARestartAndACompaction(t *testing.T) {
	const count, writers = 5000, 16
	on := clustertest.Shared(t)
	config := clustertest.Config(t)
	config.QPS = -1
	w := newWorld(t, config, clustertest.Namespace(t))
	inParallel := func(work func(n int) error) {
		var working sync.WaitGroup
		for first := range writers {
			working.Go(func() {
				for n := first; n < count; n += writers {
					if err := work(n); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		working.Wait()
	}
	name := func(n int) string { return fmt.Sprintf("c%04d", n) }
	informer := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})), InformerOptions[*corev1.ConfigMap]{Transform: DropManagedFields[*corev1.ConfigMap]})
	none := func() time.Duration { return 0 }
	some := &witness{t: t, name: "early", pause: none, told: map[Key]*corev1.ConfigMap{}}
	_, err := informer.AddHandler(some, HandlerOptions{Name: "early"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { _ = informer.Run(ctx) })
	defer func() { cancel(); running.Wait() }()

	inParallel(func(n int) error {
		_, err := w.configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name(n), Labels: map[string]string{"test": "yes"}}}, metav1.CreateOptions{})
		return err
	})
	require.NoError(t, informer.WaitForSync(ctx))
	late := &witness{t: t, name: "late", pause: none, told: map[Key]*corev1.ConfigMap{}}
	registration, err := informer.AddHandler(late, HandlerOptions{Name: "late"})
	require.NoError(t, err)

	// Every tenth goes while the API server starts again, without its memory of
	// what happened; and etcd forgets, too.
	require.NoError(t, on.Restart(ctx, cluster.APIServer, 0))
	inParallel(func(n int) error {
		if n%10 != 0 {
			return nil
		}
		return w.configMaps.Delete(ctx, name(n), metav1.DeleteOptions{})
	})
	_, err = on.Compact(ctx)
	require.NoError(t, err)
	require.NoError(t, on.Restart(ctx, cluster.APIServer, time.Second))
	last := w.create(t, "last", nil)
	require.NoError(t, informer.WaitFor(ctx, KeyOf(last), last.ResourceVersion), "%+v", informer.Health())
	<-registration.Synced()

	truth, err := w.configMaps.List(ctx, metav1.ListOptions{LabelSelector: "test"})
	require.NoError(t, err)
	require.Len(t, truth.Items, count-count/10+1)
	require.Eventually(t, func() bool { return informer.Store().Len() == len(truth.Items) }, time.Minute, 10*time.Millisecond)
	for _, witness := range []*witness{some, late} {
		require.Eventually(t, func() bool {
			witness.mu.Lock()
			defer witness.mu.Unlock()
			if len(witness.told) != len(truth.Items) {
				return false
			}
			for i := range truth.Items {
				told := witness.told[KeyOf(&truth.Items[i])]
				if told == nil || told.ResourceVersion != truth.Items[i].ResourceVersion {
					return false
				}
			}
			return true
		}, time.Minute, 10*time.Millisecond, "what %s was told", witness.name)
	}
}
