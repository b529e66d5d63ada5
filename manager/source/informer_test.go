package source

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func (w *world) informer() cache.Informer {
	found, err := w.cache.GetInformer(w.t.Context(), configMap(""), cache.BlockUntilSynced(false))
	require.NoError(w.t, err)
	return found
}

func TestAnInformerIsASourceThatIsReadyWhenItsObjectsWereTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create("web")
		w.create("db")
		queue, began := newQueue(), time.Now()
		var asked []string
		stop := ready(t, &Informer{Informer: w.informer(), Handler: &diary{takes: time.Second}, Predicates: []predicate.Predicate{asks("", true, &asked)}}, queue)
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Equal(t, []string{"db", "web"}, queue.waiting())
		require.Len(t, asked, 2)
		stop()
		w.create("late")
		synctest.Wait()
		require.Empty(t, queue.waiting())
		require.Empty(t, queue.log.With(""), "a stop is no trouble")
	})
}

func TestAnInformerThatStopsEndsItsSource(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create("web")
		w.create("db") // it is never told: the informer stops before
		queue := newQueue()
		before, after := &Informer{Informer: w.informer(), Handler: &diary{takes: time.Hour}}, &Informer{Informer: w.informer(), Handler: &diary{}}
		stopBefore := starts(t, before, queue)
		stopAfter := ready(t, after, queue)
		w.cache.remove()
		time.Sleep(2 * time.Hour)
		require.ErrorIs(t, before.WaitForSync(t.Context()), errInformerStopped)
		require.NoError(t, after.WaitForSync(t.Context()), "it was ready")
		require.Len(t, queue.log.With("A source has ended"), 2)
		stopBefore()
		stopAfter()
		require.ErrorContains(t, after.Start(t.Context(), queue), "the informer has stopped")
	})
}

func TestAnInformerSourceNeedsAnInformerAndAHandler(t *testing.T) {
	require.ErrorContains(t, (&Informer{Handler: &diary{}}).Start(t.Context(), newQueue()), "no Informer")
	require.ErrorContains(t, (&Informer{Informer: fragile{}}).Start(t.Context(), newQueue()), "no Handler")
	require.ErrorContains(t, (&Informer{Informer: fragile{}, Handler: &diary{}, Predicates: []predicate.Predicate{nil}}).Start(t.Context(), newQueue()), "predicates is nil")
	require.Contains(t, (&Informer{}).String(), "informer source: ")
}

// poorInformer is client-go's idea of an informer, and nothing more: it cannot say when a handler
// has ended, or why it has not listed.
type poorInformer struct {
	cache.Informer
	handlers int
	refuses  error
	synced   bool
	listed   chan struct{}
}

func (p *poorInformer) AddEventHandlerWithOptions(informer.ResourceEventHandler, informer.ResourceEventHandlerOptions) (informer.ResourceEventHandlerRegistration, error) {
	p.handlers++
	return p, nil
}

// ownInformer is a poorInformer that takes our options, as those of our caches do.
type ownInformer struct {
	poorInformer
	options informer.HandlerOptions // of the last handler
}

func (o *ownInformer) AddHandler(_ informer.ResourceEventHandler, options informer.HandlerOptions) (informer.ResourceEventHandlerRegistration, error) {
	o.options = options
	return o, nil
}

func (p *poorInformer) RemoveEventHandler(informer.ResourceEventHandlerRegistration) error {
	p.handlers--
	return p.refuses
}

func (p *poorInformer) HasSynced() bool                        { return p.synced }
func (p *poorInformer) HasSyncedChecker() informer.DoneChecker { return checker(p.listed) }

type checker chan struct{}

func (c checker) Name() string          { return "" }
func (c checker) Done() <-chan struct{} { return c }

