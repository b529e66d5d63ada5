package builder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

// world is an API server in memory, a manager of it, and what its controllers were asked for.
type world struct {
	t      *testing.T
	server *fakeapi.Server
	manager.Manager

	mu    sync.Mutex // guards asked
	asked []string
}

func inWorld(t *testing.T, settings config.Controller, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: fakeapi.New(fakeapi.Options{})}
		defer w.server.Close()
		var err error
		w.Manager, err = manager.New(w.server.Config(), manager.Options{
			Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Controller: settings,
		})
		require.NoError(t, err)
		test(t, w)
	})
}

// asks is a reconciler that writes down its requests.
func (w *world) asks() reconcile.Reconciler {
	return reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, r.Name)
		return reconcile.Result{}, nil
	})
}

// taken are the requests since the last call, sorted, each once.
func (w *world) taken() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.asked
	w.asked = nil
	slices.Sort(taken)
	return slices.Compact(taken)
}

// run runs the manager while the test does something.
func (w *world) run(test func()) {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	synctest.Wait()
	test()
	stop()
	require.NoError(w.t, <-ended)
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		object.SetNamespace("default")
		require.NoError(w.t, w.GetClient().Create(w.t.Context(), object))
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// secretOf has owners that are ConfigMaps; the first is the controller.
func secretOf(name string, owners ...string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for number, owner := range owners {
		secret.OwnerReferences = append(secret.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: "1", Controller: new(number == 0),
		})
	}
	return secret
}

func TestAControllerIsAskedForItsKindAndForOwners(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		require.NoError(t,
			builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(w.asks()))
		w.run(func() {
			w.create(configMap("a"))
			require.Equal(t, []string{"a"}, w.taken())
			w.create(secretOf("s", "owner", "other"))
			require.Equal(t, []string{"owner"}, w.taken(),
				"by default, only the owner that is the controller")
		})
	})
}

func TestMatchEveryOwnerAsksForAllOfThem(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		require.NoError(t,
			builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{},
				builder.MatchEveryOwner).Complete(w.asks()))
		w.run(func() {
			w.create(secretOf("s", "owner", "other"))
			require.Equal(t, []string{"other", "owner"}, w.taken())
		})
	})
}

func TestWatchesAndRawSourcesNeedNoFor(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		events := make(chan event.GenericEvent, 1)
		require.NoError(t, builder.ControllerManagedBy(w).Named("several").
			Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(
				_ context.Context, o client.Object,
			) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "mapped-" +
					o.GetName()}}}
			})).
			WatchesRawSource(source.Channel(events, &handler.EnqueueRequestForObject{})).
			Complete(w.asks()))
		w.run(func() {
			w.create(configMap("a"))
			events <- event.GenericEvent{Object: configMap("raw")}
			require.Equal(t, []string{"mapped-a", "raw"}, w.taken())
		})
	})
}

func named(names ...string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		return slices.Contains(names, o.GetName())
	})
}

func TestPredicatesOfAKindAndFiltersOfAllBothHaveToAgree(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		everything := handler.EnqueueRequestsFromMapFunc(func(
			_ context.Context, o client.Object,
		) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "pod-" +
				o.GetName()}}}
		})
		require.NoError(t, builder.ControllerManagedBy(w).
			For(&corev1.ConfigMap{}, builder.WithPredicates(named("a", "c"))).
			Owns(&corev1.Secret{}, builder.WithPredicates(named("a", "c"))).
			Watches(&corev1.ServiceAccount{}, everything, builder.WithPredicates(named("x")),
				builder.WithPredicates(named("b", "c"))).
			WithEventFilter(named("a", "b")).Complete(w.asks()))
		w.run(func() {
			w.create(configMap("a"), configMap("b"), configMap("c"))
			require.Equal(t, []string{"a"}, w.taken())
			w.create(secretOf("a", "owner-a"), secretOf("b", "owner-b"), secretOf("c", "owner-c"))
			require.Equal(t, []string{"owner-a"}, w.taken())
			w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
			require.Equal(t, []string{"pod-b"}, w.taken())
		})
	})
}

