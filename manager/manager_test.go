package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/manager/webhook"
)

func TestAControllerReconcilesAfterItWasAddedBeforeOrDuringTheRun(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.configMap("one")
				m := w.manager(Options{})
				var seen []string
				add := func() {
					c, err := controller.New("config maps", m,
						controller.Options{Reconciler: reconcile.Func(func(
							ctx context.Context, r reconcile.Request,
						) (reconcile.Result, error) {
							var object corev1.ConfigMap
							err := m.GetClient().Get(ctx, r.NamespacedName, &object)
							seen = append(seen, object.Name)
							return reconcile.Result{}, err
						})})
					require.NoError(t, err)
					require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
						&handler.EnqueueRequestForObject{})))
				}
				if !late {
					add()
				}
				r := w.start(m)
				if late {
					add()
				}
				synctest.Wait()
				w.configMap("two")
				synctest.Wait()
				require.NoError(t, r.end())
				require.Contains(t, seen, "one")
				require.Contains(t, seen, "two")
			})
		})
	}
}

func TestTheFirstFailureStopsTheManagerAndIsReturned(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		var story story
		broken, later := errors.New("broken"), errors.New("broken later")
		require.NoError(t, m.Add(&part{name: "first", story: &story, failure: broken,
			failsAfter: time.Second}))
		require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return later
		})))
		require.NoError(t, m.Add(&part{name: "innocent", story: &story, slowToEnd: time.Second}))
		err := <-w.start(m).ended
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "first: broken", "the error names who has failed")
		require.NotErrorIs(t, err, later)
		require.Contains(t, story.told(), "innocent ends")
		require.Contains(t, fmt.Sprint(w.logged.told()), "broken later",
			"other failures are at least in the log")
		require.Equal(t, 1, strings.Count(w.log(),
			"A runnable failed while the manager was stopping"),
			"the first one did not fail then, and is returned")
	})
}

func TestAManagerThatIsToldToStopReturnsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("told to stop")
		})))
		require.NoError(t, w.start(m).end())
	})
}

func TestAManagerThatIsToldToStopWhileItStartsStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, Hang: true})
		m := w.manager(Options{})
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		var story story
		require.NoError(t, m.Add(&part{name: "controller", story: &story}))
		r := w.start(m)
		require.False(t, r.isElected())
		require.NoError(t, r.end())
		require.Empty(t, story.told(), "the caches have not listed, so nothing may begin to work")
	})
}

func TestAManagerRunsOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		r := w.start(m)
		require.ErrorContains(t, m.Start(t.Context()), "started before")
		require.ErrorContains(t, m.AddHealthzCheck("late", healthz.Ping), "add it before Start")
		require.ErrorContains(t, m.AddReadyzCheck("late", healthz.Ping), "add it before Start")
		require.ErrorContains(t, m.AddMetricsServerExtraHandler("/late", http.NotFoundHandler()),
			"add it before Start")
		require.NoError(t, r.end())
		require.ErrorIs(t, m.Add(RunnableFunc(nil)), ErrStopped)
	})
}

func TestTheGracefulShutdownTimeoutBoundsTheStop(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout *time.Duration
		takes   time.Duration
		fails   bool
	}{
		{"by default 30 s", nil, 30 * time.Second, true},
		{"0 does not wait", new(time.Duration(0)), 0, false},
		{"10 s", new(10 * time.Second), 10 * time.Second, true},
		{"less than 0 waits as long as it takes", new(time.Duration(-1)), time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := w.manager(Options{GracefulShutdownTimeout: c.timeout})
				var story story
				require.NoError(t, m.Add(&part{name: "slow", story: &story, slowToEnd: time.Hour}))
				r := w.start(m)
				began := time.Now()
				err := r.end()
				require.Equal(t, c.takes, time.Since(began))
				if c.fails {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "still running: slow (leader-elected)")
				} else {
					require.NoError(t, err)
				}
				time.Sleep(2 * time.Hour)
				require.Contains(t, story.told(), "slow is told")
			})
		})
	}
}

