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
	"github.com/loopwright/loopwright/manager/controller"
)

// A second controller says the same in EndpointSlices, which is what nodes read. It is optional, because Kubernetes' own
// controller for them is on wherever nobody has switched it off.
//
// What is behind a Service on which ports is found as for Endpoints. The rest is its own: what a slice says about a Pod
// (slices_endpoint.go), which slices have to be written (slices_plan.go), what is written into them
// (slices_object.go), who writes it (slices_reconcile.go), under which name (slices_name.go), and when
// (slices_watch.go).

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
