package hostile_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// proxied leads to the real API server through a network, in which a reverse proxy stands.
func proxied(t *testing.T) (*rest.Config, *hostile.Network) {
	t.Helper()
	config := clustertest.Config(t)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	network := hostile.New(proxy)
	server := httptest.NewServer(network)
	t.Cleanup(func() {
		network.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{
		Host: server.URL, QPS: -1, WarningHandlerWithContext: rest.NoWarnings{},
	}, network
}

// Behind a proxy, a manager with the Deployment controllers keeps a real cluster: a rollout that
// begins during the fault is complete in the end, one more change is, too, and no handler hears of a
// deletion that there wasn't.
func TestTheRealAPIServerBehindAHostileNetwork(t *testing.T) {
	clustertest.Shared(t)
	for _, c := range []struct {
		fault string
		lasts time.Duration
	}{
		{"text404", 10 * time.Second}, {"text404", time.Minute}, {"html404", 10 * time.Second},
		{"login200", 10 * time.Second}, {"unauthorized401", 10 * time.Second},
		{"html502", 10 * time.Second}, {"braces", 10 * time.Second},
		{"cutchunked", 10 * time.Second}, {"cuthalf", 10 * time.Second},
		{"silent", 10 * time.Second}, {"stale", 10 * time.Second},
	} {
		t.Run(fmt.Sprint(c.fault, "/", c.lasts), func(t *testing.T) {
			t.Parallel()
			playOnCluster(t, hostile.Attack{
				Fault: hostile.Find(c.fault), On: hostile.Everything, For: c.lasts,
			})
		})
	}
}

func playOnCluster(t *testing.T, attack hostile.Attack) {
	namespace := clustertest.Namespace(t)
	user, err := client.New(clustertest.Config(t), client.Options{})
	require.NoError(t, err)
	through, network := proxied(t)
	mgr, err := manager.New(through, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	skip := controllers.Options{Probe: controllers.ProbeOptions{Skip: true}}
	require.NoError(t, replicaset.Add(mgr, skip))
	require.NoError(t, deployment.Add(mgr, skip))
	seen := &seen{user: user, names: map[string]bool{}}
	maps, err := mgr.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
		cache.BlockUntilSynced(false))
	require.NoError(t, err)
	_, err = maps.AddEventHandler(seen.handler())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})

	web := &appsv1.Deployment{}
	web.Namespace, web.Name = namespace, "web"
	web.Spec = appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: selector(), Template: template("web:1"),
	}
	require.NoError(t, user.Create(t.Context(), web))
	for _, name := range []string{"kept", "deleted"} {
		m := configMap(name)
		m.Namespace = namespace
		require.NoError(t, user.Create(t.Context(), m))
	}
	isThere := func(image string, replicas int32) func() bool {
		return func() bool {
			now := web.DeepCopy()
			err := user.Get(t.Context(), client.ObjectKeyFromObject(web), now)
			s := now.Status
			return err == nil && now.Spec.Template.Spec.Containers[0].Image == image &&
				s.ObservedGeneration == now.Generation && s.Replicas == replicas &&
				s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas
		}
	}
	const patience, pause = 5 * time.Minute, time.Second
	require.Eventually(t, isThere("web:1", 3), patience, pause, "before the fault")
	require.Eventually(t, func() bool { return seen.has("kept", "deleted") }, patience, pause)

	hits := network.Begin(attack)
	network.Relist()
	change := func(how func()) {
		// The controller may write the status between the two.
		require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			require.NoError(t, user.Get(t.Context(), client.ObjectKeyFromObject(web), web))
			how()
			return user.Update(t.Context(), web)
		}))
	}
	change(func() { web.Spec.Template = template("web:2") })
	gone := configMap("deleted")
	gone.Namespace = namespace
	require.NoError(t, user.Delete(t.Context(), gone))
	require.Eventually(t, isThere("web:2", 3), patience, pause, "a rollout during the fault")
	require.Eventually(t, func() bool { return !seen.has("deleted") }, patience, pause)
	change(func() { web.Spec.Replicas = new(int32(4)) })
	require.Eventually(t, isThere("web:2", 4), patience, pause, "a change after the fault")
	require.Positive(t, hits())
	require.True(t, seen.has("kept"))
	require.Empty(t, seen.wrong, "handlers heard of deletions that there weren't")
}

// seen is what a handler has heard of ConfigMaps.
type seen struct {
	user  client.Client
	mu    sync.Mutex // guards the rest
	names map[string]bool
	wrong []string
}

func (s *seen) has(names ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if !s.names[name] {
			return false
		}
	}
	return true
}

func (s *seen) handler() toolscache.ResourceEventHandlerFuncs {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.names[o.(client.Object).GetName()] = true
		},
		DeleteFunc: func(o any) {
			if unknown, ok := o.(informer.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			gone := o.(client.Object)
			now := configMap(gone.GetName())
			key := client.ObjectKeyFromObject(gone)
			err := s.user.Get(context.Background(), key, now)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.names, gone.GetName())
			if err == nil && now.UID == gone.GetUID() && now.DeletionTimestamp == nil {
				s.wrong = append(s.wrong, gone.GetName())
			}
		},
	}
}
