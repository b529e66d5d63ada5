package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// inInformer runs a test in a synctest bubble, with an informer of ConfigMaps that is not running
// yet. start runs it; stop ends it and is called in any case.
func inInformer(t *testing.T, test func(t *testing.T, server *fakeapi.Server, configMaps typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], start, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		client, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		from, err := informer.NewListWatch[*corev1.ConfigMap](server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{Namespace: metav1.NamespaceDefault})
		require.NoError(t, err)
		i := informer.NewInformer[*corev1.ConfigMap](from, informer.InformerOptions[*corev1.ConfigMap]{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		stop := func() { cancel(); running.Wait() }
		defer stop()
		test(t, server, client.CoreV1().ConfigMaps(metav1.NamespaceDefault), i, func() { running.Go(func() { _ = i.Run(ctx) }) }, stop)
	})
}

func create(t *testing.T, configMaps typed.ConfigMapInterface, name string) {
	t.Helper()
	_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// diary is a handler that writes down what it is told.
type diary struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// read returns what was noted since the last call, when all is still.
func (d *diary) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) OnAdd(obj any, initial bool) {
	d.note("add %s, initial: %v", obj.(*corev1.ConfigMap).Name, initial)
}

func (d *diary) OnUpdate(old, obj any) {
	d.note("update %s from %v to %v, the same: %v", obj.(*corev1.ConfigMap).Name, old.(*corev1.ConfigMap).Data, obj.(*corev1.ConfigMap).Data, old == obj)
}

func (d *diary) OnDelete(obj any) {
	if unseen, ok := obj.(informer.DeletedFinalStateUnknown); ok {
		d.note("delete %s, last seen as %s", unseen.Key, unseen.Obj.(*corev1.ConfigMap).Name)
		return
	}
	d.note("delete %s", obj.(*corev1.ConfigMap).Name)
}

func TestAHandlerWithClientGosMethodsIsToldEverything(t *testing.T) {
	inInformer(t, func(t *testing.T, _ *fakeapi.Server, configMaps typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], start, stop func()) {
		s := InformerOf(i, "configmaps", 0)
		var told diary
		registration, err := s.AddEventHandler(&told)
		require.NoError(t, err)
		synced, handled := s.HasSyncedChecker(), registration.HasSyncedChecker()
		require.Equal(t, "the informer of configmaps", synced.Name())
		require.Equal(t, "a handler of the informer of configmaps", handled.Name())
		require.False(t, s.HasSynced())
		require.False(t, registration.HasSynced())

		create(t, configMaps, "web")
		start()
		<-handled.Done()
		<-synced.Done()
		require.True(t, s.HasSynced())
		require.True(t, registration.HasSynced())
		require.Equal(t, []string{"add web, initial: true"}, told.read())

		create(t, configMaps, "db")
		require.Equal(t, []string{"add db, initial: false"}, told.read())
		_, err = configMaps.Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Data: map[string]string{"size": "big"}}, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"update db from map[] to map[size:big], the same: false"}, told.read())
		require.NoError(t, configMaps.Delete(t.Context(), "db", metav1.DeleteOptions{}))
		require.Equal(t, []string{"delete db"}, told.read())

		require.False(t, s.IsStopped())
		stop()
		require.True(t, s.IsStopped())
		_, err = s.AddEventHandler(&told)
		require.ErrorContains(t, err, "the informer of configmaps")
	})
}

// client-go's handlers look for this type, and would take the object for the final state otherwise.
func TestAnEndThatNobodySawIsADeletedFinalStateUnknown(t *testing.T) {
	var told diary
	h := untypedHandler[*corev1.ConfigMap]{&told}
	web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	node := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	h.OnDelete(web, true)
	h.OnDelete(node, true)
	h.OnDelete(web, false)
	require.Equal(t, []string{"delete shop/web, last seen as web", "delete node, last seen as node", "delete web"}, told.lines)
}

func TestAHandlerCanBeRemovedTwice(t *testing.T) {
	inInformer(t, func(t *testing.T, _ *fakeapi.Server, configMaps typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], start, _ func()) {
		s := InformerOf(i, "configmaps", 0)
		start()
		var told diary
		registration, err := s.AddEventHandler(&told)
		require.NoError(t, err)
		<-registration.HasSyncedChecker().Done()
		for range 2 { // through another one of the same informer as well
			require.NoError(t, InformerOf(i, "configmaps", 0).RemoveEventHandler(registration))
		}
		<-registration.(interface{ Done() <-chan struct{} }).Done()
		create(t, configMaps, "web")
		require.Empty(t, told.read())
	})
}

