package manager

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// One word is enough to be safe, and what the user says counts more.
func TestAStrictManagerServesItsMetricsToThisMachineUnlessTheUserSaysWhere(t *testing.T) {
	address := func(o Options) string {
		require.NoError(t, o.complete())
		return o.Metrics.BindAddress
	}
	require.Empty(t, address(Options{}), "server.DefaultBindAddress, as in controller-runtime")
	require.Equal(t, "127.0.0.1:8080", address(Options{Strict: true}))
	require.Equal(t, ":8443", address(Options{Strict: true,
		Metrics: server.Options{BindAddress: ":8443"}}))
	defer func(before string) { server.DefaultBindAddress = before }(server.DefaultBindAddress)
	server.DefaultBindAddress = "0" // as many test suites set it
	require.Empty(t, address(Options{Strict: true}))
}

// Controllers learn it from the settings that they are given anyway.
func TestTheControllersOfAStrictManagerAreStrict(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		require.False(t, w.manager(Options{}).GetControllerOptions().Strict)
		require.True(t, w.manager(Options{Strict: true}).GetControllerOptions().Strict)
	})
}

func TestAManagerHandsOutWhatItWasGiven(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{
			Controller: config.Controller{MaxConcurrentReconciles: 7},
		})
		m.GetLogger().Info("here")
		require.Contains(t, w.logged.told(), `"level"=0 "msg"="here"`)
		require.Equal(t, 7, m.GetControllerOptions().MaxConcurrentReconciles)
		require.NotNil(t, m.GetConverterRegistry())
		require.Same(t, m.GetConverterRegistry(), m.GetConverterRegistry(),
			"a converter that was registered must be found")
	})
}

// A program whose metrics are switched off must not need other code.
func TestAHandlerNextToMetricsThatAreSwitchedOffIsNoError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		require.NoError(t, w.manager(Options{}).AddMetricsServerExtraHandler("/extra",
			http.NotFoundHandler()))
		require.Contains(t, w.log(), `"path"="/extra"`)
	})
}

// Who scrapes a path that was never registered gets a 404, and nobody knows why.
func TestAHandlerNextToTheMetricsThatCannotBeServedIsAnError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m, err := New(w.server.Config(),
			Options{Logger: logr.Discard(), Metrics: server.Options{BindAddress: ":0"}})
		require.NoError(t, err)
		require.NoError(t, m.AddMetricsServerExtraHandler("/extra", http.NotFoundHandler()))
		require.ErrorContains(t, m.AddMetricsServerExtraHandler("/extra", http.NotFoundHandler()),
			`there is one for "/extra" already`)
	})
}

func TestAMetricsServerThatCannotWorkIsRefusedByNew(t *testing.T) {
	extra := map[string]http.Handler{"/metrics": http.NotFoundHandler()}
	_, err := New(&rest.Config{}, Options{Metrics: server.Options{BindAddress: ":0",
		ExtraHandlers: extra}})
	require.ErrorContains(t, err, "making the metrics server: ")
	require.ErrorContains(t, err, "/metrics is taken by the metrics")
}

// A server that is started a second time finds its port taken.
func TestAWebhookServerIsStartedOnceHoweverManyAskForIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		runs := 0
		m := w.manager(Options{WebhookServer: &lastRequest{refusingServer{http.NewServeMux()},
			func() {
				runs++
			}}})
		require.Same(t, m.GetWebhookServer(), m.GetWebhookServer())
		r := w.start(m)
		require.Same(t, m.GetWebhookServer(), m.GetWebhookServer())
		require.NoError(t, r.end())
		require.Equal(t, 1, runs)
		require.NotContains(t, w.log(), "The webhook server will not run")
	})
}

func TestAWebhookServerThatIsAskedForTooLateIsLogged(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hooks := &refusingServer{mux: http.NewServeMux()}
		m := w.manager(Options{WebhookServer: hooks})
		require.NoError(t, w.start(m).end())
		require.Same(t, hooks, m.GetWebhookServer())
		require.Contains(t, w.log(), "The webhook server will not run")
		require.False(t, hooks.NeedLeaderElection())
		require.ErrorIs(t, hooks.StartedChecker()(nil), errRefused)
	})
}

