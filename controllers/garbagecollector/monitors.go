package garbagecollector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
)

// monitors are the source of events: a metadata informer for each resource that discovery lists and
// that can be listed, watched and deleted. They follow discovery while they run.
//
// The workers begin when all informers have listed, or after syncPatience: what an informer does
// not show is asked of the API server.
type monitors struct {
	gc     *collector
	cache  cache.Cache
	asks   discovery.DiscoveryInterfaceWithContext
	period time.Duration
	log    logr.Logger

	running sync.WaitGroup // the goroutines that Start has begun
	found   chan struct{}  // closed by follow after the first discovery; then all has them

	mu  sync.Mutex // guards what follows
	all map[schema.GroupResource]*monitor
}

// monitor watches one resource.
type monitor struct {
	kind         schema.GroupVersionKind
	informer     cache.Informer
	registration informer.ResourceEventHandlerRegistration
}

// syncPatience is how long the first lists may take before the workers begin without them.
const syncPatience = 30 * time.Second

// discoveryPeriod is that of the original.
const discoveryPeriod = 30 * time.Second

// firstPause is the time between two questions until the first one is answered.
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
		found: make(chan struct{}), all: map[schema.GroupResource]*monitor{},
	}, nil
}

// keepWhatMatters drops what the graph does not need.
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
	for resource, one := range m.now() {
		select {
		case <-one.registration.HasSyncedChecker().Done():
		case <-patience.C:
			m.log.Info("Collecting before all resources are listed", "one of them", resource)
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s are not listed yet: %w", resource, context.Cause(ctx))
		}
	}
	return nil
}

func (m *monitors) now() map[schema.GroupResource]monitor {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[schema.GroupResource]monitor, len(m.all))
	for resource, one := range m.all {
		all[resource] = *one
	}
	return all
}

// follow asks discovery again and again, and brings the monitors up to date.
func (m *monitors) follow(ctx context.Context) {
	pause, isFirst := firstPause, true
	for {
		if err := m.update(ctx); err != nil {
			if ctx.Err() == nil {
				m.log.Error(err, "The garbage collector does not know all resources")
			}
		} else if isFirst {
			close(m.found)
			pause, isFirst = m.period, false
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// update asks discovery once. A group that it does not answer for keeps its monitors.
func (m *monitors) update(ctx context.Context) error {
	groups, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, m.asks)
	failed, isPartial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !isPartial {
		return fmt.Errorf("asking discovery: %w", err)
	}
	if isPartial {
		m.log.Info("Discovery does not answer for some groups, which keep their informers", "error",
			err.Error())
	}
	before := m.now()
	kept := map[schema.GroupResource]string{}
	for resource, one := range before {
		kept[resource] = one.kind.Version
	}
	wanted := watchable(groups, lists, kept)
	for resource, one := range before {
		_, isFailed := failed[one.kind.GroupVersion()]
		if isFailed && wanted[resource].Empty() {
			wanted[resource] = one.kind
		}
	}
	var failures []error
	for resource, kind := range wanted {
		one, isThere := before[resource]
		if isThere && one.kind == kind && !one.informer.IsStopped() {
			continue
		}
		if err := m.begin(ctx, resource, kind); err != nil {
			failures = append(failures, err)
			delete(before, resource) // the old one, if there is one, stays
			continue
		}
		if isThere {
			m.end(ctx, one, one.kind != kind)
		}
	}
	for resource, one := range before {
		if wanted[resource].Empty() {
			m.mu.Lock()
			delete(m.all, resource)
			m.mu.Unlock()
			m.end(ctx, one, true)
		}
	}
	for _, err := range failures {
		m.log.Error(err, "A resource is not watched; the garbage collector tries again")
	}
	return nil
}

// begin starts to watch a resource.
func (m *monitors) begin(
	ctx context.Context, resource schema.GroupResource, kind schema.GroupVersionKind,
) error {
	from, err := m.cache.GetInformer(ctx, metadataOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("an informer of %s: %w", resource, err)
	}
	one := &monitor{kind: kind, informer: from}
	one.registration, err = from.AddEventHandler(handler{m.gc, &one.kind})
	if err != nil {
		return fmt.Errorf("an informer of %s: %w", resource, err)
	}
	m.mu.Lock()
	m.all[resource] = one
	m.mu.Unlock()
	m.log.V(1).Info("Watching a resource", "resource", resource, "kind", kind.String())
	return nil
}

// end stops a monitor, and then tells the graph, in which its objects are not shown any more. Those
// of the kind's next monitor, in another version, are.
func (m *monitors) end(ctx context.Context, one monitor, removes bool) {
	err := one.informer.RemoveEventHandler(one.registration)
	if ending, ok := one.registration.(interface{ Done() <-chan struct{} }); ok && err == nil {
		<-ending.Done()
	}
	if removes {
		err = errors.Join(err, m.cache.RemoveInformer(ctx, metadataOf(one.kind)))
		m.gc.apply(event{what: kindEnded, kind: &one.kind})
	}
	m.log.V(1).Info("No longer watching a kind", "kind", one.kind.String())
	if err != nil {
		m.log.Error(err, "An informer is not removed", "kind", one.kind.String())
	}
}

// watchable returns the kinds of all resources that can be listed, watched and deleted. A resource
// stays in the version that it has as long as that is served; otherwise, it gets the one that the
// server prefers.
func watchable(
	groups []*metav1.APIGroup, lists []*metav1.APIResourceList,
	kept map[schema.GroupResource]string,
) map[schema.GroupResource]schema.GroupVersionKind {
	preferred := map[string]string{}
	for _, group := range groups {
		preferred[group.Name] = group.PreferredVersion.Version
	}
	best := map[schema.GroupResource]schema.GroupVersionKind{}
	for _, list := range lists {
		in, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // the server's mistake; there is nothing to watch
		}
		for _, resource := range list.APIResources {
			id := schema.GroupResource{Group: in.Group, Resource: resource.Name}
			if !isWatchable(id, resource.Verbs) {
				continue
			}
			old, isThere := best[id]
			isBetter := in.Version == kept[id] ||
				in.Version == preferred[in.Group] && old.Version != kept[id]
			if !isThere || isBetter {
				best[id] = schema.GroupVersionKind{
					Group:   in.Group,
					Version: cmp.Or(resource.Version, in.Version), Kind: resource.Kind,
				}
			}
		}
	}
	return best
}

// isWatchable is false of Events: there are many, they own nothing, and they end by themselves.
func isWatchable(resource schema.GroupResource, verbs metav1.Verbs) bool {
	isEvent := resource.Resource == "events" &&
		(resource.Group == "" || resource.Group == "events.k8s.io")
	return !isEvent && !strings.Contains(resource.Resource, "/") &&
		slices.Contains(verbs, "list") && slices.Contains(verbs, "watch") &&
		slices.Contains(verbs, "delete")
}

// handler brings what an informer shows to the graph.
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
