// Package server serves metrics over HTTP, and other diagnostics on the same port: pprof, the
// flight recorder.
//
// A request passes the filter, if there's one, and reaches the registry's handler at /metrics or
// an extra handler.
//
// Neighbours: below it are the registry in manager/metrics and certwatcher. Beside it is filters,
// with a filter that asks the API server which clients may read. Above it is the manager, which
// starts it first and stops it last.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/loopwright/loopwright/manager/certwatcher"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics"
)

const metricsPath = "/metrics"

// disabled is the BindAddress that means no server.
const disabled = "0"

// shutdownLimit is how long requests may go on after the context has ended. Their own contexts end
// at the same moment, so this is for handlers that ignore their context.
const shutdownLimit = 30 * time.Second

// DefaultBindAddress is the address for metrics if BindAddress is empty: port 8080, on all
// addresses, as in controller-runtime. Every client in the network can read the metrics there, and
// whatever extra handlers show. A manager that is Strict listens on localhost only.
var DefaultBindAddress = ":8080"

// writeLimit is how long a client may take for each piece of the metrics.
const writeLimit = 10 * time.Second

// Filter wraps the metrics handler and each extra handler. The logger has the path in it.
type Filter func(log logr.Logger, handler http.Handler) (http.Handler, error)

// Server serves metrics. It's a manager's Runnable.
type Server interface {
	// AddExtraHandler adds a handler at a path. It must be called before Start.
	AddExtraHandler(path string, handler http.Handler) error
	// NeedLeaderElection returns false: each replica serves its own metrics.
	NeedLeaderElection() bool
	// Start serves until the context ends.
	Start(ctx context.Context) error
}

// Options are the options of NewServer. The zero value serves plain HTTP on all addresses.
type Options struct {
	// SecureServing serves HTTPS.
	SecureServing bool
	// BindAddress is host and port; the default is DefaultBindAddress. "0" means no server.
	BindAddress string
	// ExtraHandlers are served as well, by their paths. Don't serve pprof and the like on a port
	// that untrusted clients can reach. Their answers have no time limit, because a handler may
	// stream; one that needs a limit calls SetWriteDeadline of http.NewResponseController.
	ExtraHandlers map[string]http.Handler
	// FilterProvider makes the filter, such as filters.WithAuthenticationAndAuthorization.
	FilterProvider func(c *rest.Config, httpClient *http.Client) (Filter, error)
	// CertDir, CertName and KeyName locate the certificate and its key. By default they are tls.crt
	// and tls.key in the directory k8s-metrics-server/serving-certs below that of temporary files.
	// The server reads them again when they change. Without these files it uses a self-signed
	// certificate.
	CertDir  string
	CertName string
	KeyName  string
	// TLSOpts change the TLS configuration. If one sets a certificate, no files are read.
	TLSOpts []func(*tls.Config)
	// HandlerOpts change how metrics are served. By default an error in one metric fails the
	// request.
	HandlerOpts []func(*promhttp.HandlerOpts)
	// ListenConfig opens the port.
	ListenConfig net.ListenConfig
}

// NewServer makes a server, or returns nil without an error if BindAddress is "0".
func NewServer(o Options, config *rest.Config, httpClient *http.Client) (Server, error) {
	o = o.withDefaults()
	if o.BindAddress == disabled {
		return nil, nil
	}
	s := &server{options: o, handlers: map[string]http.Handler{}}
	for _, path := range slices.Sorted(maps.Keys(o.ExtraHandlers)) {
		if err := s.AddExtraHandler(path, o.ExtraHandlers[path]); err != nil {
			return nil, err
		}
	}
	if o.FilterProvider == nil {
		return s, nil
	}
	var err error
	if s.filter, err = o.FilterProvider(config, httpClient); err != nil {
		return nil, fmt.Errorf("make the metrics server's filter: %w", err)
	}
	return s, nil
}

type server struct {
	options Options
	filter  Filter // nil lets every client in

	mu       sync.Mutex // guards the following
	handlers map[string]http.Handler
	started  bool
	address  string // where it listens; it differs from BindAddress if that has port 0
}

// AddExtraHandler implements Server.
func (s *server) AddExtraHandler(path string, handler http.Handler) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.started:
		return fmt.Errorf("add a handler for %q to the metrics server: it serves already; "+
			"add it before the manager starts", path)
	case path == metricsPath:
		return fmt.Errorf("add a handler to the metrics server: %s is taken by the metrics; "+
			"choose another path", metricsPath)
	case s.handlers[path] != nil:
		return fmt.Errorf("add a handler to the metrics server: there is one for %q already", path)
	}
	if err := handle(http.NewServeMux(), path, handler); err != nil {
		return err
	}
	s.handlers[path] = handler
	return nil
}

// NeedLeaderElection implements Server.
func (s *server) NeedLeaderElection() bool { return false }

// GetBindAddr returns the address and port that the server listens on; empty before Start.
func (s *server) GetBindAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Start implements Server. It returns nil when the context and all requests have ended.
func (s *server) Start(ctx context.Context) error {
	log := log.RuntimeLog.WithName("metrics")
	if chosen, err := logr.FromContext(ctx); err == nil { // for example a manager's
		log = chosen.WithName("metrics")
	}
	mux, err := s.routes(log)
	if err != nil {
		return fmt.Errorf("start the metrics server: %w", err)
	}
	// Goroutines that Start has started end with it, even if it fails.
	ctx, cancel := context.WithCancel(ctx)
	var own sync.WaitGroup
	defer own.Wait()
	defer cancel()
	listener, err := s.listen(ctx, log, &own)
	if err != nil {
		return fmt.Errorf("start the metrics server: %w", err)
	}
	s.mu.Lock()
	s.address = listener.Addr().String()
	s.mu.Unlock()
	log.Info("Serving metrics",
		"address", listener.Addr().String(), "secure", s.options.SecureServing)
	return serveOn(ctx, listener, mux, log)
}