// A controller's reconcile may take longer than the stop of all else.
func TestAReconcileThatIsUnderWayCanReadFromTheCacheAndWriteWhileTheManagerStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.configMap("one")
		m := w.manager(Options{Strict: true})
		var outcome error
		c, err := controller.New("slow", m,
			controller.Options{Reconciler: reconcile.Func(func(
				ctx context.Context, r reconcile.Request,
			) (reconcile.Result, error) {
				time.Sleep(5 * time.Second)
				var object corev1.ConfigMap
				outcome = m.GetClient().Get(ctx, r.NamespacedName, &object)
				object.Data = map[string]string{"written": "yes"}
				outcome = errors.Join(outcome, m.GetClient().Update(ctx, &object))
				return reconcile.Result{}, nil
			})})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
			&handler.EnqueueRequestForObject{})))
		outcome = errors.New("it was not called")
		r := w.start(m)
		require.NoError(t, r.end())
		require.NoError(t, outcome)
	})
}

func TestAManagerUnderLoadFinishesWhatIsUnderWayAndStopsWithinItsGracePeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{Strict: true})
		var begun, finished, cut atomic.Int32
		c, err := controller.New(t.Name(), m,
			controller.Options{MaxConcurrentReconciles: 8,
				Reconciler: reconcile.Func(func(
					ctx context.Context, _ reconcile.Request,
				) (reconcile.Result, error) {
					begun.Add(1)
					select {
					case <-time.After(4 * time.Second):
						finished.Add(1)
					case <-ctx.Done():
						cut.Add(1)
					}
					return reconcile.Result{Requeue: true}, nil
				})})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
			&handler.EnqueueRequestForObject{})))
		for number := range 200 {
			w.configMap(fmt.Sprint("load-", number))
		}
		r := w.start(m)
		time.Sleep(10 * time.Second)
		began := time.Now()
		require.NoError(t, r.end())
		require.LessOrEqual(t, time.Since(began), 4*time.Second)
		require.Zero(t, cut.Load())
		require.Equal(t, begun.Load(), finished.Load())
		require.GreaterOrEqual(t, finished.Load(), int32(24))
	})
}

func TestAManagerWithoutLeaderElectionLeadsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.False(t, (&running{controllerManager: m}).isElected())
		r := w.start(m)
		require.True(t, r.isElected())
		require.NoError(t, r.end())
	})
}

// The error must help somebody who has only the log of a Pod that does not start.
func TestAStrictManagerWhoseCacheMayNotListFailsAndNamesTheRuleThatIsMissing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"},
			Status: fakeapi.Forbidden()})
		m := w.manager(Options{Strict: true})
		require.NoError(t, m.AddReadyzCheck("caches", CacheSyncCheck(m.GetCache())))
		require.NoError(t, m.AddHealthzCheck("ping", healthz.Ping))
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		r := w.start(m)
		ready := ask(m, "/readyz/caches")
		require.Equal(t, http.StatusInternalServerError, ready.Code)
		require.Contains(t, ready.Body.String(), "configmaps")
		require.Contains(t, ready.Body.String(), `verbs: ["list"`, "the probe names the rule")
		require.Equal(t, http.StatusOK, ask(m, "/healthz").Code, "a restart would not help")
		began := time.Now()
		err = <-r.ended
		require.Equal(t, 2*time.Minute, time.Since(began))
		require.ErrorContains(t, err, "the cache of "+w.server.Config().Host+" is not ready: ",
			"a program may have more than one cluster")
		require.ErrorContains(t, err, `verbs: ["list"`)
		require.ErrorContains(t, err, "this has taken longer than 2m0s")
		require.Contains(t, strings.Join(w.logged.told(), "\n"),
			`"msg"="An informer cannot read, and tries again"`,
			"the cache writes to the manager's log")
	})
}