// Removing nothing without a word would leave the handler in its informer.
func TestAForeignRegistrationIsAnError(t *testing.T) {
	inInformer(t, func(t *testing.T, _ *fakeapi.Server, _ typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], _, _ func()) {
		other := InformerOf(informer.NewInformer[*corev1.ConfigMap](nothing{}, informer.InformerOptions[*corev1.ConfigMap]{}), "other", 0)
		foreign, err := other.AddEventHandler(&diary{})
		require.NoError(t, err)
		s := InformerOf(i, "configmaps", 0)
		require.ErrorContains(t, s.RemoveEventHandler(foreign), "the informer of configmaps: it does not know the registration")
		require.Error(t, s.RemoveEventHandler(nil))
		require.NoError(t, other.RemoveEventHandler(foreign))
		_, err = s.AddEventHandler(nil)
		require.ErrorContains(t, err, "it is nil")
	})
}

// nothing is a collection that nobody reads.
type nothing struct {
	informer.ListerWatcher[*corev1.ConfigMap]
}

func TestAHandlerGetsTheCachesResyncUnlessItSaysOtherwise(t *testing.T) {
	minute := time.Minute
	for _, c := range []struct {
		name   string
		resync time.Duration // of the cache
		add    func(Informer, informer.ResourceEventHandler) (informer.ResourceEventHandlerRegistration, error)
		want   int // in ten minutes
	}{
		{"none", 0, Informer.AddEventHandler, 0},
		{"the cache's", 2 * minute, Informer.AddEventHandler, 5},
		{"options without one", 2 * minute, withResync(nil), 5},
		{"options with one", 2 * minute, withResync(&minute), 10},
		{"options with one of 0, which is never", 2 * minute, withResync(new(time.Duration)), 0},
		{"a period", 2 * minute, withPeriod(minute), 10},
		{"a period of 0, which is never", 2 * minute, withPeriod(0), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inInformer(t, func(t *testing.T, _ *fakeapi.Server, configMaps typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], start, _ func()) {
				create(t, configMaps, "web")
				var told diary
				_, err := c.add(InformerOf(i, "configmaps", c.resync), &told)
				require.NoError(t, err)
				start()
				time.Sleep(10*minute + time.Second)
				require.Equal(t, append([]string{"add web, initial: true"}, slices.Repeat([]string{"update web from map[] to map[], the same: true"}, c.want)...), told.read())
			})
		})
	}
}

func withResync(resync *time.Duration) func(Informer, informer.ResourceEventHandler) (informer.ResourceEventHandlerRegistration, error) {
	return func(i Informer, h informer.ResourceEventHandler) (informer.ResourceEventHandlerRegistration, error) {
		return i.AddEventHandlerWithOptions(h, informer.ResourceEventHandlerOptions{ResyncPeriod: resync})
	}
}

func withPeriod(period time.Duration) func(Informer, informer.ResourceEventHandler) (informer.ResourceEventHandlerRegistration, error) {
	return func(i Informer, h informer.ResourceEventHandler) (informer.ResourceEventHandlerRegistration, error) {
		return i.AddEventHandlerWithResyncPeriod(h, period)
	}
}

func TestAnObjectIsFoundByTheValuesOfAnIndexer(t *testing.T) {
	inInformer(t, func(t *testing.T, _ *fakeapi.Server, configMaps typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], start, _ func()) {
		log := logtest.Read(t)
		s := InformerOf(i, "configmaps", 0)
		create(t, configMaps, "web")
		create(t, configMaps, "broken")
		start()
		synctest.Wait()
		require.NoError(t, s.AddIndexers(informer.Indexers{
			"letter": func(obj any) ([]string, error) {
				name := obj.(*corev1.ConfigMap).Name
				if name == "broken" {
					return []string{"b"}, errors.New("it is broken")
				}
				return []string{name[:1], name[1:2]}, nil
			},
		}))
		index, ok := i.Store().Index("letter")
		require.True(t, ok)
		require.Equal(t, []string{"e", "w"}, index.Values())
		require.Contains(t, log.String(), `err="it is broken"`)
		require.Contains(t, log.String(), `index=letter object=default/broken`)

		one := func(any) ([]string, error) { return nil, nil }
		require.ErrorContains(t, s.AddIndexers(informer.Indexers{"letter": one, "other": one}), "the informer of configmaps: adding index \"letter\"")
		require.ErrorContains(t, s.AddIndexers(informer.Indexers{"other": nil}), "its function is nil")
		_, ok = i.Store().Index("other")
		require.False(t, ok, "all or none")
	})
}

// A source that is not ready in time says why.
func TestAnInformerThatCannotListSaysWhy(t *testing.T) {
	inInformer(t, func(t *testing.T, server *fakeapi.Server, _ typed.ConfigMapInterface, i *informer.Informer[*corev1.ConfigMap], start, _ func()) {
		defer server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})()
		start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := InformerOf(i, "configmaps", 0).(interface{ WaitForSync(context.Context) error })
		require.ErrorContains(t, s.WaitForSync(ctx), "forbidden")
	})
}
