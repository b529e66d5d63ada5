// Package originals plays Kubernetes' own controllers in the simulation: the same days, mishaps and
// judges as for the library's (docs/bad-days.md).
//
//	ReplicaSet, Deployment, ... -> simulation.Process -> stories
//
// It's a module of its own, because Kubernetes' controllers are compiled with the client-go that they
// were released with, and the library needs a newer one. So nothing here may import the library's
// manager, only what simulation and stories need.
//
// A process is what kube-controller-manager makes of its controllers: shared informers, one client,
// as many workers as by default. Two things are as for the library's: no limit on requests per second,
// and JSON instead of protobuf, because that's what the API server in memory speaks.
package originals

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/stories"
	"github.com/loopwright/loopwright/trace"
)

const (
	workers        = 5  // of a controller, by default
	garbageWorkers = 20 // of the garbage collector
	syncPeriod     = 30 * time.Second
	resyncPeriod   = 12 * time.Hour // kube-controller-manager takes between one and two of these
)

// The default error handler remembers when it last had an error, and waits a millisecond between
// two. The clock of a bubble starts in the year 2000 each time. So an error at the beginning of a day
// would wait until the hour of the last error of the day before, and a whole worker with it.
func init() {
	runtime.ErrorHandlers = nil
	klog.SetLogger(logr.Discard())
}

// manager is what the controllers of a process share, as in kube-controller-manager.
type manager struct {
	config    *rest.Config
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	running   sync.WaitGroup
}

// controllers makes controllers, and starts them with m.running.Go.
type controllers func(ctx context.Context, m *manager) error

// process makes processes with some controllers.
func process(start controllers) simulation.Process {
	return func(config *rest.Config, _ *trace.Recorder) (func(context.Context) error, error) {
		// Many of the constructors start goroutines, which only end if Run is called.
		return func(ctx context.Context) error {
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(ctx)
			m := &manager{
				config: config, client: client,
				informers: informers.NewSharedInformerFactory(client, resyncPeriod),
			}
			defer func() {
				stop()
				m.running.Wait()
				m.informers.Shutdown()
			}()
			if err := start(ctx, m); err != nil {
				return err
			}
			m.informers.Start(ctx.Done())
			<-ctx.Done()
			return nil
		}, nil
	}
}

func startReplicaSets(ctx context.Context, m *manager) error {
	c := replicaset.NewReplicaSetController(ctx, m.informers.Apps().V1().ReplicaSets(),
		m.informers.Core().V1().Pods(), m.client, replicaset.BurstReplicas)
	m.running.Go(func() { c.Run(ctx, workers) })
	return nil
}

func startDeployments(ctx context.Context, m *manager) error {
	if err := startReplicaSets(ctx, m); err != nil {
		return err
	}
	apps := m.informers.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(),
		m.informers.Core().V1().Pods(), m.client)
	if err != nil {
		return err
	}
	m.running.Go(func() { c.Run(ctx, workers) })
	return nil
}

func startEndpoints(ctx context.Context, m *manager) error {
	core := m.informers.Core().V1()
	c := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(),
		m.client, 0)
	m.running.Go(func() { c.Run(ctx, workers) })
	return nil
}

func startSlices(ctx context.Context, m *manager) error {
	core := m.informers.Core().V1()
	c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(),
		m.informers.Discovery().V1().EndpointSlices(), stories.MostPerSlice, m.client, 0)
	m.running.Go(func() { c.Run(ctx, workers) })
	return nil
}

// startGarbage does what kube-controller-manager does for its garbage collector, which finds out
// from the API server's discovery what to watch.
func startGarbage(ctx context.Context, m *manager) error {
	objects, err := metadata.NewForConfig(m.config)
	if err != nil {
		return err
	}
	known := &kinds{}
	if err := known.ask(m.client.Discovery()); err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(known)
	m.running.Go(func() {
		wait.Until(func() {
			_ = known.ask(m.client.Discovery()) // see kinds
			mapper.Reset()
		}, syncPeriod, ctx.Done())
	})
	others := metadatainformer.NewSharedInformerFactory(objects, resyncPeriod)
	started := make(chan struct{})
	close(started) // the informers that are there by then: none
	ignored := map[schema.GroupResource]struct{}{}
	for resource := range garbagecollector.DefaultIgnoredResources() {
		ignored[resource] = struct{}{}
	}
	graph := garbagecollector.NewDependencyGraphBuilder(ctx, objects, mapper, ignored,
		informerfactory.NewInformerFactory(m.informers, others), started)
	c, err := garbagecollector.NewComposedGarbageCollector(ctx, m.client, objects, mapper, graph)
	if err != nil {
		return err
	}
	m.running.Go(func() { c.Run(ctx, garbageWorkers, syncPeriod) })
	m.running.Go(func() { c.Sync(ctx, m.client.Discovery(), syncPeriod) })
	return nil
}
