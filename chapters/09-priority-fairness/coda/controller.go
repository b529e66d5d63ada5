package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Controller keeps a ConfigMap in each Namespace that a label selects. It says
// which team the Namespace belongs to, and whom to call.
//
// Guarantees: whatever happens to the ConfigMap, or while the controller is away,
// in the end it is as decide wants it. A ConfigMap of that name that somebody else made is
// left alone. When Run returns, no goroutine of the controller is left.
//
// Caveats: two controllers of one name, in two processes, do the same work twice.
type Controller struct {
	options    Options
	client     kubernetes.Interface
	namespaces *informer.Informer[*corev1.Namespace]
	configMaps *informer.Informer[*corev1.ConfigMap]
	queue      *workqueue.PriorityQueue[string] // of the names of Namespaces
}

// Options may be left empty.
type Options struct {
	// Name is what the controller writes on its ConfigMaps, to know them again; the
	// default is team-controller.
	Name string
	// ConfigMap is what the ConfigMaps are called; the default is team.
	ConfigMap string
	// Selector picks the Namespaces by their labels; the default is all that
	// have the label team.
	Selector string
	// Workers is how many Namespaces are worked on at a time; the default is 2.
	Workers int
	// Backoff is how long the informers pause after a failure.
	Backoff informer.Backoff
	// OnError is called for every failure, from any goroutine; by default it is logged.
	// The controller tries again in any case.
	OnError func(namespace string, err error)
	// Recorder records what happens; nil is off.
	Recorder *trace.Recorder
}

// catchUpLimit is how long a worker waits for its own write to come back.
const catchUpLimit = 10 * time.Second

