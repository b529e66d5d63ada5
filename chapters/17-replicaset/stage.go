package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/trace"
)

// stage runs the controller, and waits for what it does.
type stage struct {
	*demo.Demo
	users    client.Client
	requests *requests     // of the controller
	events   *trace.Cursor // of the recorder
	set      *appsv1.ReplicaSet

	stop    context.CancelFunc
	running sync.WaitGroup
	failed  error // of the manager; read after running
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{Demo: d, requests: &requests{recorder: d.Recorder, counted: map[string]int{}}, events: d.Recorder.Cursor(), stop: func() {}}
	s.users, err = client.New(d.Config(), client.Options{})
	return s, err
}

// region manager

// newManager makes a manager with the ReplicaSet controller, for the demo's namespace.
func (s *stage) newManager(config *rest.Config, recorder *trace.Recorder) (manager.Manager, error) {
	mgr, err := manager.New(config, manager.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
		Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(), Recorder: recorder,
	})
	if err != nil {
		return nil, err
	}
	options := controllers.Options{Probe: controllers.ProbeOptions{Namespace: s.Namespace}}
	options.Controller.SkipNameValidation = new(true) // the second one, in the same process, has the same name
	return mgr, replicaset.Add(mgr, options)
}

// endregion manager

// start starts the controller. It works when it has found out that nobody else does.
func (s *stage) start(ctx context.Context) {
	config := s.Config()
	config.QPS, config.UserAgent = -1, "chapter-17"
	config.ContentType = runtime.ContentTypeJSON // which the timeline can read
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorded{next, s.requests} })
	ctx, s.stop = context.WithCancel(ctx)
	s.running.Go(func() {
		mgr, err := s.newManager(config, s.Recorder)
		if err == nil {
			err = mgr.Start(ctx)
		}
		s.failed = err
	})
}

// another starts a second one, and returns the error with which it ends.
func (s *stage) another(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	mgr, err := s.newManager(s.Config(), nil)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// end stops the controller, and waits for its end.
func (s *stage) end() error {
	s.stop()
	s.running.Wait()
	return s.failed
}

// until repeats a question until the answer is nil, or ctx ends.
func (s *stage) until(ctx context.Context, what string, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w", what, context.Cause(ctx), err)
		}
	}
}

// seen waits until the controller's cache has an object in this version.
func (s *stage) seen(ctx context.Context, version string) error {
	for {
		events, _ := s.events.Read()
		for _, event := range events {
			if event.Kind == trace.Index && event.Version == version {
				return nil
			}
		}
		if err := s.events.Wait(ctx); err != nil {
			return fmt.Errorf("waiting for the version %s: %w", version, err)
		}
	}
}

// becomes waits until the ReplicaSet has so many Pods, all available, and no other Pod of its namespace is left that is
// being deleted.
func (s *stage) becomes(ctx context.Context, replicas int32) error {
	return s.until(ctx, fmt.Sprintf("%d Pods", replicas), func(ctx context.Context) error {
		if err := s.users.Get(ctx, client.ObjectKeyFromObject(s.set), s.set); err != nil {
			return err
		}
		status := s.set.Status
		if status.ObservedGeneration != s.set.Generation || status.Replicas != replicas || status.AvailableReplicas != replicas ||
			status.TerminatingReplicas == nil || *status.TerminatingReplicas != 0 || *s.set.Spec.Replicas != replicas {
			return fmt.Errorf("the status is %+v", status)
		}
		return nil
	})
}

// fails waits for the condition that says that Pods could not be made.
func (s *stage) fails(ctx context.Context) (condition appsv1.ReplicaSetCondition, err error) {
	err = s.until(ctx, "a failure", func(ctx context.Context) error {
		if err := s.users.Get(ctx, client.ObjectKeyFromObject(s.set), s.set); err != nil {
			return err
		}
		if len(s.set.Status.Conditions) == 0 {
			return errors.New("the status has no condition")
		}
		condition = s.set.Status.Conditions[0]
		return nil
	})
	return condition, err
}
