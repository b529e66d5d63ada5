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

// A second controller says the same in EndpointSlices, which is what nodes read. It is optional, because Kubernetes' own
// controller for them is on wherever nobody has switched it off.
//
// What is behind a Service on which ports is found as for Endpoints. The rest is its own: what a slice says about a Pod
// (slices_endpoint.go), which slices have to be written (slices_plan.go), what is written into them
// (slices_object.go), who writes it (slices_reconcile.go), under which name (slices_object.go), and when
// (slices.go).

const (
	// sliceManager is the value of the label endpointslice.kubernetes.io/managed-by, and Kubernetes' own. Whoever runs
	// this controller in the place of the original finds the same slices.
	sliceManager = "endpointslice-controller.k8s.io"
	// sliceReporter is who reports events.
	sliceReporter = "endpoint-slice-controller"
	// mostPerSlice is how many endpoints a slice gets unless somebody says otherwise, and mostAllowed how many the API
	// server allows.
	mostPerSlice, mostAllowed = 100, 1000
)

// sliceProbe is a headless Service that selects nothing, and gets a slice all the same.
var sliceProbe = controllers.Probe{
	Original: "endpointslice-controller", Optional: true,
	Object: &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Selector:  map[string]string{"loopwright.dev/probe": sliceReporter},
	}},
	Answer:      &discoveryv1.EndpointSlice{},
	AnswerLabel: discoveryv1.LabelServiceName,
}

// SliceSettings are those of the controller for EndpointSlices alone. The zero value serves.
type SliceSettings struct {
	// MaxPerSlice is how many endpoints a slice may have: 100 if it is 0, and 1,000 at most. It is what
	// kube-controller-manager calls --max-endpoints-per-slice. Slices that have more when the controller starts are
	// divided.
	MaxPerSlice int
	// BatchPeriod is how long a change of a Pod waits for others. It is what kube-controller-manager calls
	// --endpointslice-updates-batch-period. With 0, nothing waits but what follows a write for the same Service, which
	// rests for 0.2 ms for each endpoint in what was written.
	BatchPeriod time.Duration
}

// AddSlices adds the controller for EndpointSlices to a manager. See SliceSettings.Add.
func AddSlices(mgr manager.Manager, options controllers.Options) error {
	return SliceSettings{}.Add(mgr, options)
}

// Add adds the controller for EndpointSlices to a manager.
//
// Guarantees: when nothing changes any more, the EndpointSlices of each Service with a selector list each endpoint once,
// and nothing is written. That holds whatever happens to those slices, and whatever becomes of the answers to the
// controller's requests. Slices that somebody else manages, which their label endpointslice.kubernetes.io/managed-by
// says, are not touched, and neither are those of a Service without a selector. If somebody else writes slices when the
// controller starts, it does not, and the manager's Start returns an error that says what to do.
//
// Caveats: the garbage collector deletes slices with their Service; this controller does not. The field
// trafficDistribution of a Service becomes hints; the annotation service.kubernetes.io/topology-mode does not.
// Endpoints that a user writes for a Service without a selector are not copied into slices, which Kubernetes has another
// controller for. The cache needs all Pods, Services and EndpointSlices of its namespaces, and the metadata of Nodes. It
// gets indexes, so Add may be called once for a manager.
//
// Errors: MaxPerSlice is less than 0 or more than 1,000.
func (s SliceSettings) Add(mgr manager.Manager, options controllers.Options) error {
	most := cmp.Or(s.MaxPerSlice, mostPerSlice)
	if most < 1 || most > mostAllowed {
		return fmt.Errorf("the EndpointSlice controller: MaxPerSlice is %d, and has to be between 1 and %d", most, mostAllowed)
	}
	c, _, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the EndpointSlice controller: %w", err)
	}
	if err := addSliceIndexes(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &sliceReconciler{client: c, live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(sliceReporter), most: most}
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

// RunSlices runs the controller for EndpointSlices, and nothing else, until the context ends. See Run.
func RunSlices(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config, controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, AddSlices)
}

// The fields by which this controller finds objects. Each controller has its own, because a field may be added once.
const (
	sliceSelectorIndex = "endpointslices:selects" // of Services
	sliceIndex         = "endpointslices:service" // of slices: the Service whose they are
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
			if service := object.GetLabels()[discoveryv1.LabelServiceName]; isSliceOf(object, service) {
				return []string{service}
			}
			return nil
		}},
		{&corev1.Pod{}, nodeIndex, func(object client.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} }},
	} {
		if err := to.IndexField(context.Background(), index.of, index.field, index.values); err != nil {
			return fmt.Errorf("the EndpointSlice controller: %w", err)
		}
	}
	return nil
}

// isSliceOf reports whether a slice is one of those that the controller manages for a Service.
func isSliceOf(slice client.Object, service string) bool {
	labels := slice.GetLabels()
	return service != "" && labels[discoveryv1.LabelServiceName] == service && labels[discoveryv1.LabelManagedBy] == sliceManager
}

// sliceEvents wakes the Services whose slices somebody else has touched.
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
				wakeServiceOf(q, u.ObjectOld) // which may be another one than that of the next
				wakeServiceOf(q, u.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, d event.DeleteEvent, q queue) {
			s.written.forget(client.ObjectKeyFromObject(d.Object))
			wakeServiceOf(q, d.Object)
		},
	}
}

// isOwnWrite reports whether the controller has just written this: then there is nothing to look at.
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

// nodeEvents wakes the Services of a Node's Pods, if the Node comes or goes, or if its zone changes. A cloud may write the
// zone some time after the Node has come. Nodes of the first list wake nobody, because each Service has an event of its
// own then.
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
			if u.ObjectOld.GetLabels()[corev1.LabelTopologyZone] != u.ObjectNew.GetLabels()[corev1.LabelTopologyZone] {
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
	if err := n.cache.List(ctx, &list, client.MatchingFields{nodeIndex: node.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Looking for the Pods of a Node", "node", node.GetName())
		return
	}
	for i := range list.Items {
		if pod := &list.Items[i]; hasIP(pod) {
			n.pods.wake(q, n.pods.selecting(ctx, pod))
		}
	}
}