func TestOptionsAreCompletedAndNotReplaced(t *testing.T) {
	of := func(l logr.Logger) logr.LogSink { return l.GetSink() }
	general, own := funcr.New(func(string, string) {},
		funcr.Options{}), funcr.New(func(string, string) {}, funcr.Options{})
	all, one := trace.New(1), trace.New(1)

	o := Options{Logger: general, Recorder: all}
	require.NoError(t, o.complete())
	require.Equal(t, of(general), of(o.Controller.Logger))
	require.Same(t, all, o.Controller.Recorder)
	require.Same(t, all, o.Cache.Recorder)
	require.NotNil(t, o.BaseContext())
	require.NotNil(t, o.WebhookServer)

	o = Options{
		Logger: general, Recorder: all, Controller: config.Controller{Logger: own,
			Recorder: one}, Cache: cache.Options{Recorder: one},
		GracefulShutdownTimeout: new(time.Hour), ReadinessEndpointName: "/ready", LivenessEndpointName: "/alive",
		BaseContext: func() context.Context {
			return context.WithValue(context.Background(), key{}, "mine")
		},
	}
	require.NoError(t, o.complete())
	require.Same(t, of(own), of(o.Controller.Logger))
	require.Same(t, of(general), of(o.Logger))
	require.Same(t, one, o.Controller.Recorder)
	require.Same(t, one, o.Cache.Recorder)
	require.Equal(t, time.Hour, *o.GracefulShutdownTimeout)
	require.Equal(t, []string{"/ready", "/alive"},
		[]string{o.ReadinessEndpointName, o.LivenessEndpointName})
	require.Equal(t, "mine", o.BaseContext().Value(key{}))

	o = Options{}
	require.NoError(t, o.complete())
	require.NotNil(t, o.Logger.GetSink(), "a logger that is missing is the program's")
	require.Same(t, of(o.Logger), of(o.Controller.Logger),
		"the controllers, too, write to the program's log")
}

// What the cache lists and watches is the beginning of every story that the recorder tells.
func TestTheFlightRecorderOfTheOptionsIsThatOfTheCache(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		recorder := trace.New(100)
		m := w.manager(Options{Recorder: recorder})
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		w.configMap("one")
		require.NoError(t, w.start(m).end())
		var names []string
		for _, e := range recorder.Events() {
			names = append(names, e.Name)
		}
		require.Contains(t, names, "one")
	})
}

// A lock of the user's own needs neither a namespace nor a name in the options.
func TestAManagerLeadsWithALockOfTheUsersOwn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{LeaderElection: true,
			LeaderElectionResourceLockInterface: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: "default",
					Name: "mine"}, Client: w.live.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
			}})
		require.Equal(t, "leader election default/mine", m.election.String())
		r := w.start(m)
		lead(t, r)
		lease, err := w.live.CoordinationV1().Leases("default").Get(t.Context(), "mine",
			metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "me", *lease.Spec.HolderIdentity)
		require.NoError(t, r.end())
	})
}

// A program has two configurations then, and must hear which of them is wrong.
func TestAConfigurationOfTheElectionThatCannotWorkIsRefused(t *testing.T) {
	for _, c := range []struct {
		config *rest.Config
		want   []string
	}{
		{&rest.Config{Host: "https://127.0.0.1:6443",
			TLSClientConfig: rest.TLSClientConfig{CAFile: "missing.crt"}},
			[]string{"making the HTTP client of the leader election: ", "missing.crt"}},
		{&rest.Config{Host: "://"},
			[]string{"making the event writer of the leader election: make an event writer: ",
				"host must be"}},
	} {
		options := ofElection()
		options.LeaderElectionConfig = c.config
		_, err := New(&rest.Config{}, options)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
	}
}

// Runnables log where the program does.
func TestRunnablesFindALoggerInTheirContexts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var own story
		mine := funcr.New(func(_, line string) { own.say("%s", line) }, funcr.Options{})
		for _, base := range []BaseContextFunc{nil, func() context.Context {
			return logr.NewContext(context.Background(), mine)
		}} {
			m := w.manager(Options{BaseContext: base})
			require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
				logr.FromContextOrDiscard(ctx).Info("runs")
				return nil
			})))
			require.NoError(t, w.start(m).end())
		}
		runs := `"level"=0 "msg"="runs"`
		require.Equal(t, []string{runs}, own.told())
		require.Equal(t, 1, strings.Count(w.log(), runs))
	})
}

// Somebody who has only the log of a Pod that went away wants to know why.
func TestTheLogSaysWhyAManagerStopsAndThatItHasStopped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.start(w.manager(Options{}))
		r.stop(errors.New("enough"))
		require.NoError(t, <-r.ended)
		told := w.logged.told()
		require.Equal(t, []string{
			`"level"=0 "msg"="Stopping" "gracefulShutdownTimeout"="30s" "reason"="enough"`, `"level"=0 "msg"="Stopped"`,
		}, told[len(told)-2:])

		m := w.manager(Options{})
		require.NoError(t, m.Add(RunnableFunc(func(context.Context) error {
			return errors.New("broken")
		})))
		require.Error(t, <-w.start(m).ended)
		require.Contains(t, w.log(), `"reason"="manager.RunnableFunc: broken"`)
	})
}

