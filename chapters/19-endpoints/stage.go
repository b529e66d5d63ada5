package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/endpoints"
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
	users     client.Client
	requests  *requests // of the controller
	endpoints *corev1.Endpoints
	results   []counted

	stop    context.CancelFunc
	running sync.WaitGroup
	failed  error // of the manager; read after running
}

// counted is how many writes something has led to.
type counted struct {
	what   string
	writes int
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{Demo: d, requests: &requests{recorder: d.Recorder}, stop: func() {}}
	s.users, err = client.New(quiet(d.Config()), client.Options{})
	return s, err
}

// quiet keeps the log free of the API server's remark that Endpoints are deprecated.
func quiet(config *rest.Config) *rest.Config {
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// region start

// start starts the controller. It works when it has found out that nobody else does.
func (s *stage) start(ctx context.Context, batchPeriod time.Duration) {
	config := quiet(s.Config())
	config.QPS, config.UserAgent = -1, "chapter-19"
	config.ContentType = runtime.ContentTypeJSON // which the timeline can read
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorded{next, s.requests} })
	ctx, s.stop = context.WithCancel(ctx)
	s.running.Go(func() {
		mgr, err := manager.New(config, manager.Options{
			Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
			Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(), Recorder: s.Recorder,
		})
		if err == nil {
			options := controllers.Options{Probe: controllers.ProbeOptions{Namespace: s.Namespace}}
			options.Controller.SkipNameValidation = new(true) // it is started twice in this process
			err = endpoints.Settings{BatchPeriod: batchPeriod}.Add(mgr, options)
		}
		if err == nil {
			err = mgr.Start(ctx)
		}
		s.failed = err
	})
}

// endregion start

// end stops the controller, and waits for its end.
func (s *stage) end() error {
	s.stop()
	s.running.Wait()
	return s.failed
}

// counted counts the writes of the controller that something leads to.
func (s *stage) counted(ctx context.Context, what string, do func() error) error {
	before, _ := s.requests.count()
	if err := errors.Join(do(), s.answered(ctx)); err != nil {
		return err
	}
	n, _ := s.requests.count()
	s.results = append(s.results, counted{what, n - before})
	return nil
}

// answered waits for the answers to all that the controller has written. Users may see the result before.
func (s *stage) answered(ctx context.Context) error {
	return s.until(ctx, "the answers to the controller's writes", func(context.Context) error {
		if _, complete := s.requests.count(); !complete {
			return errors.New("one is on its way")
		}
		return nil
	})
}

// known waits until the controller's cache has this version of an object.
func (s *stage) known(ctx context.Context, object client.Object) error {
	return s.until(ctx, "the controller's cache", func(context.Context) error {
		indexed := func(e trace.Event) bool { return e.Kind == trace.Index && e.Version == object.GetResourceVersion() }
		if !slices.ContainsFunc(s.Recorder.Events(), indexed) {
			return errors.New("it does not have the new version")
		}
		return nil
	})
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

// read reads the Endpoints, and says what they say: the names of Pods, in brackets if they are not ready, and ports.
func (s *stage) read(ctx context.Context) (lines []string, err error) {
	s.endpoints = newEndpoints(s.Namespace)
	if err := s.users.Get(ctx, client.ObjectKeyFromObject(s.endpoints), s.endpoints); err != nil {
		return nil, err
	}
	for _, subset := range s.endpoints.Subsets {
		var names, ports []string
		for _, address := range subset.Addresses {
			names = append(names, nameOf(address))
		}
		for _, address := range subset.NotReadyAddresses {
			names = append(names, "("+nameOf(address)+")")
		}
		for _, port := range subset.Ports {
			ports = append(ports, fmt.Sprintf("%s=%d", port.Name, port.Port))
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.Trim(a, "()"), strings.Trim(b, "()")) }) // not by IP
		lines = append(lines, strings.Join(names, ", ")+": "+strings.Join(ports, " "))
	}
	return lines, nil
}

func nameOf(address corev1.EndpointAddress) string {
	if address.TargetRef == nil {
		return address.IP
	}
	return address.TargetRef.Name
}

// become waits until the Endpoints say this.
func (s *stage) become(ctx context.Context, lines ...string) error {
	return s.until(ctx, "the Endpoints", func(ctx context.Context) error {
		got, err := s.read(ctx)
		if err == nil && !slices.Equal(got, lines) {
			err = fmt.Errorf("they say %q", got)
		}
		return err
	})
}

// have waits until the Endpoints have so many addresses, all of them ready, and no Pod of the namespace is left that is
// being deleted.
func (s *stage) have(ctx context.Context, addresses int) error {
	return s.until(ctx, "the Endpoints", func(ctx context.Context) error {
		if _, err := s.read(ctx); err != nil {
			return err
		}
		if n := len(s.endpoints.Subsets); n != 1 || len(s.endpoints.Subsets[0].Addresses) != addresses || len(s.endpoints.Subsets[0].NotReadyAddresses) > 0 {
			return fmt.Errorf("they have %d subsets", n)
		}
		return nil
	})
}

// tell prints what the Endpoints said last.
func (s *stage) tell() {
	lines, err := s.read(context.Background())
	if err != nil {
		s.Say("%v", err)
	}
	for _, line := range lines {
		s.Say("  %s", line)
	}
}
