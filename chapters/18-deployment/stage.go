package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// stage runs the controllers, and waits for what they do.
type stage struct {
	*demo.Demo
	users    client.Client
	requests *requests
	web      *appsv1.Deployment

	stop    context.CancelFunc
	running sync.WaitGroup
	failed  error // of the manager; read after running
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{Demo: d, requests: &requests{recorder: d.Recorder, sizes: map[string]int32{}}, stop: func() {}}
	s.users, err = client.New(d.Config(), client.Options{})
	return s, err
}

// newManager makes a manager with both controllers, for the demo's namespace.
func (s *stage) newManager() (manager.Manager, error) {
	config := s.Config()
	config.QPS = -1
	config.ContentType = runtime.ContentTypeJSON // which the timeline can read
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorded{next, s.requests} })
	mgr, err := manager.New(config, manager.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
		Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(), Recorder: s.Recorder,
	})
	if err != nil {
		return nil, err
	}
	options := controllers.Options{Probe: controllers.ProbeOptions{Namespace: s.Namespace}}
	options.Controller.SkipNameValidation = new(true) // the test plays the demo in a process of its own
	return mgr, errors.Join(replicaset.Add(mgr, options), deployment.Add(mgr, options))
}

// start starts the controllers. They work when they have found out that nobody else does.
func (s *stage) start(ctx context.Context) {
	ctx, s.stop = context.WithCancel(ctx)
	s.running.Go(func() {
		mgr, err := s.newManager()
		if err == nil {
			err = mgr.Start(ctx)
		}
		s.failed = err
	})
}

// end stops the controllers, and waits for their end.
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

// read reads the Deployment, and returns an error as long as its status is not about its newest specification.
func (s *stage) read(ctx context.Context) error {
	if err := s.users.Get(ctx, client.ObjectKeyFromObject(s.web), s.web); err != nil {
		return err
	}
	if s.web.Status.ObservedGeneration != s.web.Generation {
		return fmt.Errorf("the status is about the generation %d", s.web.Status.ObservedGeneration)
	}
	return nil
}

// completes waits until all Pods are there and available, have the new template, and no old one is left.
func (s *stage) completes(ctx context.Context) error {
	return s.until(ctx, "the end of the rollout", func(ctx context.Context) error {
		if err := s.read(ctx); err != nil {
			return err
		}
		status, want := s.web.Status, *s.web.Spec.Replicas
		if status.Replicas != want || status.UpdatedReplicas != want || status.AvailableReplicas != want ||
			status.TerminatingReplicas == nil || *status.TerminatingReplicas != 0 || progress(s.web).Reason != "NewReplicaSetAvailable" {
			return fmt.Errorf("the status is %+v", status)
		}
		return nil
	})
}

// reports waits for a reason of the condition Progressing.
func (s *stage) reports(ctx context.Context, reason string) (condition appsv1.DeploymentCondition, err error) {
	err = s.until(ctx, reason, func(ctx context.Context) error {
		if err := s.read(ctx); err != nil {
			return err
		}
		if condition = progress(s.web); condition.Reason != reason {
			return fmt.Errorf("the reason is %q", condition.Reason)
		}
		return nil
	})
	return condition, err
}

// hasSizes waits until the ReplicaSets that ask for Pods have these sizes, and the controller has reported it.
func (s *stage) hasSizes(ctx context.Context, want ...int32) error {
	return s.until(ctx, fmt.Sprint("the sizes ", want), func(ctx context.Context) error {
		if err := s.read(ctx); err != nil {
			return err
		}
		sets, err := s.sets(ctx)
		if err != nil {
			return err
		}
		var has []int32
		for _, rs := range sets {
			if *rs.Spec.Replicas > 0 {
				has = append(has, *rs.Spec.Replicas)
			}
		}
		slices.Sort(has)
		if slices.Sort(want); !slices.Equal(want, has) {
			return fmt.Errorf("the sizes are %v", has)
		}
		return nil
	})
}
