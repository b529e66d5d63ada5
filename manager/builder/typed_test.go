package builder_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

// shard is a request of a program's own.
type shard struct {
	kind string
	name string
}

type shardQueue = workqueue.TypedRateLimitingInterface[shard]

// A program whose requests are no names of objects gets the same controller: each source has its own
// object type, equal requests are one, and a failed one is retried.
func TestAControllerForRequestsOfOnesOwn(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		noted := func(r shard) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked = append(w.asked, r.kind+" "+r.name)
		}
		bells := make(chan event.TypedGenericEvent[string], 3)
		failed := false
		c, err := builder.TypedControllerManagedBy[shard](w).Named("shards").
			Watches(&corev1.ConfigMap{}, handler.TypedEnqueueRequestsFromMapFunc(
				func(_ context.Context, o client.Object) []shard {
					return []shard{{"mapped", o.GetName()}, {"mapped", o.GetName()}}
				})).
			WithOptions(controller.TypedOptions[shard]{MaxConcurrentReconciles: 1}).
			WatchesRawSource(source.TypedKind(w.GetCache(), &corev1.Secret{},
				handler.TypedFuncs[*corev1.Secret, shard]{
					CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Secret], q shardQueue) {
						q.Add(shard{"typed", string(e.Object.Data["to"])})
					},
				}, predicate.NewTypedPredicateFuncs(func(s *corev1.Secret) bool { return s.Data != nil }))).
			WatchesRawSource(source.TypedChannel(bells, handler.TypedFuncs[string, shard]{
				GenericFunc: func(_ context.Context, e event.TypedGenericEvent[string], q shardQueue) {
					q.Add(shard{"bell", e.Object})
				},
			}, source.WithPredicates[string, shard](predicate.Not(predicate.NewTypedPredicateFuncs(
				func(bell string) bool { return bell == "broken" }))))).
			Build(reconcile.TypedFunc[shard](func(ctx context.Context, r shard) (reconcile.Result, error) {
				noted(r)
				if r.name == "fails" && !failed {
					failed = true
					return reconcile.Result{}, errors.New("once")
				}
				return reconcile.Result{}, nil
			}))
		require.NoError(t, err)
		w.run(func() {
			w.create(configMap("a"), &corev1.Secret{ObjectMeta: configMap("s").ObjectMeta, Data: map[string][]byte{"to": []byte("b")}},
				secretOf("empty"))
			bells <- event.TypedGenericEvent[string]{Object: "broken"}
			bells <- event.TypedGenericEvent[string]{Object: "rings"}
			require.Equal(t, []string{"bell rings", "mapped a", "typed b"}, w.taken())
			bells <- event.TypedGenericEvent[string]{Object: "fails"}
			synctest.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			w.mu.Lock()
			require.Equal(t, []string{"bell fails", "bell fails"}, w.asked)
			w.asked = nil
			w.mu.Unlock()
			_, err := c.Reconcile(t.Context(), shard{"by hand", "c"})
			require.NoError(t, err)
			require.Equal(t, []string{"by hand c"}, w.taken())
		})
	})
}

// Only a request that is the name of an object can come from For and Owns.
func TestForAndOwnsOfOtherRequestsAreErrorsThatSayWhatToDo(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		r := reconcile.TypedFunc[shard](func(context.Context, shard) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		})
		err := builder.TypedControllerManagedBy[shard](w).For(&corev1.ConfigMap{}).Complete(r)
		require.ErrorContains(t, err, "For makes a reconcile.Request, and the requests of this controller "+
			"are of type builder_test.shard: use Watches")
	})
}

// The log of a failure has to say which request it was, whatever that is.
func TestTheLogNamesARequestOfOnesOwn(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		var lines []string
		logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		options := controller.TypedOptions[shard]{
			Logger: logger, MaxRetries: 1, SkipNameValidation: new(true),
			Reconciler: reconcile.TypedFunc[shard](func(ctx context.Context, _ shard) (reconcile.Result, error) {
				logr.FromContextOrDiscard(ctx).Info("here")
				return reconcile.Result{}, reconcile.TerminalError(errors.New("no"))
			}),
		}
		c, err := controller.NewTypedUnmanaged("shards", options)
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.TypedFunc[shard](func(_ context.Context, q shardQueue) error {
			q.Add(shard{"a", "b"})
			return nil
		})))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		stop()
		require.NoError(t, <-ended)
		require.Contains(t, strings.Join(lines, "\n"), `"msg"="here" "controller"="shards" "namespace"="" "name"="{a b}"`)
	})
}