func TestAManagerTakesNoRunnableThatIsNil(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.ErrorContains(t, m.Add(nil), "a runnable that is nil")
		require.NoError(t, w.start(m).end())
	})
}

func TestServersWithoutAnAddressAreNotThere(t *testing.T) {
	for name, address := range inorder.Map(map[string]string{"none": "", "zero": "0"}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := w.manager(Options{HealthProbeBindAddress: address, PprofBindAddress: address})
				r := w.start(m)
				require.Empty(t, m.groups.members(httpServers))
				require.NoError(t, r.end())
			})
		})
	}
}

func TestEveryProfileIsServed(t *testing.T) {
	mux := profiles(xray.New(nil)).(*http.ServeMux)
	for _, name := range []string{"", "cmdline", "profile", "symbol", "trace"} {
		path := "/debug/pprof/" + name
		_, pattern := mux.Handler(httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, path, pattern)
	}
}

// readyLater is a cluster that knows itself when it is ready.
type readyLater struct {
	cluster.Cluster
	after time.Duration
}

func (r *readyLater) WaitUntilReady(context.Context) error { time.Sleep(r.after); return nil }

func TestAClusterMaySayItselfWhenItIsReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		other, err := cluster.New(w.server.Config())
		require.NoError(t, err)
		m := w.manager(Options{})
		require.NoError(t, m.Add(&readyLater{other, time.Minute}))
		r := w.start(m)
		require.False(t, r.isElected())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, r.isElected())
		require.NoError(t, r.end())
	})
}

// hidden are the paths of unexported fields in a struct and the structs in it. What a nil pointer
// would lead to is not there.
func hidden(t reflect.Type, path string) (paths []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			return []string{path}
		}
		below := field.Name
		if path != "" {
			below = path + "." + field.Name
		}
		paths = append(paths, hidden(field.Type, below)...)
	}
	return paths
}

// Programs test how they read their configuration by comparing Options with go-cmp, which panics at
// an unexported field. They tell it to ignore those of controller-runtime's Options, and know of no
// others.
func TestOptionsCanBeComparedByWhoeverComparesThoseOfControllerRuntime(t *testing.T) {
	require.Equal(t, []string{"Client.Log", "Logger", "Metrics.ListenConfig", "Controller.Logger"},
		hidden(reflect.TypeFor[Options](), ""))
}

func TestAManagerHasAWebhookServerOfItsOwn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		require.IsType(t, &webhook.DefaultServer{}, w.manager(Options{}).GetWebhookServer())
	})
}

// People search the log that they have set up, in the place to which it goes and in its format.
// What one package wrote elsewhere, they would not find.
func TestAllThatGoesWrongIsInTheLogOfTheProgram(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lines := logtest.Read(t)
		var elsewhere bytes.Buffer
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(slog.NewTextHandler(&elsewhere, nil)))

		options := Options{Cache: cache.Options{DefaultTransform: func(any) (any, error) {
			return nil, errors.New("a broken transform")
		}}}
		options.Metrics.BindAddress = "0"
		m, err := New(w.server.Config(), options)
		require.NoError(t, err)
		broken := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result,
			error) {
			return reconcile.Result{}, reconcile.TerminalError(errors.New("a broken reconciler"))
		})
		c, err := controller.New("broken", m,
			controller.Options{Reconciler: broken, SkipNameValidation: new(true)})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
			&handler.EnqueueRequestForObject{})))
		w.configMap("one")
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "secrets"},
			Status: fakeapi.Forbidden()})
		r := w.start(m.(*controllerManager))

		predicate.GenerationChangedPredicate{}.Update(event.UpdateEvent{})
		(&handler.EnqueueRequestForObject{}).Create(t.Context(), event.CreateEvent{}, nil)
		outside, err := client.New(w.server.Config(), client.Options{})
		require.NoError(t, err)
		//lint:ignore SA1019 it is deprecated, and so the server warns
		deprecated := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}
		require.NoError(t, outside.Create(t.Context(), deprecated))
		_, err = m.GetCache().GetInformer(t.Context(), &corev1.Secret{},
			cache.BlockUntilSynced(false))
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, told := range []string{
			"a broken transform", "a broken reconciler", "Endpoints is deprecated", "An informer cannot read",
			"An update event without the old object is dropped", "An event without an object is " +
				"dropped",
		} {
			require.Contains(t, lines.String(), told)
		}
		require.Empty(t, elsewhere.String())
		require.NoError(t, r.end())
	})
}
