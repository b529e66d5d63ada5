// Package endpoints keeps, for each Service with a selector, the list of addresses behind it.
//
// A Service and the Pods that it selects go in; an Endpoints object of the Service's name comes out. What it says is
// decided by functions without a clock or a client, each in a file of its own: which ports a Pod serves
// (addresses.go), with which address (addresses.go), how all of it is written down (pack.go),
// what is left out if it is too much (pack.go), since when it is true (object.go), and whether
// there is anything to write (object.go). The reconciler looks and writes (reconcile.go), and
// endpoints.go says when.
//
// Neighbours: below it are controllers/internal/podstate, which says what a Pod's status means, and the manager, which
// runs it all. EndpointSlices have replaced Endpoints wherever traffic is routed; a second controller writes them, which
// is optional. slices.go says how it is built.
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

// controllerName is what events and labels say; it is the name of Kubernetes' own controller.
const controllerName = "endpoint-controller"

// probe is a headless Service that selects nothing, and gets Endpoints all the same. The original's name has one letter
// more in flags than it has in labels.
var probe = controllers.Probe{
	Original: "endpoints-controller",
	Object: &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Selector:  map[string]string{"loopwright.dev/probe": controllerName},
	}},
	Answer: &corev1.Endpoints{},
}

// Settings are those of this controller alone. The zero value serves.
type Settings struct {
	// BatchPeriod is how long a change of a Pod waits for others, so that a rollout of many Pods leads to fewer writes.
	// It is what kube-controller-manager calls --endpoint-updates-batch-period. With 0, nothing waits but what follows a
	// write of the same Endpoints: it leads to one more, after a rest of 0.2 ms for each address.
	BatchPeriod time.Duration
}

// Add adds the controller to a manager. See Settings.Add.
func Add(mgr manager.Manager, options controllers.Options) error { return Settings{}.Add(mgr, options) }

// Add adds the controller to a manager.
//
// Guarantees: when nothing changes any more, the Endpoints of each Service with a selector are right, and nothing is
// written. That holds whatever happens to them: who changes or deletes them makes work for the controller, and nothing
// else. Endpoints of Services without a selector are not touched, except that they go with their Service. If somebody
// else writes Endpoints when the controller starts, it does not, and the manager's Start returns an error that says what
// to do.
//
// Caveats: the cache needs all Pods, Services and Endpoints of its namespaces. It gets an index for Services, so Add may
// be called once for a manager.
func (s Settings) Add(mgr manager.Manager, options controllers.Options) error {
	c, _, err := controllers.Client(quiet{mgr})
	if err != nil {
		return fmt.Errorf("the Endpoints controller: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Service{}, selectorIndex, selectorIndexValues); err != nil {
		return fmt.Errorf("finding the Services that select a Pod: %w", err)
	}
	r := &reconciler{client: c, live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(controllerName)}
	build, err := options.Builder(mgr, probe)
	if err != nil {
		return fmt.Errorf("the Endpoints controller: %w", err)
	}
	return build.Named("endpoints").
		For(&corev1.Service{}, builder.WithPredicates(serviceChanges)).
		Watches(&corev1.Pod{}, podEvents{mgr.GetCache(), s.BatchPeriod, selectorIndex}.handler()).
		Watches(&corev1.Endpoints{}, endpointsEvents{mgr.GetCache(), &r.memory}.handler()).
		Complete(r)
}

// quiet is a manager whose clients do not log warnings. The API server adds to each answer that Endpoints are deprecated.
type quiet struct{ manager.Manager }

func (q quiet) GetConfig() *rest.Config {
	config := rest.CopyConfig(q.Manager.GetConfig())
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// Run runs the controller, and nothing else, until the context ends. A program that wants more than a number of workers
// calls controllers.Run with Add, or with the Add of its Settings.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config, controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// serviceChanges drops what does not matter to the Endpoints: the status, which belongs to load balancers, and
// annotations.
var serviceChanges = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.(*corev1.Service), e.ObjectNew.(*corev1.Service)
		return !maps.Equal(before.Labels, now.Labels) || !equality.Semantic.DeepEqual(before.Spec, now.Spec)
	},
}

// podEvents wakes the Services that select a Pod. A Pod of the first list wakes nobody, because each Service has an
// event of its own then.
type podEvents struct {
	services client.Reader // the cache
	period   time.Duration // for which changes are collected
	index    string        // the field of Services that says what they select
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

// looksSame reports whether two states of a Pod are the same to all Services that select both. What else Endpoints
// show of a Pod does not change once it has an address.
func looksSame(a, b *corev1.Pod) bool {
	_, aIsReady := podstate.Ready(a)
	_, bIsReady := podstate.Ready(b)
	return aIsReady == bIsReady && podstate.IsActive(a) == podstate.IsActive(b) && podstate.IsTerminating(a) == podstate.IsTerminating(b) &&
		slices.Equal(a.Status.PodIPs, b.Status.PodIPs)
}

// concerned are the Services to wake for a Pod with other labels than before: those that have gained or lost it, and if
// it has changed in other ways, too, those that keep it.
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

// selectorIndex is a field of Services: one of the labels that they select. A Pod has few labels, and a namespace may
// have many Services, so they are looked up by the Pod's labels, and only those that are found are compared.
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

// selecting are the Services that select a Pod. The cache may not have the newest ones; but then their own event
// comes, and their reconcile finds the Pod.
func (p podEvents) selecting(ctx context.Context, pod client.Object) (services []client.ObjectKey) {
	for _, key := range slices.Sorted(maps.Keys(pod.GetLabels())) {
		var list corev1.ServiceList
		which := client.MatchingFields{p.index: labelPair(key, pod.GetLabels()[key])}
		if err := p.services.List(ctx, &list, client.InNamespace(pod.GetNamespace()), which, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Looking for the Services that select a Pod", "pod", client.ObjectKeyFromObject(pod))
			continue
		}
		for i := range list.Items {
			if service := &list.Items[i]; labels.SelectorFromValidatedSet(service.Spec.Selector).Matches(labels.Set(pod.GetLabels())) {
				services = append(services, client.ObjectKeyFromObject(service))
			}
		}
	}
	return services
}

// endpointsEvents wakes a Service if somebody else touches its Endpoints, and finds Endpoints without a Service.
//
// Which of these are deleted? At the start, all: the Service may have been deleted while no controller was running.
// Later, those that a controller has made. What a user makes by hand stays: the Service may be the next thing that the
// user creates.
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
			if err := e.services.Get(ctx, client.ObjectKeyFromObject(d.Object), &corev1.Service{}, client.UnsafeDisableDeepCopy); err == nil {
				q.Add(requestFor(d.Object))
			}
		},
	}
}

func isManaged(endpoints client.Object) bool {
	return endpoints.GetLabels()[managedBy] == controllerName
}

// isOwnWrite reports whether the controller has just written this: then there is nothing to look at.
func (e endpointsEvents) isOwnWrite(endpoints client.Object) bool {
	return e.memory.isOwnWrite(client.ObjectKeyFromObject(endpoints), endpoints.GetResourceVersion())
}

func requestFor(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
