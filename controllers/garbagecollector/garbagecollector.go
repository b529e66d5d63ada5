// Package garbagecollector deletes objects whose owners have all been deleted. It also finishes
// foreground and orphaning deletions: there the API server keeps the owner, with a finalizer, until
// its dependents are deleted or have lost their reference to it.
//
//	discovery -> an informer for each resource -> graph -> queue of UIDs -> worker -> requests
//
// The graph of owners is a value without a lock or a client (graph.go, graph_read.go). An
// informer's event takes it to its next state, and says which nodes to attempt. A worker reads a
// node, asks the API server where the graph isn't enough, and writes (attempt.go, requests.go). The
// monitors follow discovery, so kinds may come and go (monitors.go).
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

// Probe is an object whose owner doesn't exist: a garbage collector deletes it.
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

// Settings are the settings of this controller only. The zero value is useful.
type Settings struct {
	// DiscoveryPeriod is how often the garbage collector asks which resources exist; 0 means 30 s,
	// as in the original.
	DiscoveryPeriod time.Duration
}

// Add adds the controller to a manager. See Settings.Add.
func Add(mgr manager.Manager, options controllers.Options) error {
	return Settings{}.Add(mgr, options)
}

// Add adds the controller to a manager.
//
// Guarantees: an object that has a living owner isn't deleted, however late the informers are. For
// each owner, the API server itself has said, in an answer or by a watch, that it was deleted or
// wants its dependents to be deleted; a 404 from anything else doesn't count. The API server
// deletes the version that was judged, and refuses if the object has got another owner since. An
// object that has only absent owners is deleted in the end.
//
// An owner that orphans, or is deleted in the foreground, keeps its finalizer until the watches
// have shown that no dependent is left that has a reference to it, or blocks it. It also keeps its
// finalizer while a dependent may exist where the collector can't see: while discovery fails, or
// leaves out a group that existed before, or a kind isn't listed or watched. The log says which
// one, since when, and what answered. Once everything is known again, the owner is released by
// itself. A kind is dropped only when its informer has proven that it was removed; see
// cache.KindGoneError.
//
// If another garbage collector runs, this one doesn't start: the manager's Start returns an error
// that says what to do.
//
// Caveats: if a single aggregated API is down, or a single kind can't be listed because its
// conversion webhook fails, all such owners in the cluster keep their finalizers. Kubernetes'
// garbage collector releases the owners, and their dependents of that kind are deleted when it's
// back. A version of a group that has answered once, and has nothing that can be listed, watched
// and deleted, delays nothing. So metrics.k8s.io does so only if it was down when the process
// started.
//
// An owner doesn't wait for a dependent that is so new that no watch has shown it, or whose kind is
// newer than DiscoveryPeriod. A read of an owner is answered from etcd; if a proxy serves an old
// copy of an owner that was replaced under its name, the collector believes it. After an API server
// was restored from a backup, owners keep their finalizers until the informers have listed again,
// which may take ten minutes.
//
// It collects in all namespaces, whatever the manager's cache has. It has its own cache, so a kind
// that can't be listed doesn't delay other controllers. It needs permission to read, patch and
// delete everything.
//
// An object whose owner is of a kind that the API server doesn't know stays. So does a dependent of
// a custom resource that was deleted with its CRD, if the API server ended the watch before it had
// shown the deletion.
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

// collector is the shell of the graph: it passes events to the graph, and carries out the
// consequences.
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

// apply passes an event to the graph, and enqueues the nodes that have to be attempted.
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
