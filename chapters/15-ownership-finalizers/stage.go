package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/trace"
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

	end func() error // stops the manager, and returns what Start has returned
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{Demo: d, dns: &dns{recorder: d.Recorder, records: map[record]bool{}}, events: d.Recorder.Cursor()}
	s.users, err = client.New(d.Config(), client.Options{})
	return s, err
}

// start makes a manager with the controller, and runs it until end. What an earlier one has recorded is not
// waited for any more.
func (s *stage) start(ctx context.Context) error {
	s.events.Read()
	s.ahead = nil
	mgr, err := manager.New(s.Config(), manager.Options{
		Metrics: server.Options{BindAddress: "0"}, Recorder: s.Recorder, Logger: logr.New(log.NullLogSink{}),
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the last step starts it again
		NewClient: func(c *rest.Config, options client.Options) (client.Client, error) {
			options.Cache.EnableReadYourWritesConsistency = new(true)
			writer, err := client.NewWithWatch(c, options)
			return recorded(writer, s.Recorder), err
		},
	})
	if err != nil {
		return err
	}
	e, err := newExposer(mgr.GetClient(), s.dns)
	if err == nil {
		err = e.setUp(mgr)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // sent once, by the goroutine; received once, by end
	go func() { ended <- mgr.Start(ctx) }()
	s.end = sync.OnceValue(func() error { stop(); return <-ended })
	return nil
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
