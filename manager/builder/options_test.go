package builder_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/trace"
)

// logging is a world whose manager has a log and a flight recorder.
func logging(
	t *testing.T, test func(t *testing.T, w *world, lines func() string, recorder *trace.Recorder),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: fakeapi.New(fakeapi.Options{})}
		defer w.server.Close()
		var mu sync.Mutex // guards said
		var said []string
		recorder := trace.New(0)
		var err error
		w.Manager, err = manager.New(w.server.Config(), manager.Options{
			Metrics: server.Options{BindAddress: "0"}, Recorder: recorder,
			Logger: funcr.New(func(_, line string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, line)
			}, funcr.Options{}),
		})
		require.NoError(t, err)
		test(t, w, func() string {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(said)
		}, recorder)
	})
}

// says is a reconciler that writes a line for each request.
func says(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	logr.FromContextOrDiscard(ctx).Info("here")
	return reconcile.Result{}, nil
}

// Its requests may be of several kinds, so a line must not name one.
func TestTheLogOfAControllerWithoutForNamesTheControllerAndTheObject(t *testing.T) {
	logging(t, func(t *testing.T, w *world, lines func() string, _ *trace.Recorder) {
		require.NoError(t, builder.ControllerManagedBy(w).Named("several").
			Watches(&corev1.ConfigMap{},
				&handler.EnqueueRequestForObject{}).Complete(reconcile.Func(says)))
		w.run(func() {
			w.create(configMap("web"))
			synctest.Wait()
		})
		require.Contains(t, lines(),
			`"msg"="here" "controller"="several" "namespace"="default" "name"="web" "reconcileID"=`)
		require.NotContains(t, lines(), "controllerKind")
	})
}

func TestAProgramMayMakeTheLoggersItself(t *testing.T) {
	logging(t, func(t *testing.T, w *world, lines func() string, _ *trace.Recorder) {
		require.NoError(t, builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).Named(t.Name()).
			WithLogConstructor(func(*reconcile.Request) logr.Logger {
				return w.GetLogger().WithName("own").WithValues("mine", true)
			}).
			Complete(reconcile.Func(says)))
		w.run(func() {
			w.create(configMap("web"))
			synctest.Wait()
		})
		require.Contains(t, lines(), `"msg"="here" "mine"=true "reconcileID"=`)
	})
}

// The flight recorder is asked by kind: why was this ConfigMap reconciled?
func TestTheFlightRecorderKnowsTheKindUnlessTheOptionsNameAnother(t *testing.T) {
	for _, own := range []string{"", "Shop"} {
		logging(t, func(t *testing.T, w *world, _ func() string, recorder *trace.Recorder) {
			require.NoError(t,
				builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).Named("kinds").
					WithOptions(controller.Options{Kind: own}).Complete(w.asks()))
			w.run(func() {
				w.create(configMap("a"))
				require.Equal(t, []string{"a"}, w.taken())
			})
			kinds := map[string]bool{}
			for _, e := range recorder.Events() {
				if e.Kind == trace.ReconcileStart {
					kinds[e.Object] = true
				}
			}
			want := "ConfigMap"
			if own != "" {
				want = own
			}
			require.Equal(t, map[string]bool{want: true}, kinds)
		})
	}
}

// A program may use one slice of options for several kinds.
func TestTheOptionsOfAWatchBelongToTheProgram(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		opts := make([]builder.WatchesOption, 1, 2)
		opts[0] = builder.WithPredicates(named("a"))
		require.NoError(t, builder.ControllerManagedBy(w).Named("slices").
			WatchesMetadata(&corev1.ConfigMap{}, &handler.EnqueueRequestForObject{},
				opts...).Complete(w.asks()))
		require.Nil(t, opts[:2][1])
		w.run(func() {
			w.create(configMap("a"), configMap("b"))
			require.Equal(t, []string{"a"}, w.taken())
		})
	})
}

func TestARawSourceAloneIsEnough(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		events := make(chan event.GenericEvent, 1)
		require.NoError(t, builder.ControllerManagedBy(w).Named("raw").
			WatchesRawSource(source.Channel(events,
				&handler.EnqueueRequestForObject{})).Complete(w.asks()))
		w.run(func() {
			events <- event.GenericEvent{Object: configMap("raw")}
			require.Equal(t, []string{"raw"}, w.taken())
		})
	})
}