// serveOn answers requests until the context ends, and then waits for those in flight.
func serveOn(
	ctx context.Context, listener net.Listener, handler http.Handler, log logr.Logger,
) error {
	srv := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 32 * time.Second,
		IdleTimeout:       90 * time.Second, // as long as Go's clients keep connections
	}
	ended := make(chan struct{}) // closed when the context and all requests have ended
	running := context.AfterFunc(ctx, func() {
		defer close(ended)
		shutDown(srv, log)
	})
	if err := srv.Serve(listener); running() {
		_ = srv.Close() // the port is closed, but connections are left
		return fmt.Errorf("serve metrics: %w", err)
	}
	<-ended
	return nil
}

func shutDown(srv *http.Server, log logr.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		log.Error(err, "The metrics server cuts requests that do not end", "limit", shutdownLimit)
		_ = srv.Close()
	}
}

// routes puts the filter around each handler. From then on, no handler can be added.
func (s *server) routes(log logr.Logger) (*http.ServeMux, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return nil, errors.New("it has been started before; make a new one")
	}
	s.started = true
	var options promhttp.HandlerOpts // by default an error in one metric fails the request
	for _, change := range s.options.HandlerOpts {
		change(&options)
	}
	s.handlers[metricsPath] = limited(promhttp.HandlerFor(metrics.Registry, options))
	mux := http.NewServeMux()
	for _, path := range slices.Sorted(maps.Keys(s.handlers)) {
		handler := s.handlers[path]
		if s.filter != nil {
			var err error
			if handler, err = s.filter(log.WithValues("path", path), handler); err != nil {
				return nil, fmt.Errorf("filter for %s: %w", path, err)
			}
		}
		if err := handle(mux, path, handler); err != nil {
			return nil, err
		}
	}
	return mux, nil
}

// limited drops a client that stops reading for writeLimit. It would keep a copy of the metrics, and a
// goroutine, for as long as it likes. The server lifts the deadline after each answer.
func limited(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(limitedWriter{w}, r)
	})
}

type limitedWriter struct{ http.ResponseWriter }

func (w limitedWriter) Write(p []byte) (int, error) {
	control := http.NewResponseController(w.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(writeLimit)) // not every writer has one
	return w.ResponseWriter.Write(p)
}

// handle is mux.Handle, but returns an error where that panics.
func handle(mux *http.ServeMux, path string, handler http.Handler) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("add a handler for %q to the metrics server: %v", path, problem)
		}
	}()
	mux.Handle(path, handler)
	return nil
}

func (o Options) withDefaults() Options {
	if o.BindAddress == "" {
		o.BindAddress = DefaultBindAddress
	}
	if o.CertDir == "" {
		o.CertDir = filepath.Join(os.TempDir(), "k8s-metrics-server", "serving-certs")
	}
	if o.CertName == "" {
		o.CertName = "tls.crt"
	}
	if o.KeyName == "" {
		o.KeyName = "tls.key"
	}
	return o
}

// listen opens the port. It starts its goroutine in own; the goroutine ends with the context.
func (s *server) listen(
	ctx context.Context, log logr.Logger, own *sync.WaitGroup,
) (net.Listener, error) {
	var config *tls.Config
	if s.options.SecureServing {
		var err error
		if config, err = s.tlsConfig(ctx, log, own); err != nil {
			return nil, err
		}
	}
	listener, err := s.options.ListenConfig.Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("%w; metrics.Options.BindAddress chooses another address, and "+
			"\"0\" serves none", err)
	}
	if config == nil {
		return listener, nil
	}
	return tls.NewListener(listener, config), nil
}

// tlsConfig uses the certificate of the user's options, or reads it from files, or makes one.
func (s *server) tlsConfig(
	ctx context.Context, log logr.Logger, own *sync.WaitGroup,
) (*tls.Config, error) {
	config := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	for _, change := range s.options.TLSOpts {
		change(config)
	}
	if config.GetCertificate != nil || len(config.Certificates) > 0 ||
		config.GetConfigForClient != nil {
		return config, nil
	}
	cert := filepath.Join(s.options.CertDir, s.options.CertName)
	key := filepath.Join(s.options.CertDir, s.options.KeyName)
	if !exists(cert) || !exists(key) {
		log.Info("There is no certificate for metrics, so the server signs one for itself",
			"cert", cert, "key", key)
		own, err := selfSigned()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
		return config, nil
	}
	watcher, err := certwatcher.New(cert, key)
	if err != nil {
		return nil, err
	}
	config.GetCertificate = watcher.GetCertificate
	own.Go(func() {
		if err := watcher.Start(ctx); err != nil {
			log.Error(err, "The metrics server's certificate is no longer watched")
		}
	})
	return config, nil
}

// exists returns true for a file that is there but can't be read: that is an error to report, and
// no reason to use a self-signed certificate.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !os.IsNotExist(err)
}

// selfSigned makes a certificate that encrypts, and proves nothing.
func selfSigned() (tls.Certificate, error) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost",
		[]net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.X509KeyPair(cert, key)
}
