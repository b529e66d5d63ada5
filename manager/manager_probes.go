package manager

import (
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
