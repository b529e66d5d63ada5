package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/log"
)

// objectCache is the Cache that New returns: informers, and views that readers have of them.
type objectCache struct {
	config   *rest.Config
	options  Options
	settings settings
	log      *messages
	joined   chan struct{} // sent to when there is an informer to start, received by Start; one, because Start looks at all
	started  chan struct{} // closed by Start

	// byType finds the view of a Go type, of an object or of a list, without a lock. It is replaced
	// with mu held.
	byType atomic.Pointer[map[reflect.Type]*view]

	mu        sync.Mutex // guards what follows
	views     map[kindForm]*view
	making    []viewInMaking // in the order in which they were begun
	informers map[informerName]*kindInformer
	indices   map[kindForm]map[string]client.IndexerFunc
	ran       bool
	ended     bool // Start takes in no more informers
}

// kindForm is what readers name: a kind, and how they hold its objects.
type kindForm struct {
	schema.GroupVersionKind
	form informer.Form
}

// String is for errors.
func (k kindForm) String() string {
	if k.form == informer.FormTyped {
		return k.GroupVersionKind.String()
	}
	return k.form.String() + " " + k.GroupVersionKind.String()
}

// informerName is an informer's place among the others.
type informerName struct {
	kindForm
	namespace string // of its scope
}

func newObjectCache(config *rest.Config, opts Options, settings settings) *objectCache {
	c := &objectCache{
		config: config, options: opts, settings: settings, log: &messages{opts.Logger},
		joined: make(chan struct{}, 1), started: make(chan struct{}),
		views: map[kindForm]*view{}, informers: map[informerName]*kindInformer{}, indices: map[kindForm]map[string]client.IndexerFunc{},
	}
	c.byType.Store(&map[reflect.Type]*view{})
	return c
}

// kindInformer is an informer of a cache, and how it is stopped.
type kindInformer struct {
	name     informerName
	scope    scope
	informer *informer.Informer[client.Object]
	store    informer.StoreReader[client.Object]
	presence *presentWatcher
	log      *messages

	failsOnRefusal bool // ReaderFailOnRefusal

	// Guarded by objectCache.mu:
	users  int    // views
	cancel func() // ends Run; nil until it is called
}

// newInformer makes an informer, which Start starts.
func (c *objectCache) newInformer(name informerName, of place, scope scope) (*kindInformer, error) {
	example, err := c.exampleOf(name.kindForm)
	if err != nil {
		return nil, err
	}
	from, err := informer.NewListWatch[client.Object](c.config, of.GroupVersionResource, informer.ListWatchOptions{
		Namespace: scope.watched, LabelSelector: scope.labelText(), FieldSelector: scope.fieldText(),
		Form: name.form, Kind: name.GroupVersionKind, Scheme: c.options.Scheme, HTTPClient: c.options.HTTPClient, Recorder: c.options.Recorder,
	})
	if err != nil {
		return nil, err
	}
	k := &kindInformer{name: name, scope: scope, presence: c.newPresentWatcher(from, name.GroupVersionKind, of, scope.bookmarks), log: c.log, failsOnRefusal: c.options.ReaderFailOnRefusal}
	handle := c.options.DefaultWatchErrorHandler
	if handle == nil {
		handle = c.log.once(of.GroupResource().String(), scope.String())
	}
	watchError := func(err error) {
		k.presence.refusal.set(err)
		handle(err)
	}
	options := informer.InformerOptions[client.Object]{
		Transform: transformOf(name.GroupVersionKind, scope.transform),
		Reflector: informer.ReflectorOptions{NoStream: !scope.bookmarks, WatchErrorHandler: watchError},
		Recorder:  c.options.Recorder, OnTransformError: c.log.transformError, OnPanic: c.log.handlerPanic,
	}
	if c.options.NewInformer != nil {
		k.informer = c.options.NewInformer(k.presence, example, options)
	} else {
		k.informer = informer.NewInformer[client.Object](k.presence, options)
	}
	k.store = k.informer.Store()
	return k, nil
}

// resyncs is the period of the handlers, a little different for each informer.
func (s scope) resyncEvery() time.Duration {
	return time.Duration(float64(s.resyncs) * (0.9 + rand.Float64()/5))
}

var (
	errCacheRan     = errors.New("the cache was started before: make another one")
	errCacheStopped = timeout{errors.New("the cache has stopped: make another one")}
)

// Start implements Informers. It returns when all informers have stopped, and so no handler is
// called any more.
func (c *objectCache) Start(ctx context.Context) error {
	c.mu.Lock()
	ran := c.ran
	c.ran = true
	c.mu.Unlock()
	if ran {
		return errCacheRan
	}
	close(c.started)
	var running sync.WaitGroup
	for c.startInformers(ctx, &running) {
		select {
		case <-c.joined:
		case <-ctx.Done():
		}
	}
	running.Wait()
	return nil
}

// startInformers starts those that have come, and reports whether others may come. When the context
// has ended it still starts them: they end at once, and with them all waits.
func (c *objectCache) startInformers(ctx context.Context, running *sync.WaitGroup) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = ctx.Err() != nil
	for _, k := range c.informers {
		if k.cancel == nil {
			own, cancel := context.WithCancel(ctx)
			k.cancel = cancel
			running.Go(func() {
				defer cancel()
				k.run(own)
			})
		}
	}
	return !c.ended
}

func (k *kindInformer) run(ctx context.Context) {
	if err := k.informer.Run(ctx); err != nil {
		k.log.logger().Error(err, "An informer gave up", "informer", k.String())
	}
}

// stopLocked ends an informer that nobody uses any more, without waiting for its end: the caller may be
// one of its handlers. One that never ran is run with a context that has ended, and so ends its handlers
// and all waits for it.
func (k *kindInformer) stopLocked() {
	if k.cancel == nil {
		ended, cancel := context.WithCancel(context.Background())
		k.cancel = cancel
		cancel()
		k.run(ended)
	}
	k.cancel()
}

// String is for errors.
func (k *kindInformer) String() string { return fmt.Sprintf("%s %s", k.name.kindForm, k.scope) }

// NeedLeaderElection tells a manager that the cache runs whoever leads.
func (c *objectCache) NeedLeaderElection() bool { return false }

func (c *objectCache) isStarted() bool { return isClosed(c.started) }

// messages are what nobody is given as an error. They go to a logger; without one, or if this is nil, to the
// program's.
type messages struct {
	given *logr.Logger
}

func (m *messages) logger() logr.Logger {
	if m == nil || m.given == nil {
		return log.RuntimeLog.WithName("cache")
	}
	return *m.given
}

// once returns a function that logs the errors of one informer, each when it is another than the last.
func (m *messages) once(resource, where string) func(error) {
	last := ""
	return func(err error) {
		if errors.Is(err, errKindIsBack) || err.Error() == last {
			return
		}
		last = err.Error()
		m.logger().Error(err, "An informer cannot read, and tries again", "resource", resource, "where", where)
	}
}

// transformError is an informer's OnTransformError.
func (m *messages) transformError(err *informer.TransformError) {
	m.logger().Error(err, "An object is stored as it came")
}

// handlerPanic is an informer's OnPanic.
func (m *messages) handlerPanic(p informer.HandlerPanic) {
	m.logger().Error(fmt.Errorf("panic: %v", p.Value), "A handler panicked", "handler", p.Handler, "object", p.Key.String(), "stack", string(p.Stack))
}
