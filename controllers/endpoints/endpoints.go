// Package endpoints keeps, for each Service with a selector, the list of addresses behind it.
//
// The controller reads a Service and the Pods that it selects, and writes an Endpoints object of
// the Service's name. Functions without a clock or a client decide what it says: the address and
// the ports of each Pod (addresses.go), the grouping into subsets and the limit on addresses
// (subsets.go), and the labels, annotations and times (object.go). The reconciler reads and writes
// (reconcile.go); endpoints.go says which events lead to a reconcile.
//
// Neighbours: below it are controllers/internal/podstate, which says what a Pod's status means, and
// the manager. EndpointSlices have replaced Endpoints wherever traffic is routed; a second,
// optional controller of this package writes them, from slices.go on.
package endpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// controllerName is the name in events and labels. Kubernetes' own controller has the same.
const controllerName = "endpoint-controller"

// Probe is a headless Service that selects no Pods: a controller writes empty Endpoints for it. The
// original's name has an s more in flags than in labels.
var Probe = controllers.Probe{
	Original: "endpoints-controller",
	Object: &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Selector:  map[string]string{"loopwright.dev/probe": controllerName},
	}},
	Answer: &corev1.Endpoints{},
}

// Settings are the settings of this controller only. The zero value is useful.
type Settings struct {
	// BatchPeriod is how long a change of a Pod waits for others, so that a rollout of many Pods
	// causes fewer writes; kube-controller-manager's flag is --endpoint-updates-batch-period. With
	// 0, a change waits only after a write of the same Endpoints, for 0.2 ms for each address; all
	// changes of that time lead to one write.
	BatchPeriod time.Duration
}

// Add adds the controller to a manager. See Settings.Add.
func Add(mgr manager.Manager, options controllers.Options) error {
	return Settings{}.Add(mgr, options)
}

// Add adds the controller to a manager.
//
// Guarantees: when Services and Pods stop changing, the Endpoints of each Service with a selector
// become right, and the controller stops writing. If another client changes or deletes them, the
// controller restores them. As soon as the cache shows that a Service has no selector, it doesn't
// touch the Service's Endpoints, except to delete them after it. If another controller writes
// Endpoints already, this one doesn't start: the manager's Start returns an error that says what to
// do.
//
// Caveats: the cache must have all Pods, Services and Endpoints of its namespaces. Add registers an
// index of Services, so call it once for a manager.
func (s Settings) Add(mgr manager.Manager, options controllers.Options) error {
	c, _, err := controllers.Client(quiet{mgr})
	if err != nil {
		return fmt.Errorf("the Endpoints controller: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(
		context.Background(), &corev1.Service{}, selectorIndex, selectorIndexValues,
	); err != nil {
		return fmt.Errorf("finding the Services that select a Pod: %w", err)
	}
	r := &reconciler{
		client: c, live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(controllerName),
	}
	build, err := options.Builder(mgr, Probe)
	if err != nil {
		return fmt.Errorf("the Endpoints controller: %w", err)
	}
	return build.Named("endpoints").
		For(&corev1.Service{}, builder.WithPredicates(serviceChanges)).
		Watches(&corev1.Pod{}, podEvents{mgr.GetCache(), s.BatchPeriod, selectorIndex}.handler()).
		Watches(&corev1.Endpoints{}, endpointsEvents{mgr.GetCache(), &r.memory}.handler()).
		Complete(r)
}

// quiet is a manager whose clients don't log warnings. The API server warns in each answer that
// Endpoints are deprecated.
type quiet struct{ manager.Manager }

func (q quiet) GetConfig() *rest.Config {
	config := rest.CopyConfig(q.Manager.GetConfig())
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// Run runs only this controller, until the context ends. To set more than the number of workers,
// call controllers.Run with Add, or with the Add of Settings.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config,
		controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// serviceChanges filters out changes that don't affect the Endpoints: those of the status, which
// load balancers write, and of annotations.
var serviceChanges = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.(*corev1.Service), e.ObjectNew.(*corev1.Service)
		return !maps.Equal(before.Labels, now.Labels) ||
			!equality.Semantic.DeepEqual(before.Spec, now.Spec)
	},
}

// podEvents enqueues the Services that select a Pod. It ignores the Pods of the first list, because
// each Service has its own event then.
type podEvents struct {
	services client.Reader // the cache
	period   time.Duration // how long a change waits for others
	index    string        // the name of the index of Services by what they select
}

func (p podEvents) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList && hasIP(e.Object.(*corev1.Pod)) {
				p.wake(q, p.selecting(ctx, e.Object))
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, now := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
			if !hasIP(before) && !hasIP(now) {
				return
			}
			changed, relabelled := !looksSame(before, now), !maps.Equal(before.Labels, now.Labels)
			switch {
			case relabelled:
				p.wake(q, concerned(p.selecting(ctx, before), p.selecting(ctx, now), changed))
			case changed:
				p.wake(q, p.selecting(ctx, now))
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if hasIP(e.Object.(*corev1.Pod)) {
				p.wake(q, p.selecting(ctx, e.Object))
			}
		},
	}
}

