package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/chapters/19-endpoints/coda/picture"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/all"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

const leaseName = "loopwright-controllers"

// stage runs the controllers, looks at what they do, and counts it.
type stage struct {
	*demo.Demo
	world           *world
	metrics, probes string // addresses
	rows            [][]string
}

// play runs everything that the story needs while it is told.
func play(ctx context.Context, d *demo.Demo, tell func(context.Context, *stage) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	s := &stage{Demo: d, world: newWorld(name)}
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	closeScreen := s.show(ctx)
	var watched, managed error
	running.Go(func() { watched = s.world.watch(ctx, d.Config(), d.Namespace); stop(watched) })
	mgr, err := s.manager()
	if err != nil {
		closeScreen()
		return err
	}
	running.Go(func() { managed = mgr.Start(ctx); stop(managed) })
	err = s.leads(ctx, mgr)
	if err == nil {
		err = tell(ctx, s)
	}
	closeScreen()
	stop(nil)
	running.Wait()
	if err == nil {
		err = errors.Join(watched, managed)
	}
	return err
}

// show draws a live picture, or prints a line for each change that matters. The returned function ends it.
func (s *stage) show(ctx context.Context) (end func()) {
	terminal, live := liveTerminal(s.Output())
	if !live {
		log := picture.Log{}
		s.world.tell = func(f picture.Facts) {
			if line, matters := log.Line(f); matters {
				s.Print("  | " + line + "\n")
			}
		}
		return func() {}
	}
	width := func() int {
		columns, _, err := term.GetSize(int(terminal.Fd()))
		if err != nil {
			return 80
		}
		return columns
	}
	drawn := openScreen(ctx, terminal, width, s.world.lines)
	s.SetOutput(drawn)
	return func() {
		drawn.close()
		s.SetOutput(terminal)
	}
}

// manager makes one with all controllers. It works in the demo's namespace alone, which on a cluster of yours leaves
// everything else as it is.
func (s *stage) manager() (ctrl.Manager, error) {
	var err error
	if s.metrics, err = freeAddress(); err != nil {
		return nil, err
	}
	if s.probes, err = freeAddress(); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(s.Config(), ctrl.Options{
		LeaderElection: true, LeaderElectionID: leaseName, LeaderElectionNamespace: s.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: s.metrics}, HealthProbeBindAddress: s.probes,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)}, // a test runs the demo in its own process
	})
	if err != nil {
		return nil, err
	}
	return mgr, errors.Join(
		all.Add(mgr, controllers.Options{Probe: controllers.ProbeOptions{Namespace: s.Namespace}}, all.Default()...),
		mgr.AddReadyzCheck("caches", manager.CacheSyncCheck(mgr.GetCache())),
	)
}

// freeAddress is one at which nobody listens now.
func freeAddress() (string, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

func (s *stage) leads(ctx context.Context, mgr ctrl.Manager) error {
	select {
	case <-mgr.Elected():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the lead: %w", context.Cause(ctx))
	}
}

// get asks one of the manager's own servers.
func (s *stage) get(ctx context.Context, address, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	return strings.TrimSpace(string(body)), err
}

// ready waits until the readiness probe succeeds.
func (s *stage) ready(ctx context.Context) (answer string, err error) {
	for {
		if answer, err = s.get(ctx, s.probes, "/readyz"); err == nil {
			return answer, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", errors.Join(context.Cause(ctx), err)
		}
	}
}

var controllerOf = regexp.MustCompile(`(?m)^controller_runtime_max_concurrent_reconciles\{controller="([^"]+)"\}`)

// measured are the controllers that have metrics.
func (s *stage) measured(ctx context.Context) (string, error) {
	metrics, err := s.get(ctx, s.metrics, "/metrics")
	if err != nil {
		return "", err
	}
	var found []string
	for _, match := range controllerOf.FindAllStringSubmatch(metrics, -1) {
		found = append(found, match[1])
	}
	slices.Sort(found)
	return strings.Join(found, ", "), nil
}

// step plays a step, and adds what was counted meanwhile to the table.
func (s *stage) step(what string, step func() error) error {
	s.world.begin()
	began := time.Now()
	if err := step(); err != nil {
		return err
	}
	pods, written := s.world.counts()
	s.rows = append(s.rows, []string{
		what, time.Since(began).Round(10 * time.Millisecond).String(), strconv.Itoa(pods.created), strconv.Itoa(pods.deleted),
		strconv.Itoa(pods.asked), strconv.Itoa(pods.fewestReady), strconv.Itoa(written),
	})
	return nil
}