// As in controller-runtime. Whoever installs the program may grant the right later.
func TestAManagerWaitsForItsCachesAsLongAsItTakes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"},
			Status: fakeapi.Forbidden()})
		// which is for controllers
		m := w.manager(Options{Controller: config.Controller{CacheSyncTimeout: time.Second}})
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		r := w.start(m)
		time.Sleep(time.Hour)
		require.Empty(t, r.ended)
		require.False(t, r.isElected())
		require.Contains(t, w.log(), `verbs: [\"list\"`, "the log names the rule meanwhile")
		remove()
		time.Sleep(time.Hour)
		require.True(t, r.isElected())
		require.NoError(t, r.end())
	})
}

func ask(m *controllerManager, path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	probes(&m.options, m.healthz, m.readyz).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func TestAManagerWithTheCheckIsReadyWhenItsCacheHasListed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "secrets"},
			Status: fakeapi.Unavailable()})
		m := w.manager(Options{})
		require.NoError(t, m.AddReadyzCheck("caches", CacheSyncCheck(m.GetCache())))
		require.Equal(t, http.StatusInternalServerError, ask(m, "/readyz").Code,
			"it does not even run")
		r := w.start(m)
		require.Equal(t, http.StatusOK, ask(m, "/readyz").Code, "nobody has asked for an informer")
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.Secret{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, http.StatusInternalServerError, ask(m, "/readyz").Code)
		require.Contains(t, ask(m, "/readyz/caches").Body.String(), "secrets")
		remove()
		time.Sleep(5 * time.Minute)
		require.Equal(t, http.StatusOK, ask(m, "/readyz").Code)
		require.NoError(t, r.end())
	})
}

func TestTheCacheOfAnotherClusterListsBeforeTheWorkBeginsAndIsStoppedAfterItsReaders(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		there := fakeapi.New(fakeapi.Options{})
		defer there.Close()
		there.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "secrets"},
			Status: fakeapi.Unavailable(), Times: 1})
		second, err := cluster.New(there.Config())
		require.NoError(t, err)
		_, err = second.GetCache().GetInformer(t.Context(), &corev1.Secret{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		m := w.manager(Options{})
		require.NoError(t, m.Add(second))
		require.NoError(t, m.AddReadyzCheck("there", CacheSyncCheck(second.GetCache())))
		var answer error
		require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			answer = second.GetClient().List(context.WithoutCancel(ctx), &corev1.SecretList{})
			return nil
		})))
		r := w.start(m)
		require.False(t, r.isElected(), "the cache there has not listed")
		require.Contains(t, ask(m, "/readyz/there").Body.String(), "secrets")
		time.Sleep(time.Minute)
		require.True(t, r.isElected())
		answer = errors.New("not asked")
		require.NoError(t, r.end())
		require.NoError(t, answer)
	})
}

// A cache of somebody's own cannot say why it is not ready, but whether it is.
func TestAForeignCacheIsAskedWhetherItHasSynced(t *testing.T) {
	synced := &foreignCache{}
	check := CacheSyncCheck(synced)
	require.ErrorContains(t, check(nil), "foreignCache")
	synced.synced = true
	require.NoError(t, check(nil))
}

type foreignCache struct {
	cache.Cache
	synced bool
}

func (c *foreignCache) WaitForCacheSync(context.Context) bool { return c.synced }

