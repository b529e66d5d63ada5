package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// monitors are the source of events: a metadata informer for each resource that discovery lists and
// that can be listed, watched and deleted. They follow discovery while they run, and know whether
// the graph is complete.
//
// The workers start when all informers have listed, or after syncPatience: if an informer doesn't
// show an object, they ask the API server.
type monitors struct {
	gc     *collector
	cache  cache.Cache
	asks   discovery.DiscoveryInterfaceWithContext
	period time.Duration
	log    logr.Logger

	running sync.WaitGroup // the goroutines that Start has begun
	found   chan struct{}  // closed by follow after the first discovery; by then, all has them

	mu       sync.Mutex // guards what follows
	all      map[schema.GroupVersionKind]*monitor
	said     survey
	failures error // why kinds in discovery's last answer have no monitor
}

// monitor watches one kind. It never changes.
type monitor struct {
	kind         schema.GroupVersionKind
	informer     cache.Informer
	registration informer.ResourceEventHandlerRegistration
}

// syncPatience is how long the first lists may take until the workers start without them.
const syncPatience = 30 * time.Second

// discoveryPeriod is the original's.
const discoveryPeriod = 30 * time.Second

// firstPause is the time between two discovery requests until the first one is answered. After
// that, it's the first pause while the graph isn't complete; the next ones double.
const firstPause = time.Second

func newMonitors(
	mgr manager.Manager, config *rest.Config, asks discovery.DiscoveryInterfaceWithContext,
	gc *collector,
) (*monitors, error) {
	logger := mgr.GetLogger().WithName("garbagecollector")
	watching, err := cache.New(config, cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: keepWhatMatters, Logger: &logger,
	})
	if err != nil {
		return nil, fmt.Errorf("making its cache: %w", err)
	}
	return &monitors{
		gc: gc, cache: watching, asks: asks, period: discoveryPeriod, log: logger,
		found: make(chan struct{}), all: map[schema.GroupVersionKind]*monitor{},
	}, nil
}

// keepWhatMatters drops what the graph doesn't need.
func keepWhatMatters(object any) (any, error) {
	from, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("an informer of metadata shows a %T", object)
	}
	return &metav1.PartialObjectMetadata{TypeMeta: from.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: from.Namespace, Name: from.Name, UID: from.UID,
		ResourceVersion: from.ResourceVersion, DeletionTimestamp: from.DeletionTimestamp,
		Finalizers: from.Finalizers, OwnerReferences: from.OwnerReferences,
	}}, nil
}

// Start implements source.Source.
func (m *monitors) Start(ctx context.Context, queue queue) error {
	m.gc.queue = queue // before any event
	m.running.Go(func() {
		if err := m.cache.Start(ctx); err != nil {
			m.log.Error(err, "The garbage collector's cache has ended")
		}
	})
	m.running.Go(func() { m.follow(ctx) })
	return nil
}

// WaitForStop implements controller.StoppingSource.
func (m *monitors) WaitForStop() { m.running.Wait() }

// String names the source in messages.
func (m *monitors) String() string { return "monitors of the garbage collector" }

// WaitForSync implements source.SyncingSource.
func (m *monitors) WaitForSync(ctx context.Context) error {
	select {
	case <-m.found:
	case <-ctx.Done():
		return fmt.Errorf("discovery does not say which resources there are: %w",
			context.Cause(ctx))
	}
	patience := time.NewTimer(syncPatience)
	defer patience.Stop()
	for kind, one := range m.now() {
		select {
		case <-one.registration.HasSyncedChecker().Done():
		case <-patience.C:
			m.log.Info("Collecting before all resources are listed", "one of them", kind.String())
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s is not listed yet: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// isAnswered reports whether discovery has ever answered, even if only for some of the groups.
func (m *monitors) isAnswered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said.isAnswered
}

// isSettling reports whether we're waiting for discovery's next answer: the first one, or one that
// confirms the last.
func (m *monitors) isSettling() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.said.isAnswered || m.said.complete > 0 && m.said.complete < completeAnswers
}

func (m *monitors) now() map[schema.GroupVersionKind]*monitor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.all)
}