// NewController returns a controller that does nothing yet: see Run.
func NewController(config *rest.Config, options Options) (*Controller, error) {
	if options.Name == "" {
		options.Name = "team-controller"
	}
	if options.ConfigMap == "" {
		options.ConfigMap = "team"
	}
	if options.Selector == "" {
		options.Selector = teamLabel
	}
	if options.Workers <= 0 {
		options.Workers = 2
	}
	if options.OnError == nil {
		options.OnError = func(namespace string, err error) {
			slog.Error("reconciling failed", "controller", options.Name, "namespace", namespace, "error", err)
		}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	namespaces, err := newInformer[*corev1.Namespace](config, options, "namespaces",
		informer.ListWatchOptions{LabelSelector: options.Selector})
	if err != nil {
		return nil, err
	}
	// Not by our label: then a ConfigMap that somebody else made would look like none.
	configMaps, err := newInformer[*corev1.ConfigMap](config, options, "configmaps",
		informer.ListWatchOptions{FieldSelector: "metadata.name=" + options.ConfigMap})
	if err != nil {
		return nil, err
	}
	return &Controller{
		options: options, client: client, namespaces: namespaces, configMaps: configMaps,
		queue: workqueue.NewPriority(workqueue.PriorityOptions[string]{Options: workqueue.Options[string]{
			Recorder: options.Recorder, Kind: "Namespace",
			Key: func(name string) (string, string) { return "", name },
		}}),
	}, nil
}

func newInformer[T informer.Object](config *rest.Config, options Options, resource string, which informer.ListWatchOptions) (*informer.Informer[T], error) {
	which.Recorder = options.Recorder
	from, err := informer.NewListWatch[T](config, corev1.SchemeGroupVersion.WithResource(resource), which)
	if err != nil {
		return nil, err
	}
	return informer.NewInformer(informer.ListerWatcher[T](from), informer.InformerOptions[T]{
		Transform: informer.DropManagedFields[T],
		// What happens inside an informer is chapter 5's subject; here its requests and errors are enough.
		Reflector: informer.ReflectorOptions{Recorder: options.Recorder, Backoff: options.Backoff},
	}), nil
}

// Run works until the context ends. Then it waits for everything that it started, and
// returns nil. It returns an error if an informer gives up. It may be called once.
func (c *Controller) Run(ctx context.Context) error {
	ofNamespaces, err := c.namespaces.AddHandler(handler(c, "Namespace", (*corev1.Namespace).GetName), informer.HandlerOptions{})
	if err != nil {
		return err
	}
	ofConfigMaps, err := c.configMaps.AddHandler(handler(c, "ConfigMap", (*corev1.ConfigMap).GetNamespace), informer.HandlerOptions{})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	var failures [2]error
	ctx, stop := context.WithCancel(ctx)
	running.Go(func() { defer stop(); failures[0] = c.namespaces.Run(ctx) })
	running.Go(func() { defer stop(); failures[1] = c.configMaps.Run(ctx) })
	// Both, or a worker takes an object that is not listed yet for one that is not there.
	for _, heard := range []*informer.Registration{ofNamespaces, ofConfigMaps} {
		select {
		case <-heard.Synced():
		case <-ctx.Done():
		}
	}
	for range c.options.Workers {
		running.Go(func() { c.work(ctx) })
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	return errors.Join(failures[:]...)
}

// handler turns events into keys: whatever happens to an object, one Namespace needs
// a look. It drops what exactly happened.
func handler[T informer.Object](c *Controller, kind string, keyOf func(T) string) informer.Handler[T] {
	enqueue := func(object T, op string, priority int) {
		key := keyOf(object)
		if c.options.Recorder.On() {
			c.options.Recorder.Record(trace.Event{
				Kind: trace.Handler, Layer: layer, Object: kind, Op: op, ToObject: "Namespace", ToName: key,
				Namespace: object.GetNamespace(), Name: object.GetName(), Version: object.GetResourceVersion(),
			})
		}
		c.queue.AddWithOpts(workqueue.AddOpts{Priority: &priority, Reason: kind + " " + op}, key)
	}
	return informer.HandlerFuncs[T]{
		Add: func(object T, initial bool) {
			if initial { // it may not have changed at all
				enqueue(object, "listed", workqueue.LowPriority)
			} else {
				enqueue(object, "added", 0)
			}
		},
		Update: func(old, object T) {
			if old.GetResourceVersion() == object.GetResourceVersion() { // a resync: nothing has changed
				enqueue(object, "resynced", workqueue.LowPriority)
			} else {
				enqueue(object, "changed", 0)
			}
		},
		Delete: func(object T, _ bool) { enqueue(object, "deleted", 0) },
	}
}

// failedBefore is the reason of a retry.
const failedBefore = "it failed"

// work is a worker.
func (c *Controller) work(ctx context.Context) {
	for ctx.Err() == nil { // what still waits when we stop is listed again at the next start
		item, err := c.queue.Next(ctx)
		if err != nil {
			return
		}
		c.process(ctx, item)
	}
}

// process does what a queue expects of its workers: Done in any case, Forget after a
// success, and after a failure another add, with the priority that the item had.
func (c *Controller) process(ctx context.Context, work workqueue.Work[string]) {
	defer c.queue.Done(work.Item)
	begin := time.Now()
	c.record(trace.Event{Kind: trace.ReconcileStart, Name: work.Item, Reason: work.Causes.String(), Count: work.Causes.Count})
	err := c.reconcile(ctx, work.Item)
	if err == nil {
		c.record(trace.Event{Kind: trace.ReconcileEnd, Outcome: trace.Succeeded, Name: work.Item, Took: time.Since(begin)})
		c.queue.Forget(work.Item)
		return
	}
	c.record(trace.Event{Kind: trace.ReconcileEnd, Outcome: trace.Failed, Name: work.Item, Took: time.Since(begin), Reason: err.Error()})
	c.queue.AddWithOpts(workqueue.AddOpts{RateLimited: true, Priority: &work.Priority, Reason: failedBefore}, work.Item)
	if ctx.Err() == nil {
		c.options.OnError(work.Item, err)
	}
}

// reconcile looks at what there is now, in the caches, decides, and writes.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	namespace, _ := c.namespaces.Store().Get(informer.Key{Name: name})
	key := informer.Key{Namespace: name, Name: c.options.ConfigMap}
	found, _ := c.configMaps.Store().Get(key)
	do := decide(namespace, found, key.Name, c.options.Name)
	if do.op == leave {
		return nil
	}
	written, err := c.write(ctx, do)
	if err != nil {
		return fmt.Errorf("%s ConfigMap %s: %w", do.op, key, err)
	}
	if written == nil {
		return nil
	}
	// The next look must not be older than this write.
	ctx, cancel := context.WithTimeoutCause(ctx, catchUpLimit, fmt.Errorf("not seen within %s", catchUpLimit))
	defer cancel()
	return c.configMaps.WaitFor(ctx, key, written.ResourceVersion)
}

// write does what was decided. It returns nil if there is no new version to wait for.
func (c *Controller) write(ctx context.Context, do action) (written *corev1.ConfigMap, err error) {
	begin := time.Now()
	configMaps := c.client.CoreV1().ConfigMaps(do.configMap.Namespace)
	switch do.op {
	case create:
		written, err = configMaps.Create(ctx, do.configMap, metav1.CreateOptions{})
	case update: // fails with a conflict if the cache was behind
		written, err = configMaps.Update(ctx, do.configMap, metav1.UpdateOptions{})
	case remove:
		err = configMaps.Delete(ctx, do.configMap.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID: &do.configMap.UID, ResourceVersion: &do.configMap.ResourceVersion,
		}})
	}
	event := trace.Event{
		Kind: trace.Write, Outcome: trace.Succeeded, Op: string(do.op), Object: "ConfigMap",
		Namespace: do.configMap.Namespace, Name: do.configMap.Name, Took: time.Since(begin),
	}
	if err != nil {
		event.Outcome, event.Reason = trace.Failed, err.Error()
		if apierrors.IsConflict(err) {
			event.Outcome = trace.Conflict
		}
		c.record(event)
		if done(do.op, err) {
			err = nil
		}
		return nil, err
	}
	if do.op == remove {
		written = nil
	} else {
		event.Version = written.ResourceVersion
	}
	c.record(event)
	return written, nil
}

// done reports whether a refusal means that there is nothing left to do: what was to
// be deleted is gone, or the Namespace is, or is about to be.
func done(op op, err error) bool {
	return op != update && apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// layer is the controller's name in the flight recorder.
const layer = "team"

func (c *Controller) record(event trace.Event) {
	event.Layer = layer
	c.options.Recorder.Record(event)
}
