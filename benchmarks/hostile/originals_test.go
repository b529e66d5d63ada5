package hostile

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
)

// behind plays a test with client-go behind a hostile network. There's a ConfigMap.
func behind(t *testing.T, test func(t *testing.T, api kubernetes.Interface, network *hostile.Network)) {
	synctest.Test(t, func(t *testing.T) {
		var network *hostile.Network
		server := fakeapi.New(fakeapi.Options{
			WatchTimeout: 10_000 * time.Hour,
			Front:        func(http.Handler) http.Handler { return network },
		})
		network = hostile.New(server)
		defer server.Close()
		defer network.Close()
		api, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		_, err = api.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "there"},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		test(t, api, network)
	})
}

func TestAProxys404IsANotFoundToTheOriginals(t *testing.T) {
	behind(t, func(t *testing.T, api kubernetes.Interface, network *hostile.Network) {
		network.Begin(hostile.Attack{Fault: hostile.Find("text404"), On: hostile.Get})
		_, err := api.CoreV1().ConfigMaps("default").Get(t.Context(), "there", metav1.GetOptions{})
		require.Error(t, err)
		require.True(t, apierrors.IsNotFound(err))
		require.NoError(t, client.IgnoreNotFound(err))
	})
}

func TestAProxys404OnAPIV1IsAnEmptyListToClientGosDiscovery(t *testing.T) {
	behind(t, func(t *testing.T, api kubernetes.Interface, network *hostile.Network) {
		network.Begin(hostile.Attack{Fault: hostile.Find("text404"), On: hostile.Discovery})
		all, err := api.Discovery().ServerResourcesForGroupVersion("v1")
		require.NoError(t, err)
		require.Empty(t, all.APIResources)
	})
}

func TestBracesAreAnEmptyObjectAndAnEmptyListToClientGo(t *testing.T) {
	behind(t, func(t *testing.T, api kubernetes.Interface, network *hostile.Network) {
		maps := api.CoreV1().ConfigMaps("default")
		network.Begin(hostile.Attack{Fault: hostile.Find("braces"), On: hostile.Get})
		got, err := maps.Get(t.Context(), "there", metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, got.Name)
		network.Begin(hostile.Attack{Fault: hostile.Find("braces"), On: hostile.List})
		all, err := maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, all.Items)
	})
}

func TestALoginPageIsADeletionThatSucceededToClientGo(t *testing.T) {
	behind(t, func(t *testing.T, api kubernetes.Interface, network *hostile.Network) {
		maps := api.CoreV1().ConfigMaps("default")
		network.Begin(hostile.Attack{Fault: hostile.Find("login200"), On: hostile.Delete})
		require.NoError(t, maps.Delete(t.Context(), "there", metav1.DeleteOptions{}))
		_, err := maps.Get(t.Context(), "there", metav1.GetOptions{})
		require.NoError(t, err, "it's there")
	})
}

// For a minute, each write of the lease is answered with {} and never gets to the server.
func TestTwoOfClientGosElectorsLeadWhereBracesAnswerARenewal(t *testing.T) {
	behind(t, func(t *testing.T, api kubernetes.Interface, network *hostile.Network) {
		var leading, most atomic.Int32
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		for _, who := range []string{"a", "b"} {
			go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{
					LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "leader"},
					Client:     api.CoordinationV1(),
					LockConfig: resourcelock.ResourceLockConfig{Identity: who},
				},
				LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
				RetryPeriod: 2 * time.Second,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(ctx context.Context) {
						most.Store(max(most.Load(), leading.Add(1)))
						<-ctx.Done()
						leading.Add(-1)
					},
					OnStoppedLeading: func() {},
				},
			})
		}
		time.Sleep(30 * time.Second)
		require.EqualValues(t, 1, most.Load())
		network.Begin(hostile.Attack{
			Fault: hostile.Find("braces"), On: hostile.Update, For: time.Minute,
		})
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, 2, most.Load())
	})
}

// A load balancer cuts each watch after its first event, so the initial events never end. Each request takes 10 ms, and the test a minute.
func TestAWatchListThatIsCutIsAskedForAgainAtOnceByClientGo(t *testing.T) {
	requests := func(run func(ctx context.Context, config *rest.Config)) int {
		asked := 0
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			api, err := kubernetes.NewForConfig(server.Config())
			require.NoError(t, err)
			for _, name := range []string{"a", "b", "c"} {
				_, err := api.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: name},
				}, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, CutAfterEvents: 1, Delay: 10 * time.Millisecond})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			run(ctx, server.Config())
			asked = len(server.Requests(fakeapi.Match{Resource: "configmaps"}))
		})
		return asked
	}
	theirs := requests(func(ctx context.Context, config *rest.Config) {
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		go factory.Core().V1().ConfigMaps().Informer().RunWithContext(ctx)
		<-ctx.Done()
		synctest.Wait()
	})
	require.Greater(t, theirs, 1000)
	ours := requests(func(ctx context.Context, config *rest.Config) {
		from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{})
		require.NoError(t, err)
		of := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{})
		_ = of.Run(ctx)
	})
	t.Logf("in a minute, client-go sends %d requests, ours %d", theirs, ours)
	require.Less(t, ours, 100)
}