func TestOnlyMetadataWatchesNothingElse(t *testing.T) {
	everything := &handler.EnqueueRequestForObject{}
	for name, build := range map[string]func(b *builder.Builder) *builder.Builder{
		"For": func(b *builder.Builder) *builder.Builder {
			return b.For(&corev1.ConfigMap{}, builder.OnlyMetadata)
		},
		"Owns": func(b *builder.Builder) *builder.Builder {
			return b.For(&corev1.Node{}).Owns(&corev1.ConfigMap{}, builder.OnlyMetadata)
		},
		"Watches": func(b *builder.Builder) *builder.Builder {
			return b.Watches(&corev1.ConfigMap{}, everything, builder.OnlyMetadata)
		},
		"WatchesMetadata": func(b *builder.Builder) *builder.Builder {
			return b.WatchesMetadata(&corev1.ConfigMap{}, everything)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
				require.NoError(t,
					build(builder.ControllerManagedBy(w).Named(t.Name())).Complete(w.asks()))
				w.run(func() {
					w.create(configMap("a"))
					metadata := &metav1.PartialObjectMetadata{}
					metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
					informer, err := w.GetCache().GetInformer(t.Context(), metadata)
					require.NoError(t, err)
					require.True(t, informer.HasSynced())
					require.Len(t, w.server.Requests(fakeapi.Match{Verb: "watch",
						Resource: "configmaps"}), 1, "a second watch is for whole objects")
					_, err = w.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{})
					require.NoError(t, err)
					require.Len(t, w.server.Requests(fakeapi.Match{Verb: "watch",
						Resource: "configmaps"}), 2, "whole objects were watched already")
				})
			})
		})
	}
}

func TestTheNameIsThatOfTheKindUnlessNamed(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		c, err := builder.ControllerManagedBy(w).For(&appsv1.ReplicaSet{}).Build(w.asks())
		require.NoError(t, err)
		require.Equal(t, "controller replicaset", fmt.Sprint(c))
		c, err = builder.ControllerManagedBy(w).For(&appsv1.ReplicaSet{}).Named("shop").Build(w.asks())
		require.NoError(t, err)
		require.Equal(t, "controller shop", fmt.Sprint(c))
		w.run(func() {}) // or the names stay taken
	})
}

func TestEachLineOfTheLogNamesTheControllerTheKindAndTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(fakeapi.Options{})
		defer api.Close()
		var lines []string
		var mu sync.Mutex // guards lines
		log := funcr.New(func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		}, funcr.Options{})
		m, err := manager.New(api.Config(),
			manager.Options{Logger: log, Metrics: server.Options{BindAddress: "0"}})
		require.NoError(t, err)
		err = builder.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Named(t.Name()).
			Complete(reconcile.Func(func(
				ctx context.Context, _ reconcile.Request,
			) (reconcile.Result, error) {
				logr.FromContextOrDiscard(ctx).Info("here")
				return reconcile.Result{}, nil
			}))
		require.NoError(t, err)
		w := &world{t: t, server: api, Manager: m}
		w.run(func() {
			w.create(configMap("web"))
			synctest.Wait()
		})
		require.Contains(t, fmt.Sprint(lines),
			`"msg"="here" "controller"="`+t.Name()+`" "controllerGroup"="" "controllerKind"="ConfigMap" `+
				`"ConfigMap"={"name"="web" "namespace"="default"} "namespace"="default" "name"="web" "reconcileID"=`)
		require.Contains(t, fmt.Sprint(lines),
			`"msg"="Starting workers" "controller"="`+t.Name()+`" "controllerGroup"="" "controllerKind"="ConfigMap" "workers"=1`)
	})
}

func TestTheKindsConcurrencyIsTakenFromTheManager(t *testing.T) {
	settings := config.Controller{GroupKindConcurrency: map[string]int{"ReplicaSet.apps": 5},
		MaxConcurrentReconciles: 2, SkipNameValidation: new(true)}
	for name, c := range map[string]struct {
		kind client.Object
		own  int
		want int
	}{
		"that of the kind":     {&appsv1.ReplicaSet{}, 0, 5},
		"that of all":          {&corev1.ConfigMap{}, 0, 2},
		"its own counts more":  {&appsv1.ReplicaSet{}, 3, 3},
		"its own, of no other": {&corev1.ConfigMap{}, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, settings, func(t *testing.T, w *world) {
				block, most, now := make(chan struct{}), 0, 0
				var mu sync.Mutex // guards most and now
				require.NoError(t, builder.ControllerManagedBy(w).For(c.kind).
					WithOptions(controller.Options{MaxConcurrentReconciles: c.own}).
					WatchesRawSource(source.Func(func(
						_ context.Context,
						queue workqueue.TypedRateLimitingInterface[reconcile.Request],
					) error {
						for number := range 20 {
							queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: fmt.Sprint(number)}})
						}
						return nil
					})).
					Complete(reconcile.Func(func(
						context.Context, reconcile.Request,
					) (reconcile.Result, error) {
						mu.Lock()
						now++
						most = max(most, now)
						mu.Unlock()
						<-block
						mu.Lock()
						now--
						mu.Unlock()
						return reconcile.Result{}, nil
					})))
				w.run(func() {
					synctest.Wait()
					close(block)
				})
				require.Equal(t, c.want, most)
			})
		})
	}
}