// A program that was ported answers its probes as before.
func TestAProbeHasTheUsersChecksAndIsNotThereWithoutAny(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		none := w.manager(Options{})
		require.Equal(t, http.StatusNotFound, ask(none, "/readyz").Code)
		require.Equal(t, http.StatusNotFound, ask(none, "/healthz").Code)
		// which is the same as without the slash
		m := w.manager(Options{LivenessEndpointName: "/alive/"})
		require.NoError(t, m.AddReadyzCheck("ping", healthz.Ping))
		require.NoError(t, m.AddHealthzCheck("engine", func(*http.Request) error {
			return errors.New("it smokes")
		}))
		require.ErrorContains(t, m.AddHealthzCheck("none", nil), "is nil")
		for _, name := range []string{"", "/", "."} {
			require.EqualError(t, m.AddReadyzCheck(name, healthz.Ping), fmt.Sprintf("the readiness "+
				"check %q has no path of its own: name it after what it checks, such as disk", name))
		}
		require.Equal(t, http.StatusOK, ask(m, "/readyz").Code)
		require.Equal(t, http.StatusInternalServerError, ask(m, "/alive").Code)
		require.Contains(t, ask(m, "/alive/engine").Body.String(), "it smokes")
		require.Equal(t, http.StatusNotFound, ask(m, "/healthz").Code)
	})
}

func TestOptionsThatCannotBeRightAreRefused(t *testing.T) {
	_, err := New(&rest.Config{}, Options{ReadinessEndpointName: "readyz"})
	require.ErrorContains(t, err, `ReadinessEndpointName is "readyz"`)
	for _, path := range []string{"/", "//", "/{x}", "/a b"} {
		_, err = New(&rest.Config{}, Options{LivenessEndpointName: path})
		require.ErrorContains(t, err, fmt.Sprintf("LivenessEndpointName is %q", path))
	}
	_, err = New(&rest.Config{}, Options{ReadinessEndpointName: "/x", LivenessEndpointName: "/x"})
	require.ErrorContains(t, err, "/x cannot be both the ReadinessEndpointName")
	_, err = New(nil, Options{})
	require.ErrorContains(t, err, "needs a configuration")
	broken := errors.New("broken")
	_, err = New(&rest.Config{}, Options{NewCache: func(*rest.Config, cache.Options) (cache.Cache,
		error) {
		return nil, broken
	}})
	require.ErrorIs(t, err, broken)
	_, err = New(&rest.Config{}, Options{NewClient: func(
		*rest.Config, client.Options,
	) (client.Client, error) {
		return nil, broken
	}})
	require.ErrorIs(t, err, broken)
}

func TestWebhooksWithoutAServerForThemAreAnErrorAtTheStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{WebhookServer: &refusingServer{mux: http.NewServeMux()}})
		server := m.GetWebhookServer()
		server.Register("/hook", http.NotFoundHandler())
		_, pattern := server.WebhookMux().Handler(httptest.NewRequest(http.MethodPost, "/hook",
			nil))
		require.Equal(t, "/hook", pattern, "a test of the webhook may ask it without a server")
		require.Same(t, server, m.GetWebhookServer())
		require.ErrorIs(t, <-w.start(m).ended, errRefused)
	})
}

// Without a conversion webhook, the list of a cache never ends.
func TestAWebhookServerIsReadyBeforeTheCachesBegin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		server := &slowWebhooks{refusingServer: refusingServer{mux: http.NewServeMux()}, world: w}
		m := w.manager(Options{WebhookServer: server})
		require.Same(t, server, m.GetWebhookServer().(*slowWebhooks))
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		r := w.start(m)
		time.Sleep(time.Minute)
		require.True(t, r.isElected())
		require.Empty(t, server.askedBefore,
			"the cache has listed before the webhook server was ready")
		require.NotEmpty(t, w.requestsOf("configmaps"))
		require.NoError(t, r.end())
	})
}

type slowWebhooks struct {
	refusingServer
	world       *world
	askedBefore []string
}

var _ webhook.Server = (*slowWebhooks)(nil)

func (*slowWebhooks) Start(ctx context.Context) error { <-ctx.Done(); return nil }

func (s *slowWebhooks) WaitUntilReady(context.Context) error {
	time.Sleep(time.Second)
	s.askedBefore = s.world.requestsOf("configmaps")
	return nil
}

// StartedChecker says that it serves; there is no port in a test.
func (*slowWebhooks) StartedChecker() healthz.Checker { return healthz.Ping }
