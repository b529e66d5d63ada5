// Package garbagecollector deletes objects whose owners are all gone, and finishes deletions in the
// foreground and those that orphan: there the API server keeps the owner, with a finalizer, until
// its dependents are gone or have lost their reference to it.
//
//	discovery -> an informer for each resource -> graph -> queue of UIDs -> worker -> requests
//
// The graph of owners is a value without a lock or a client (graph.go, graph_read.go); an event of
// an informer takes it to its next state, and says which nodes to attempt. A worker reads a node,
// asks the API server where the graph is not enough, and writes (attempt.go, requests.go). The
// monitors follow discovery, so that kinds may come and go (monitors.go).
//
// Neighbours: below it is the manager. mini has a smaller one, for kinds that are known before it
// starts.
package garbagecollector

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
	"github.com/loopwright/loopwright/workqueue"
)

// controllerName is the name in events. Kubernetes' own controller has the same.
const controllerName = "garbage-collector-controller"

// Probe is an object whose owner does not exist: a garbage collector deletes it.
var Probe = controllers.Probe{
	Original: controllerName, Optional: true,
	Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "loopwright-no-owner",
			UID: "00000000-0000-0000-0000-000000000000",
		}},
	}},
	IsAnsweredByDeletion: true,
}

// Settings are those of this controller only. The zero value is useful.
type Settings struct {
	// DiscoveryPeriod is how often the garbage collector asks which resources there are: 30 s if it
	// is 0, as in the original.
	DiscoveryPeriod time.Duration
}

// Add adds the controller to a manager. See Settings.Add.
func Add(mgr manager.Manager, options controllers.Options) error {
	return Settings{}.Add(mgr, options)
}

// Add adds the controller to a manager.
//
// Guarantees: an object that has a living owner is not deleted, however late the informers are. The
// API server has said of each owner, in an answer or by a watch, that it is gone or wants its
// dependents to be deleted; a 404 that's somebody else's doesn't count. The API server deletes the
// version that was judged, and refuses if the object has got another owner since. What has only
// absent owners is deleted in the end.
//
// An owner that orphans, or is deleted in the foreground, keeps its finalizer until the watches have
// shown that no dependent is left that has a reference to it, or blocks it. It also keeps it while a
// dependent may be where nobody looks: while discovery fails, or leaves out a group that was there,
// or a kind isn't listed or watched. The log says which one, since when, and what answered. The
// owner goes by itself when all is known again. A kind is forgotten only when its informer has proven
// that it's gone; see cache.KindGoneError.
//
// If another garbage collector runs, this one does not start: the manager's Start returns an error
// that says what to do.
//
// Caveats: one aggregated API that's down, or one kind that can't be listed because its conversion
// webhook fails, keeps the finalizers of all such owners in the cluster. Kubernetes' garbage
// collector lets the owners go, and their dependents of that kind are deleted when it's back. A
// version of a group that has answered once, and has nothing that can be listed, watched and
// deleted, holds nothing up: so metrics.k8s.io does only if it was down when the process started.
//
// An owner doesn't wait for a dependent that's so new that no watch has shown it, or whose kind is
// newer than DiscoveryPeriod. A read of an owner is answered from etcd; a proxy that serves an old
// copy of one that was replaced under its name is believed. After an API server was restored from a
// backup, owners keep their finalizers until the informers have listed again, which may take ten
// minutes.
//
// It collects in all namespaces, whatever the manager's cache has; it has a cache of its own, so
// that a kind that cannot be listed delays no other controller. An object whose owner is of a kind
// that the API server does not know stays. It needs the right to read, patch and delete everything.
func (s Settings) Add(mgr manager.Manager, options controllers.Options) error {
	asks, err := discovery.NewDiscoveryClientForConfigAndClient(
		rest.CopyConfig(mgr.GetConfig()), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("the garbage collector: making its client for discovery: %w", err)
	}
	return s.add(mgr, options, asks)
}

// add is Add with another discovery, for tests.
func (s Settings) add(
	mgr manager.Manager, options controllers.Options, asks discovery.DiscoveryInterfaceWithContext,
) error {
	config := rest.CopyConfig(mgr.GetConfig())
	config.WarningHandlerWithContext = rest.NoWarnings{} // it reads deprecated kinds, too
	c, err := client.New(config, client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		Log: mgr.GetLogger(), Recorder: mgr.GetControllerOptions().Recorder,
	})
	if err != nil {
		return fmt.Errorf("the garbage collector: making its client: %w", err)
	}
	gc := &collector{
		client: c, events: mgr.GetEventRecorder(controllerName), graph: newGraph(),
	}
	watching, err := newMonitors(mgr, config, asks, gc)
	if err != nil {
		return fmt.Errorf("the garbage collector: %w", err)
	}
	watching.period = cmp.Or(s.DiscoveryPeriod, watching.period)
	gc.complete, gc.current = watching.complete, watching.current
	build, err := options.Builder(mgr, Probe)
	if err != nil {
		return fmt.Errorf("the garbage collector: %w", err)
	}
	return build.Named("garbagecollector").WatchesRawSource(watching).Complete(gc)
}

// Run runs only this controller, until the context ends.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config,
		controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}

// collector is the shell of the graph: it brings events to the graph, and carries out what follows.
type collector struct {
	client   client.Client // without a cache
	events   events.EventRecorder
	complete func() error // that of the monitors, as is the next
	current  func(ctx context.Context, of schema.GroupVersionKind) error

	mu    sync.Mutex // guards what follows
	graph *graph
	queue queue // nil until the monitors have started, before any worker
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// apply brings an event to the graph, and enqueues what has to be attempted.
func (gc *collector) apply(e event) {
	gc.mu.Lock()
	todo := gc.graph.step(e)
	gc.mu.Unlock()
	for _, uid := range todo.attempt {
		gc.queue.Add(requestFor(uid))
	}
	for _, invalid := range todo.invalid {
		gc.report(invalid)
	}
}

// requestFor names a node in the queue by its UID: a virtual node has no other name.
func requestFor(uid types.UID) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: string(uid)}}
}

// report tells the user about a reference to an owner in another namespace. It counts as absent.
func (gc *collector) report(invalid invalidOwner) {
	dependent := metadataOf(invalid.kind)
	dependent.Namespace, dependent.Name = invalid.namespace, invalid.name
	dependent.UID = invalid.uid
	gc.events.Eventf(dependent, nil, corev1.EventTypeWarning, "OwnerRefInvalidNamespace",
		"CollectGarbage", "ownerRef %s does not exist in namespace %q",
		identityOf(invalid.ref, invalid.namespace), invalid.namespace)
}
