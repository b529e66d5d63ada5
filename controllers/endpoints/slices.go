package endpoints

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
)

// A second controller writes the same facts into EndpointSlices, which the nodes read. It is
// optional, because clusters run Kubernetes' own controller for them by default.
//
// It finds the Pods and ports of a Service as the first controller does. Its own files: what a
// slice says about a Pod (slices_endpoint.go), which slices to write (slices_plan.go), their
// content and names (slices_object.go), the reconciler (slices_reconcile.go), and the events that
// lead to a reconcile (slices.go).

const (
	// sliceManager is the value of the label endpointslice.kubernetes.io/managed-by. It's that of
	// Kubernetes' own controller, so that this one takes over its slices.
	sliceManager = "endpointslice-controller.k8s.io"
	// sliceReporter is the reporting controller in events.
	sliceReporter = "endpoint-slice-controller"
	// mostPerSlice is the default of MaxPerSlice, and mostAllowed the API server's limit.
	mostPerSlice, mostAllowed = 100, 1000
)

// sliceProbe is a headless Service that selects no Pods: a controller creates an empty slice for
// it.
var sliceProbe = controllers.Probe{
	Original: "endpointslice-controller", Optional: true,
	Object: &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Selector:  map[string]string{"loopwright.dev/probe": sliceReporter},
	}},
	Answer:      &discoveryv1.EndpointSlice{},
	AnswerLabel: discoveryv1.LabelServiceName,
}

// SliceSettings are the settings of the controller for EndpointSlices only. The zero value is
// useful.
type SliceSettings struct {
	// MaxPerSlice is how many endpoints a slice may have: 100 if it is 0, and 1,000 at most;
	// kube-controller-manager's flag is --max-endpoints-per-slice. The controller splits existing
	// slices that have more.
	MaxPerSlice int
	// BatchPeriod is how long a change of a Pod waits for others; kube-controller-manager's flag is
	// --endpointslice-updates-batch-period. With 0, a change waits only after a write for the same
	// Service, for 0.2 ms for each endpoint in the slices that were written.
	BatchPeriod time.Duration
}

// AddSlices adds the controller for EndpointSlices to a manager. See SliceSettings.Add.
func AddSlices(mgr manager.Manager, options controllers.Options) error {
	return SliceSettings{}.Add(mgr, options)
}

// Add adds the controller for EndpointSlices to a manager.
//
// Guarantees: when Services and Pods stop changing, the EndpointSlices of each Service with a
// selector list each endpoint once, and the controller stops writing. This holds even if other
// clients change those slices, and if answers to the controller's requests get lost. It doesn't
// touch slices that another program manages according to their label
// endpointslice.kubernetes.io/managed-by, or, as soon as the cache shows that a Service has no
// selector, those of the Service. If another controller writes slices already, this one doesn't
// start: the manager's Start returns an error that says what to do.
//
// Caveats: when a Service is deleted, the garbage collector deletes its slices; this controller
// doesn't. It turns the field trafficDistribution of a Service into hints, but not the annotation
// service.kubernetes.io/topology-mode. It doesn't copy Endpoints that a user writes for a Service
// without a selector into slices; Kubernetes has another controller for that. The cache must have
// all Pods, Services and EndpointSlices of its namespaces, and the metadata of Nodes. Add registers
// indexes, so call it once for a manager.
//
// Errors: MaxPerSlice is less than 0 or more than 1,000.
func (s SliceSettings) Add(mgr manager.Manager, options controllers.Options) error {
	most := cmp.Or(s.MaxPerSlice, mostPerSlice)
	if most < 1 || most > mostAllowed {
		return fmt.Errorf("the EndpointSlice controller: MaxPerSlice is %d, and has to be "+
			"between 1 and %d", most, mostAllowed)
	}
	c, _, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the EndpointSlice controller: %w", err)
	}
	if err := addSliceIndexes(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &sliceReconciler{
		client: c, live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(sliceReporter),
		most: most,
	}
	build, err := options.Builder(mgr, sliceProbe)
	if err != nil {
		return fmt.Errorf("the EndpointSlice controller: %w", err)
	}
	pods := podEvents{services: mgr.GetCache(), period: s.BatchPeriod, index: sliceSelectorIndex}
	return build.Named("endpointslice").
		For(&corev1.Service{}, builder.WithPredicates(serviceChanges)).
		Watches(&corev1.Pod{}, pods.handler()).
		WatchesMetadata(&corev1.Node{}, nodeEvents{mgr.GetCache(), pods}.handler()).
		Watches(&discoveryv1.EndpointSlice{}, sliceEvents{&r.written}.handler()).
		Complete(r)
}