func TestAnInformerOfSomebodyElsesMakingIsASource(t *testing.T) {
	inWorld(t, func(t *testing.T, _ *world) {
		p := &poorInformer{listed: make(chan struct{})}
		queue, s := newQueue(), &Informer{Informer: p, Handler: &diary{}}
		stop := starts(t, s, queue)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorContains(t, s.WaitForSync(ctx), "the informer has not listed yet: context deadline exceeded")
		close(p.listed)
		require.NoError(t, s.WaitForSync(t.Context()))
		require.Equal(t, 1, p.handlers)
		stop()
		require.Zero(t, p.handlers)

		p.refuses = errors.New("I will not")
		stop = starts(t, s, queue)
		stop()
		require.Len(t, queue.log.With("I will not"), 1)
	})
}

// Other states than the newest matter to owners and predicates. If an informer merges what waits for
// such a handler, an owner who had an object for a moment counts it forever.
func TestOnlyAHandlerThatLooksAtNothingButTheKeyLetsTheInformerMerge(t *testing.T) {
	object := &handler.EnqueueRequestForObject{}
	for _, c := range []struct {
		name       string
		handler    handler.EventHandler
		predicates []predicate.Predicate
		merges     bool
	}{
		{"the object itself", object, nil, true},
		{"the object itself, if it has changed", object, []predicate.Predicate{predicate.GenerationChangedPredicate{}}, false},
		{"the object itself, in a handler that looks at both states", handler.WithLowPriorityWhenUnchanged(object), nil, false},
		{"the object itself, through functions", handler.Funcs{CreateFunc: object.Create, UpdateFunc: object.Update}, nil, false},
		{"a handler of the user's, made of that of the object", &struct {
			*handler.EnqueueRequestForObject
		}{object}, nil, false},
		{"owners", handler.EnqueueRequestForOwner(scheme.Scheme, nil, &corev1.Pod{}), nil, false},
		{"other objects", handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return nil }), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, _ *world) {
				p := &ownInformer{poorInformer: poorInformer{listed: make(chan struct{})}}
				for _, s := range []SyncingSource{
					&Informer{Informer: p, Handler: c.handler, Predicates: c.predicates},
					Kind[client.Object](&constantCache{informer: p}, configMap(""), c.handler, c.predicates...),
				} {
					p.options = informer.HandlerOptions{}
					stop := starts(t, s, newQueue())
					synctest.Wait()
					require.Equal(t, informer.HandlerOptions{Name: "mirror", Coalesce: c.merges}, p.options)
					stop()
				}
			})
		})
	}
}

// A handler that is told everything again must be able to see that nothing happened.
func TestInAResyncBothObjectsAreTheSame(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cache.resync = time.Minute
		w.create("web")
		var same, all int
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), &diary{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			all++
			if e.ObjectOld.(*corev1.ConfigMap) == e.ObjectNew.(*corev1.ConfigMap) {
				same++
			}
			return true
		}}), newQueue())
		time.Sleep(10*time.Minute + time.Second)
		stop()
		require.Equal(t, 10, all)
		require.Equal(t, 10, same)
	})
}

// A message has to say which source it is about, and nothing else.
func TestAnInformerSourceIsCalledByItsInformer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		require.Regexp(t, `^informer source: configmaps \(0x[0-9a-f]+\)$`, (&Informer{Informer: w.informer()}).String())
		require.Regexp(t, `^informer source: 0x[0-9a-f]+$`, (&Informer{Informer: &poorInformer{}}).String())
		require.Equal(t, "informer source: none", (&Informer{}).String())
		require.Equal(t, "informer source: source.fragile", (&Informer{Informer: fragile{}}).String())
	})
}

// undecided is an informer that has listed between two questions.
type undecided struct{ cache.Informer }

func (undecided) HasSynced() bool                   { return false }
func (undecided) WaitForSync(context.Context) error { return nil }

// Without an error, the controller's workers would begin although the wait was given up.
func TestASourceThatIsNotReadyHasAnErrorEvenIfItsInformerHasNone(t *testing.T) {
	require.ErrorIs(t, (&listening{informer: undecided{}}).notReady(errBroken), errBroken)
}