func (p podEvents) wake(q queue, services []client.ObjectKey) {
	for _, name := range services {
		if request := (reconcile.Request{NamespacedName: name}); p.period > 0 {
			q.AddAfter(request, p.period)
		} else {
			q.Add(request)
		}
	}
}

func hasIP(pod *corev1.Pod) bool { return len(pod.Status.PodIPs) > 0 }

// looksSame reports whether two states of a Pod are the same for every Service that selects both.
// The other fields of a Pod that Endpoints show don't change once it has an address.
func looksSame(a, b *corev1.Pod) bool {
	_, aIsReady := podstate.Ready(a)
	_, bIsReady := podstate.Ready(b)
	return aIsReady == bIsReady && podstate.IsActive(a) == podstate.IsActive(b) &&
		podstate.IsTerminating(a) == podstate.IsTerminating(b) &&
		slices.Equal(a.Status.PodIPs, b.Status.PodIPs)
}

// concerned returns the Services to enqueue for a Pod whose labels have changed: those that have
// gained or lost it and, if it has changed in other ways, too, those that still select it.
func concerned(before, now []client.ObjectKey, changed bool) (services []client.ObjectKey) {
	for _, name := range before {
		if changed || !slices.Contains(now, name) {
			services = append(services, name)
		}
	}
	for _, name := range now {
		if !slices.Contains(before, name) {
			services = append(services, name)
		}
	}
	return services
}

// selectorIndex indexes Services by one of the labels that they select. A Pod has few labels, and a
// namespace may have many Services: one lookup for each label of the Pod finds the few whose
// selectors have to be compared.
const selectorIndex = "endpoints:selects"

func selectorIndexValues(object client.Object) []string {
	service := object.(*corev1.Service)
	if !isServed(service) {
		return nil
	}
	key := slices.Min(slices.Collect(maps.Keys(service.Spec.Selector)))
	return []string{labelPair(key, service.Spec.Selector[key])}
}

func labelPair(key, value string) string { return key + "=" + value }

// selecting returns the Services that select a Pod. The cache may lack the newest ones; then their
// own events come, and their reconciles find the Pod.
func (p podEvents) selecting(ctx context.Context, pod client.Object) (services []client.ObjectKey) {
	for _, key := range slices.Sorted(maps.Keys(pod.GetLabels())) {
		var list corev1.ServiceList
		which := client.MatchingFields{p.index: labelPair(key, pod.GetLabels()[key])}
		if err := p.services.List(
			ctx, &list, client.InNamespace(pod.GetNamespace()), which, client.UnsafeDisableDeepCopy,
		); err != nil {
			log.FromContext(ctx).Error(err, "Looking for the Services that select a Pod", "pod",
				client.ObjectKeyFromObject(pod))
			continue
		}
		for i := range list.Items {
			service := &list.Items[i]
			selector := labels.SelectorFromValidatedSet(service.Spec.Selector)
			if selector.Matches(labels.Set(pod.GetLabels())) {
				services = append(services, client.ObjectKeyFromObject(service))
			}
		}
	}
	return services
}

// endpointsEvents enqueues a Service if another client has written its Endpoints, and finds
// Endpoints without a Service.
//
// Which Endpoints without a Service does the controller delete? At its start, all: their Services
// may have been deleted while no controller was running. Later, only those that a controller has
// created. It keeps those that a user creates by hand, who may create the Service next.
type endpointsEvents struct {
	services client.Reader // the cache
	memory   *memory
}

func (e endpointsEvents) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, c event.CreateEvent, q queue) {
			if c.IsInInitialList || isManaged(c.Object) && !e.isOwnWrite(c.Object) {
				q.Add(requestFor(c.Object))
			}
		},
		UpdateFunc: func(_ context.Context, u event.UpdateEvent, q queue) {
			if (isManaged(u.ObjectOld) || isManaged(u.ObjectNew)) && !e.isOwnWrite(u.ObjectNew) {
				q.Add(requestFor(u.ObjectNew))
			}
		},
		DeleteFunc: func(ctx context.Context, d event.DeleteEvent, q queue) {
			if err := e.services.Get(
				ctx, client.ObjectKeyFromObject(d.Object), &corev1.Service{},
				client.UnsafeDisableDeepCopy,
			); err == nil {
				q.Add(requestFor(d.Object))
			}
		},
	}
}

func isManaged(endpoints client.Object) bool {
	return endpoints.GetLabels()[managedBy] == controllerName
}

// isOwnWrite reports whether the controller has just written this version: then there's nothing to
// reconcile.
func (e endpointsEvents) isOwnWrite(endpoints client.Object) bool {
	return e.memory.isOwnWrite(client.ObjectKeyFromObject(endpoints),
		endpoints.GetResourceVersion())
}

func requestFor(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
