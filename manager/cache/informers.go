package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/log"
)

// objectCache is the Cache that New returns.
type objectCache struct {
	config   *rest.Config
	options  Options
	settings settings
	log      logr.Logger
	// sent to when there's an informer to start, received by Start; one, because Start starts all
	joined  chan struct{}
	started chan struct{} // closed by Start

	mu          sync.RWMutex // guards what follows
	byGVK       map[objectKind]*gvkInformer
	making      []informerInMaking // in the order in which they were begun
	byNamespace map[informerName]*namespaceInformer
	indices     map[objectKind]map[string]client.IndexerFunc
	shard       informer.Shard // nil keeps everything
	ran         bool
	ended       bool // Start takes in no more informers
}

// informerName tells an informer from the others.
type informerName struct {
	objectKind
	namespace string // of its scope
}

func newObjectCache(config *rest.Config, opts Options, settings settings) *objectCache {
	c := &objectCache{
		config: config, options: opts, settings: settings, log: log.RuntimeLog.WithName("cache"),
		joined: make(chan struct{}, 1), started: make(chan struct{}),
		byGVK: map[objectKind]*gvkInformer{}, byNamespace: map[informerName]*namespaceInformer{},
		indices: map[objectKind]map[string]client.IndexerFunc{}, shard: opts.Shard,
	}
	if opts.Logger != nil {
		c.log = *opts.Logger
	}
	return c
}

// namespaceInformer is the informer of a kind in one namespace, or in all.
type namespaceInformer struct {
	name     informerName
	scope    scope
	informer *informer.Informer[client.Object]
	store    informer.StoreReader[client.Object]
	from     *removableKind
	log      logr.Logger

	failsOnRefusal bool // ReaderFailOnRefusal

	// Guarded by objectCache.mu:
	users  int    // those in byGVK
	cancel func() // ends Run; nil until it's called
}

// newInformer makes an informer, which Start starts. The caller holds c.mu.
func (c *objectCache) newInformer(
	name informerName, mapping *meta.RESTMapping, scope scope,
) (*namespaceInformer, error) {
	example, err := c.exampleOf(name.objectKind)
	if err != nil {
		return nil, err
	}
	from, err := informer.NewListWatch[client.Object](c.config, mapping.Resource,
		informer.ListWatchOptions{
			Namespace: scope.watched, LabelSelector: scope.labelText(),
			FieldSelector: scope.fieldText(),
			Form:          name.form, Kind: name.GroupVersionKind, Scheme: c.options.Scheme,
			HTTPClient: c.options.HTTPClient, Recorder: c.options.Recorder,
		})
	if err != nil {
		return nil, err
	}
	k := &namespaceInformer{
		name: name, scope: scope, from: c.newRemovableKind(from, mapping, scope.bookmarks),
		log: c.log, failsOnRefusal: c.options.ReaderFailOnRefusal,
	}
	handle := logOnce(c.log, mapping.Resource.GroupResource().String(), scope.String())
	if c.options.DefaultWatchErrorHandler != nil {
		handle = informer.ErrorsOnly(c.options.DefaultWatchErrorHandler)
	}
	watchError := func(err error) {
		k.from.refusal.set(err)
		handle(err)
	}
	options := informer.InformerOptions[client.Object]{
		Transform: transformOf(name.GroupVersionKind, scope.transform),
		Reflector: informer.ReflectorOptions{NoStream: !scope.bookmarks,
			WatchErrorHandler: watchError},
		Recorder: c.options.Recorder,
		OnTransformError: func(err *informer.TransformError) {
			c.log.Error(err, "An object is stored as it came")
		},
		OnPanic: func(p informer.HandlerPanic) {
			c.log.Error(fmt.Errorf("panic: %v", p.Value), "A handler panicked",
				"handler", p.Handler, "object", p.Key.String(), "stack", string(p.Stack))
		},
	}
	if scope.sharded {
		options.Shard = c.shardLocked(name.objectKind)
	}
	if c.options.NewInformer != nil {
		k.informer = c.options.NewInformer(k.from, example, options)
	} else {
		k.informer = informer.NewInformer[client.Object](k.from, options)
	}
	k.store = k.informer.Store()
	k.from.holdsObjects = func() bool { return k.store.Len() > 0 }
	k.from.rewinds = k.informer.Rewinds
	return k, nil
}

// logOnce returns a function that logs the errors of one informer, but only if an error differs
// from the last two: an informer that can't read tries a watch and a list in turn.
func logOnce(log logr.Logger, resource, where string) func(error) {
	last, lastButOne := "", ""
	return func(err error) {
		text := err.Error()
		if errors.Is(err, errKindIsBack) || text == last || text == lastButOne {
			return
		}
		last, lastButOne = text, last
		if isPreparing(err) {
			log.Info("The API server is still preparing a kind, and its informer tries again",
				"resource", resource, "where", where)
			return
		}
		log.Error(err, "An informer cannot read, and tries again", "resource", resource, "where",
			where)
	}
}

// isPreparing reports whether an API server is still filling its own cache of a kind. It says so
// for a second or two after a CustomResourceDefinition was installed, and after its own start. The
// status has the reason TooManyRequests, like that of an overloaded server, so only the text tells
// them apart. If the filling fails, the cause follows in the text, and it's an error.
//
// client-go never logs a watch's 429, unless its verbosity is raised.
func isPreparing(err error) bool {
	var answer apierrors.APIStatus
	return apierrors.IsTooManyRequests(err) && errors.As(err, &answer) &&
		answer.Status().Message == "storage is (re)initializing"
}

// resyncEvery is the period of the handlers, a little different for each informer.
func (s scope) resyncEvery() time.Duration {
	return time.Duration(float64(s.resyncs) * (0.9 + rand.Float64()/5))
}

var (
	errCacheRan     = errors.New("the cache was started before: make another one")
	errCacheStopped = timeout{errors.New("the cache has stopped: make another one")}
)

// Start implements Informers. It returns when all informers have stopped, so no handler is called
// after that.
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

// startInformers starts the new informers, and reports whether more may come. When the context has
// ended it still starts them: they end at once, and with them all waits.
func (c *objectCache) startInformers(ctx context.Context, running *sync.WaitGroup) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = ctx.Err() != nil
	for _, k := range c.byNamespace {
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

func (k *namespaceInformer) run(ctx context.Context) {
	if err := k.informer.Run(ctx); err != nil {
		k.log.Error(err, "An informer gave up", "informer", k.String())
	}
}

// stopLocked ends an informer that is no longer used, without waiting for it: the caller may be one
// of its handlers. If it never ran, it's run with a context that has ended, which ends its handlers
// and all waits for it.
func (k *namespaceInformer) stopLocked() {
	if k.cancel == nil {
		ended, cancel := context.WithCancel(context.Background())
		k.cancel = cancel
		cancel()
		k.run(ended)
	}
	k.cancel()
}

// String is for errors.
func (k *namespaceInformer) String() string {
	return fmt.Sprintf("%s %s", k.name.objectKind,
		k.scope)
}

// NeedLeaderElection tells a manager that the cache runs in all replicas.
func (c *objectCache) NeedLeaderElection() bool { return false }

func (c *objectCache) isStarted() bool { return isClosed(c.started) }
