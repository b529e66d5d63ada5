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
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/xray"
)

// staleAfter is how long the informers may go without an answer from the API server until a replica
// is no longer ready. A restart of the API server takes less.
const staleAfter = time.Minute

// CacheSyncCheck returns a readiness check that fails until the informers of a cache have listed.
// It fails again when they've had no answer from the API server for a minute. Get the path of the
// check to see which kind is missing and why: which RBAC rule, for instance.
//
//	err := mgr.AddReadyzCheck("caches", manager.CacheSyncCheck(mgr.GetCache()))
//
// Caveats: leave it out if the program serves a conversion webhook for a kind that it caches. The
// informer can't list until the webhook answers, and the webhook's Service has no endpoints until
// the Pod is ready. With the check, each waits for the other, and Start blocks forever.
//
// controller-runtime has no such check.
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

// openServers opens the ports in the options. It's called by Start, not by New, so a manager that is
// never started has no port open; in controller-runtime, New opens them. A context that has already
// ended is no reason to fail here: Start notices it a moment later.
func openServers(ctx context.Context, o *Options, probes http.Handler) (opened []*Server, err error) {
	for _, server := range []struct {
		name, address string
		server        *http.Server
	}{
		{"health probe", o.HealthProbeBindAddress, newHTTPServer(probes)},
		{"pprof", o.PprofBindAddress, newProfileServer(xray.New(o.Recorder))},
	} {
		if server.address == "" || server.address == "0" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(
			context.WithoutCancel(ctx), "tcp", server.address)
		if err != nil {
			for _, other := range opened {
				_ = other.Listener.Close()
			}
			return nil, fmt.Errorf("opening the port of the %s server: %w", server.name, err)
		}
		opened = append(opened, &Server{
			Name: server.name, Server: server.server, Listener: listener,
		})
	}
	return opened, nil
}

// newHTTPServer sets timeouts, because any client in the cluster may connect.
func newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, IdleTimeout: 90 * time.Second, ReadHeaderTimeout: 32 * time.Second,
	}
}

// profileWriteLimit is how long the client of a profile may take, on top of the seconds that the
// profile itself takes, which package pprof adds. X-ray counts from each of its writes instead.
const profileWriteLimit = time.Minute

func newProfileServer(live *xray.XRay) *http.Server {
	server := newHTTPServer(profiles(live))
	server.WriteTimeout = profileWriteLimit
	return server
}

// probes serves the checks. Each check also has its own path, which says why it fails. A probe
// without any checks answers 404, as in controller-runtime.
func probes(o *Options, live, ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		o.LivenessEndpointName: live, o.ReadinessEndpointName: ready,
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

// profiles serves pprof, and X-ray with the flight recorder's records.
func profiles(live *xray.XRay) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(xray.Path, live)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// Server is an HTTP server that is a Runnable. A manager makes one for probes and one for profiles,
// and a program can add more.
type Server struct {
	// Name is the server's name in messages.
	Name string
	// Server is required.
	Server *http.Server
	// Listener is a port that is already open; nil means that Start opens Server.Addr.
	Listener net.Listener
	// OnlyServeWhenLeader starts the server only in the leader. Otherwise it starts before all
	// other runnables.
	OnlyServeWhenLeader bool
	// ShutdownTimeout is how long requests in flight may take when the server stops; then their
	// connections are closed. Nil means no limit.
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
	served := make(chan error, 1) // sent once, by the goroutine, which never blocks on it
	go func() { served <- s.Server.Serve(listener) }()
	select {
	case err := <-served:
		if errors.Is(err, http.ErrServerClosed) { // other code has called Shutdown
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

// shutdown waits for requests in flight, up to ShutdownTimeout.
func (s *Server) shutdown(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if s.ShutdownTimeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *s.ShutdownTimeout)
		defer cancel()
	}
	if err := s.Server.Shutdown(ctx); err != nil {
		err = fmt.Errorf("%s: requests were cut off when the server stopped: %w", s, err)
		return errors.Join(err, s.Server.Close())
	}
	return nil
}

// NeedLeaderElection implements LeaderElectionRunnable.
func (s *Server) NeedLeaderElection() bool { return s.OnlyServeWhenLeader }

// String is the server's name in messages.
func (s *Server) String() string {
	if s.Name == "" {
		return "HTTP server"
	}
	return s.Name + " server"
}