func TestWhatIsWrongIsSaidAndTheManagerGetsNoController(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		made := func() *builder.Builder { return builder.ControllerManagedBy(w).Named("wrong") }
		unknown := &metav1.PartialObjectMetadata{}
		for _, c := range []struct {
			want    string
			builder *builder.Builder
		}{
			{"ControllerManagedBy was given nil",
				builder.ControllerManagedBy(nil).For(&corev1.Pod{})},
			{"For was called twice", made().For(&corev1.Pod{}).For(&corev1.Node{})},
			{"Owns needs For", made().Owns(&corev1.Pod{})},
			{"nothing is watched", made()},
			{"the controller has no name",
				builder.ControllerManagedBy(w).Watches(&corev1.Pod{},
					&handler.EnqueueRequestForObject{})},
			{"the kind of For is unknown", made().For(unknown)},
			{"Owns: the kind is unknown", made().For(&corev1.Pod{}).Owns(unknown)},
			{"Watches: the kind is unknown",
				made().Watches(unknown, &handler.EnqueueRequestForObject{})},
			{"For was given a nil *v1.Pod", made().For((*corev1.Pod)(nil))},
			{"Owns: it was given a nil *v1.Pod",
				made().For(&corev1.Pod{}).Owns((*corev1.Pod)(nil))},
			{"two reconcilers",
				made().For(&corev1.Pod{}).WithOptions(controller.Options{Reconciler: w.asks()})},
		} {
			require.ErrorContains(t, c.builder.Complete(w.asks()), c.want)
		}
		require.ErrorContains(t, made().For(&corev1.Pod{}).Complete(nil), "given nil")
		refuses := source.Func(func(
			context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request],
		) error {
			return errors.New("refused")
		})
		require.NoError(t, made().For(&corev1.Pod{}).WatchesRawSource(refuses).Complete(w.asks()),
			"the name is free")
		ended := make(chan error, 1)
		go func() { ended <- w.Start(t.Context()) }()
		require.ErrorContains(t, <-ended, "refused")
	})
}

func TestAReconcilerMayBeGivenInTheOptions(t *testing.T) {
	inWorld(t, config.Controller{SkipNameValidation: new(true)}, func(t *testing.T, w *world) {
		require.NoError(t,
			builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).WithOptions(controller.Options{Reconciler: w.asks()}).Complete(nil))
		w.run(func() {
			w.create(configMap("a"))
			require.Equal(t, []string{"a"}, w.taken())
		})
	})
}

// unkind is an object as people write it by hand for a test: it does not know its kind.
type unkind struct{ corev1.ConfigMap }

func (*unkind) GetObjectKind() schema.ObjectKind { return nil }
func (o *unkind) DeepCopyObject() runtime.Object { return o }

func TestAKindThatDoesNotKnowItselfIsAnErrorOfComplete(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		require.ErrorContains(t, builder.ControllerManagedBy(w).For(&unkind{}).Complete(w.asks()),
			"no kind is registered")
		require.ErrorContains(t,
			builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).Owns(&unkind{}).Complete(w.asks()), "no kind is registered")
		require.ErrorContains(t,
			builder.ControllerManagedBy(w).For((*unkind)(nil)).Complete(w.asks()), "nil")
		require.ErrorContains(t, builder.ControllerManagedBy(w).Named("n").Watches(nil,
			&handler.EnqueueRequestForObject{}).Complete(w.asks()), "nil")
	})
}

// Some programs end themselves when a map function cannot list, because requests would be lost. A
// test of such a program stops its manager as soon as it has seen what it waits for.
func TestAMapFunctionCanListWhenTheFirstReconcileStopsTheManager(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "secrets"},
			Delay: time.Second})
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Start(ctx) }()
		synctest.Wait()

		listed := make(chan error, 1)
		all := func(ctx context.Context, _ client.Object) []reconcile.Request {
			listed <- w.GetClient().List(ctx, &corev1.SecretList{})
			return nil
		}
		require.NoError(t, builder.ControllerManagedBy(w).For(&corev1.Secret{}).
			Watches(&corev1.ConfigMap{},
				handler.EnqueueRequestsFromMapFunc(all)).Complete(w.asks()))
		synctest.Wait()
		require.NoError(t, builder.ControllerManagedBy(w).For(&corev1.ConfigMap{}).
			Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result,
				error) {
				stop()
				return reconcile.Result{}, nil
			})))
		require.NoError(t, w.GetClient().Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "policy"}}))
		require.NoError(t, <-ended)
		require.NoError(t, <-listed)
	})
}
