package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/debug"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/log"
)

// staleAfter is how long the informers may have no answer from the server before a replica is no
// longer ready. A restart of the API server takes less.
const staleAfter = time.Minute

// CacheSyncCheck returns a readiness check that fails until the informers of a cache have listed, and again
// when they have had no answer from the server for a minute. The path of the check says which kind is missing, and
// why: which rule of RBAC, for instance.
//
//	err := mgr.AddReadyzCheck("caches", manager.CacheSyncCheck(mgr.GetCache()))
//
// Caveats: leave it out if the program serves a conversion webhook for a kind that it caches. The webhook's
// Service has no endpoints until the Pod is ready, and until the webhook answers, the informer cannot list.
// With the check, each waits for the other, and so does Start, forever.
//
// controller-runtime has nothing like it.
func CacheSyncCheck(c cache.Cache) healthz.Checker {
	return func(*http.Request) error {
		if _, explains := c.(interface{ CheckHealth(time.Duration) error }); explains {
			return cache.CheckHealth(c, staleAfter)
		}
		now, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("it has not listed everything yet"))
		return cache.WaitForSync(now, c)
	}
}

// addServers opens the ports that the options name, and adds what serves them. It is the beginning of Start and
// not of New, so that a manager that is never started has no port. In controller-runtime, New opens them. An end that
// was asked for before the start is no reason to fail: it comes a moment later, as at any other time.
func (m *controllerManager) addServers(ctx context.Context) error {
	if m.metrics != nil {
		if err := m.groups.addTo(httpServers, m.metrics); err != nil {
			return err
		}
	}
	var opened []*Server
	for _, server := range []struct {
		name, address string
		handler       http.Handler
	}{
		{"health probe", m.options.HealthProbeBindAddress, m.probes()},
		{"pprof", m.options.PprofBindAddress, m.profiles()},
	} {
		if server.address == "" || server.address == "0" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(context.WithoutCancel(ctx), "tcp", server.address)
		if err != nil {
			for _, other := range opened {
				_ = other.Listener.Close()
			}
			return fmt.Errorf("opening the port of the %s server: %w", server.name, err)
		}
		opened = append(opened, &Server{Name: server.name, Server: newHTTPServer(server.handler), Listener: listener})
	}
	for _, server := range opened {
		if err := m.groups.add(server); err != nil {
			return err
		}
	}
	return nil
}

// newHTTPServer has limits, because anybody in the cluster may connect.
func newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, IdleTimeout: 90 * time.Second, ReadHeaderTimeout: 32 * time.Second}
}

// probes serves the checks. Each is also at a path of its own, with its reason. A path without any check
// is not there, as in controller-runtime.
func (m *controllerManager) probes() http.Handler {
	m.mu.Lock()
	defer m.mu.Unlock()
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		m.options.LivenessEndpointName: m.healthz, m.options.ReadinessEndpointName: m.readyz,
	} {
		if len(checks) == 0 {
			continue
		}
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return mux
}

// profiles shows what the process does.
func (m *controllerManager) profiles() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(debug.ReconcilesPath, debug.Reconciles(m.options.Recorder))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// Server is an HTTP server that is a Runnable. A manager has some of its own, for probes and
// profiles, and takes others.
type Server struct {
	// Name is for messages.
	Name string
	// Server is needed.
	Server *http.Server
	// Listener is for a port that was opened before; nil opens one at Server.Addr.
	Listener net.Listener
	// OnlyServeWhenLeader waits for the lead. Otherwise the server starts before all others.
	OnlyServeWhenLeader bool
	// ShutdownTimeout is how long requests that are being served may take when the server stops; then
	// their connections are closed. Nil waits until they have ended.
	ShutdownTimeout *time.Duration
}

// Start implements Runnable.
func (s *Server) Start(ctx context.Context) error {
	if s.Server == nil {
		return errors.New("a manager.Server needs an http.Server in its field Server")
	}
	listener := s.Listener
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", cmp.Or(s.Server.Addr, ":http")); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	logger := log.FromContext(ctx).WithValues("server", s.Name, "address", listener.Addr().String())
	logger.Info("Serving")
	served := make(chan error, 1) // sent once, by the goroutine, which need not wait for a receiver
	go func() { served <- s.Server.Serve(listener) }()
	select {
	case err := <-served:
		if errors.Is(err, http.ErrServerClosed) { // somebody else has called Shutdown, which goes on
			<-ctx.Done()
			return s.shutdown(ctx)
		}
		return fmt.Errorf("%s: %w", s, err)
	case <-ctx.Done():
		err := s.shutdown(ctx)
		<-served
		logger.Info("Stopped serving")
		return err
	}
}

// shutdown waits for requests that are being served, as long as it may.
func (s *Server) shutdown(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if s.ShutdownTimeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *s.ShutdownTimeout)
		defer cancel()
	}
	if err := s.Server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("%s: requests were cut off when the server stopped: %w", s, err), s.Server.Close())
	}
	return nil
}

// NeedLeaderElection implements LeaderElectionRunnable.
func (s *Server) NeedLeaderElection() bool { return s.OnlyServeWhenLeader }

// String is what the server is called in messages.
func (s *Server) String() string {
	if s.Name == "" {
		return "HTTP server"
	}
	return s.Name + " server"
}
