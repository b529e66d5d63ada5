package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

const controllerName = "exposer"

// stage starts and stops the controller, and waits for it by reading the flight recorder.
type stage struct {
	*demo.Demo
	users client.Client
	dns   *dns

	events *trace.Cursor // of the recorder
	ahead  []trace.Event // read, and not looked at yet
	writes int           // of the controller, among those that were looked at

	stop    context.CancelFunc
	running sync.WaitGroup // of the cache and the controller
	failed  error          // of the controller; read after running
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{Demo: d, dns: &dns{recorder: d.Recorder, records: map[record]bool{}}, events: d.Recorder.Cursor(), stop: func() {}}
	s.users, err = client.New(d.Config(), client.Options{})
	return s, err
}

// start makes a cache, a client and a controller, and runs them until end.
func (s *stage) start(ctx context.Context) error {
	objects, err := cache.New(s.Config(), cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}, Recorder: s.Recorder})
	if err != nil {
		return err
	}
	c, err := client.NewWithWatch(s.Config(), client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
	if err != nil {
		return err
	}
	e, err := newExposer(recorded(c, s.Recorder), s.dns)
	if err != nil {
		return err
	}
	exposed, err := controller.NewUnmanaged(controllerName, controller.Options{
		Reconciler: reconcile.AsReconciler(e, e), Recorder: s.Recorder, Kind: "Deployment", Logger: logr.Discard(),
	})
	if err != nil {
		return err
	}
	if err := watch(exposed, objects, c); err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.running.Go(func() { _ = objects.Start(ctx) })
	s.running.Go(func() { s.failed = exposed.Start(ctx) })
	return nil
}

// region watch

// watch tells the controller of its Deployments, and of the objects that they own.
func watch(exposed controller.Controller, objects cache.Cache, c client.Client) error {
	owner := handler.EnqueueRequestForOwner(c.Scheme(), c.RESTMapper(), &appsv1.Deployment{}, handler.OnlyControllerOwner())
	// An object that belongs to somebody else leads to no owner here. Its end wakes who waits for its name.
	freed := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		exposed.Wake(refOf(e.Object))
	}}
	return errors.Join(
		exposed.Watch(source.Kind(objects, &appsv1.Deployment{}, &handler.EnqueueRequestForObject{})),
		exposed.Watch(source.Kind(objects, &corev1.Service{}, owner)),
		exposed.Watch(source.Kind(objects, &networkingv1.Ingress{}, owner)),
		exposed.Watch(source.Kind(objects, &corev1.Service{}, freed)),
		exposed.Watch(source.Kind(objects, &networkingv1.Ingress{}, freed)),
	)
}

// endregion watch

// end stops the controller and its cache, and waits for both.
func (s *stage) end() error {
	s.stop()
	s.running.Wait()
	return s.failed
}

// find waits for an event.
func (s *stage) find(ctx context.Context, what string, wanted func(trace.Event) bool) error {
	for {
		for len(s.ahead) > 0 {
			event := s.ahead[0]
			s.ahead = s.ahead[1:]
			if event.Kind == trace.Write {
				s.writes++
			}
			if wanted(event) {
				return nil
			}
		}
		if s.ahead, _ = s.events.Read(); len(s.ahead) > 0 {
			continue
		}
		if err := s.events.Wait(ctx); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}

// wrote waits for a write of the controller.
func (s *stage) wrote(ctx context.Context, op, object, name string) error {
	return s.find(ctx, fmt.Sprintf("%s of the %s %s", op, object, name), func(e trace.Event) bool {
		return e.Kind == trace.Write && e.Op == op && e.Object == object && e.Name == name
	})
}

// until repeats a question until the answer is nil, or ctx ends.
func (s *stage) until(ctx context.Context, what string, ask func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w: %w", what, context.Cause(ctx), last)
	}
	return nil
}