// follow asks discovery again and again, and updates the monitors: once a period, and more often
// while the graph isn't complete.
func (m *monitors) follow(ctx context.Context) {
	isFirst, retry := true, firstPause
	for {
		m.update(ctx)
		pause := m.period
		switch {
		case m.complete() == nil:
			retry = firstPause
		case m.isSettling():
			pause = firstPause
		default:
			pause, retry = retry, min(2*retry, m.period)
		}
		if isFirst && m.isAnswered() {
			close(m.found)
			isFirst = false
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		m.report()
	}
}

// update asks discovery once, and starts to watch new kinds. It ends only the monitors of removed
// kinds. If discovery leaves a kind out, that doesn't prove that it was removed: the kind's
// informer does.
func (m *monitors) update(ctx context.Context) {
	var said answer
	said.groups, said.lists, said.err = discovery.ServerGroupsAndResourcesWithContext(ctx, m.asks)
	monitored, mentioned := m.now(), kindsOf(said.lists)
	for kind, one := range monitored {
		if one.informer.IsStopped() || !mentioned[kind] && m.isGone(ctx, kind) {
			m.forget(ctx, one)
			delete(monitored, kind)
		}
	}
	watched := slices.Collect(maps.Keys(monitored))
	wanted := watchable(said.groups, said.lists, func(kind schema.GroupVersionKind) bool {
		return monitored[kind] != nil
	})
	var failures []error
	for _, kind := range wanted {
		if monitored[kind] != nil {
			continue
		}
		begun, err := m.begin(ctx, kind)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		monitored[kind] = begun
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said.take(time.Now(), said, watched)
	m.failures = errors.Join(failures...)
	m.all = monitored
}

// isGone reports whether the informer of a kind has proven that the API server no longer serves the
// kind. The cache's reads say so.
func (m *monitors) isGone(ctx context.Context, kind schema.GroupVersionKind) bool {
	now, cancel := context.WithCancel(ctx)
	cancel() // the question is what the cache knows now
	var gone *cache.KindGoneError
	err := m.cache.Get(now, client.ObjectKey{Namespace: "any", Name: "any"}, metadataOf(kind))
	return errors.As(err, &gone)
}

// begin starts to watch a kind.
func (m *monitors) begin(ctx context.Context, kind schema.GroupVersionKind) (*monitor, error) {
	from, err := m.cache.GetInformer(ctx, metadataOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("an informer of %s: %w", kind, err)
	}
	begun := &monitor{kind: kind, informer: from}
	begun.registration, err = from.AddEventHandler(handler{m.gc, &begun.kind})
	if err != nil {
		return nil, fmt.Errorf("an informer of %s: %w", kind, err)
	}
	m.log.V(1).Info("Watching a kind", "kind", kind.String())
	return begun, nil
}

// forget ends the monitor of a kind that was removed, or whose informer has stopped because the
// kind is back under another path: then it was removed in between. The graph hears of it last, in
// case the informer hasn't shown the deletion of all objects.
func (m *monitors) forget(ctx context.Context, one *monitor) {
	err := one.informer.RemoveEventHandler(one.registration)
	if ending, ok := one.registration.(interface{ Done() <-chan struct{} }); ok && err == nil {
		<-ending.Done()
	}
	err = errors.Join(err, m.cache.RemoveInformer(ctx, metadataOf(one.kind)))
	m.gc.apply(event{what: kindGone, kind: &one.kind})
	m.log.V(1).Info("A kind was removed, and is no longer watched", "kind", one.kind.String())
	if err != nil {
		m.log.Error(err, "An informer is not removed", "kind", one.kind.String())
	}
}

// complete is nil if the graph has every object that existed a moment ago: each group is known, and
// each informer has listed and is watching. Otherwise, an unseen dependent may exist anywhere, and
// the error says where.
//
// It's about the graph as you read it afterwards, not as you read it before.
func (m *monitors) complete() error {
	m.mu.Lock()
	err := errors.Join(m.said.doubts(), m.failures)
	for kind, one := range m.all {
		if !one.registration.HasSynced() {
			err = errors.Join(err, fmt.Errorf("%s is not listed yet", kind))
		}
	}
	isSettled := m.said.complete >= completeAnswers
	m.mu.Unlock()
	err = errors.Join(err, cache.CheckHealth(m.cache, 0))
	if err == nil && !isSettled {
		return errUnsettled
	}
	return err
}

// errAhead says that a monitor is ahead of the API server.
var errAhead = errors.New("the API server may have been restored from a backup")

// current is nil if no monitor is ahead of the API server, and errAhead if one is. Such a monitor
// shows a history that was undone, because its informer hasn't noticed that the API server was
// restored from a backup. A dependent that lost its owner in that history may have it back.
//
// An etcd counts its versions for all kinds together, so it's enough to ask for one kind. A kind
// that is ahead of that may have its own etcd, so we ask for it, too.
func (m *monitors) current(ctx context.Context, of schema.GroupVersionKind) error {
	reached := map[schema.GroupVersionKind]string{} // before the API server is asked
	for kind := range m.now() {
		reached[kind] = m.reached(kind)
	}
	now, err := m.newest(ctx, of)
	if err != nil {
		return err
	}
	for kind, version := range reached {
		if !isNewer(version, now) {
			continue
		}
		now, err := m.newest(ctx, kind)
		if err != nil {
			return err
		}
		if isNewer(version, now) {
			return fmt.Errorf("%w: it's at version %s, and has shown us version %s of %s",
				errAhead, now, version, kind)
		}
	}
	return nil
}

// reached returns the version that the monitor of a kind has reached.
func (m *monitors) reached(kind schema.GroupVersionKind) string {
	version, _ := m.cache.(client.Progress).Reached(metadataOf(kind), client.ObjectKey{Namespace: "any", Name: "any"})
	return version
}

// newest returns the version that the API server has reached.
func (m *monitors) newest(ctx context.Context, kind schema.GroupVersionKind) (string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := m.gc.client.List(ctx, list, client.Limit(1)); err != nil {
		return "", fmt.Errorf("asking for the newest version of %s: %w", kind, err)
	}
	return list.ResourceVersion, nil
}

// isNewer is false for versions that can't be compared. Kubernetes' can be.
func isNewer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// errUnsettled says that nothing is known to be wrong, but that it's too early to trust discovery.
var errUnsettled = errors.New("discovery hasn't answered completely often enough yet")

// report logs for the administrator what isn't known.
func (m *monitors) report() {
	if err := m.complete(); err != nil && !errors.Is(err, errUnsettled) {
		m.log.Info("The garbage collector does not know all objects, so owners that are deleted "+
			"in the foreground, or that orphan, keep their finalizers until it does",
			"unknown", err.Error())
	}
}

// handler passes an informer's events to the graph.
type handler struct {
	gc   *collector
	kind *schema.GroupVersionKind
}

// OnAdd implements informer.ResourceEventHandler.
func (h handler) OnAdd(object any, _ bool) {
	h.gc.apply(event{what: objectObserved, kind: h.kind, object: object.(metav1.Object)})
}

// OnUpdate implements informer.ResourceEventHandler.
func (h handler) OnUpdate(_, object any) { h.OnAdd(object, false) }

// OnDelete implements informer.ResourceEventHandler.
func (h handler) OnDelete(object any) {
	lost, isUncertain := object.(informer.DeletedFinalStateUnknown)
	if isUncertain {
		object = lost.Obj
	}
	h.gc.apply(event{
		what: objectEnded, kind: h.kind, object: object.(metav1.Object), certain: !isUncertain,
	})
}