// RunSlices runs only the controller for EndpointSlices, until the context ends. See Run.
func RunSlices(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config,
		controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}},
		AddSlices)
}

// The indexes of this controller. It can't share those of the first, because an index may be added
// only once.
const (
	sliceSelectorIndex = "endpointslices:selects" // of Services
	sliceIndex         = "endpointslices:service" // of slices: their Service
	nodeIndex          = "endpointslices:node"    // of Pods
)

func addSliceIndexes(to client.FieldIndexer) error {
	for _, index := range []struct {
		of     client.Object
		field  string
		values client.IndexerFunc
	}{
		{&corev1.Service{}, sliceSelectorIndex, selectorIndexValues},
		{&discoveryv1.EndpointSlice{}, sliceIndex, func(object client.Object) []string {
			service := object.GetLabels()[discoveryv1.LabelServiceName]
			if isSliceOf(object, service) {
				return []string{service}
			}
			return nil
		}},
		{&corev1.Pod{}, nodeIndex, func(object client.Object) []string {
			return []string{object.(*corev1.Pod).Spec.NodeName}
		}},
	} {
		if err := to.IndexField(
			context.Background(), index.of, index.field, index.values,
		); err != nil {
			return fmt.Errorf("the EndpointSlice controller: %w", err)
		}
	}
	return nil
}

// isSliceOf reports whether the controller manages a slice for a Service.
func isSliceOf(slice client.Object, service string) bool {
	labels := slice.GetLabels()
	return service != "" && labels[discoveryv1.LabelServiceName] == service &&
		labels[discoveryv1.LabelManagedBy] == sliceManager
}

// sliceEvents enqueues the Services whose slices another client has written.
type sliceEvents struct{ written *memory }

func (s sliceEvents) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, c event.CreateEvent, q queue) {
			if !s.isOwnWrite(c.Object) {
				wakeServiceOf(q, c.Object)
			}
		},
		UpdateFunc: func(_ context.Context, u event.UpdateEvent, q queue) {
			if !s.isOwnWrite(u.ObjectNew) {
				wakeServiceOf(q, u.ObjectOld) // its Service may be a different one
				wakeServiceOf(q, u.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, d event.DeleteEvent, q queue) {
			s.written.forget(client.ObjectKeyFromObject(d.Object))
			wakeServiceOf(q, d.Object)
		},
	}
}

// isOwnWrite reports whether the controller has just written this version: then there's nothing to
// reconcile.
func (s sliceEvents) isOwnWrite(slice client.Object) bool {
	return s.written.isOwnWrite(client.ObjectKeyFromObject(slice), slice.GetResourceVersion())
}

func wakeServiceOf(q queue, slice client.Object) {
	if service := slice.GetLabels()[discoveryv1.LabelServiceName]; isSliceOf(slice, service) {
		request := requestFor(slice)
		request.Name = service
		q.Add(request)
	}
}

// nodeEvents enqueues the Services of a Node's Pods if the Node is created or deleted, or if its
// zone changes: a cloud may write the zone some time after the Node was created. It ignores the
// Nodes of the first list, because each Service has its own event then.
type nodeEvents struct {
	cache client.Reader
	pods  podEvents
}

func (n nodeEvents) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, c event.CreateEvent, q queue) {
			if !c.IsInInitialList {
				n.wakeServicesOn(ctx, q, c.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, u event.UpdateEvent, q queue) {
			if u.ObjectOld.GetLabels()[corev1.LabelTopologyZone] !=
				u.ObjectNew.GetLabels()[corev1.LabelTopologyZone] {
				n.wakeServicesOn(ctx, q, u.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, d event.DeleteEvent, q queue) {
			n.wakeServicesOn(ctx, q, d.Object)
		},
	}
}

func (n nodeEvents) wakeServicesOn(ctx context.Context, q queue, node client.Object) {
	var list corev1.PodList
	if err := n.cache.List(
		ctx, &list, client.MatchingFields{nodeIndex: node.GetName()}, client.UnsafeDisableDeepCopy,
	); err != nil {
		log.FromContext(ctx).Error(err, "Looking for the Pods of a Node", "node", node.GetName())
		return
	}
	for i := range list.Items {
		if pod := &list.Items[i]; hasIP(pod) {
			n.pods.wake(q, n.pods.selecting(ctx, pod))
		}
	}
}
