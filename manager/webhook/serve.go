package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook/internal/metrics"
)

var packageLog = log.RuntimeLog.WithName("webhook")

// shutdownLimit is how long requests in flight may take when the server stops. The API server waits
// 30 seconds for a webhook, at most.
const shutdownLimit = time.Minute

// NewServer returns a server. It doesn't start it: add it to a manager, or call Start.
func NewServer(o Options) Server { return &DefaultServer{Options: o} }

// DefaultServer serves webhooks over TLS. Its zero value is a server with default options; don't
// change them after the first call of a method.
//
// Guarantees: when the certificate's files change, new connections get the new certificate, and
// open connections stay open. When the context of Start ends, requests in flight are answered
// first, and their contexts don't end. In controller-runtime, their contexts end with that of
// Start.
type DefaultServer struct {
	Options Options

	mu      sync.Mutex          // guards all below, and the defaults of Options
	paths   map[string]struct{} // those that were registered
	address net.Addr            // where the server listens, once it does
	started bool                // Start was called
	serving chan struct{}       // closed when address is set; made by the first method to need it
}

// options returns the options with their defaults.
func (s *DefaultServer) options() Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.optionsLocked()
}

func (s *DefaultServer) optionsLocked() Options {
	s.Options = s.Options.withDefaults()
	return s.Options
}

// NeedLeaderElection returns false: the API server may call any replica.
func (*DefaultServer) NeedLeaderElection() bool { return false }

// WebhookMux implements Server.
func (s *DefaultServer) WebhookMux() *http.ServeMux { return s.options().WebhookMux }

// Register serves a path, and measures it. It may be called while the server runs. It panics if the
// path was registered before.
func (s *DefaultServer) Register(path string, hook http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	options := s.optionsLocked()
	if _, taken := s.paths[path]; taken {
		panic(fmt.Errorf("two webhooks want the path %s: give one of them another path", path))
	}
	if s.paths == nil {
		s.paths = map[string]struct{}{}
	}
	s.paths[path] = struct{}{}
	options.WebhookMux.Handle(path, metrics.InstrumentedHook(path, hook))
	if log := packageLog.WithValues("path", path); options.disabled() {
		log.Info("Not serving a webhook, because the server is switched off")
	} else {
		log.Info("Registered a webhook")
	}
}

// Start serves until the context ends. A server runs once.
//
// Errors: it returns an error if there's no certificate (os.IsNotExist says whether a file is
// missing), if it can't listen, or if requests had to be cut off at the end.
func (s *DefaultServer) Start(ctx context.Context) error {
	options := s.options()
	logger := loggerFrom(ctx)
	if options.disabled() {
		logger.Info("The webhook server is switched off")
		return nil
	}
	s.mu.Lock()
	again := s.started
	s.started = true
	s.mu.Unlock()
	if again {
		return errors.New("the webhook server was started before: make another one with " +
			"webhook.NewServer")
	}

	config, certificates, err := tlsConfig(options, logger)
	if err != nil {
		if options.Listener != nil {
			_ = options.Listener.Close() // it belongs to the server, which won't serve it now
		}
		return err
	}
	listener := options.Listener
	if listener == nil {
		address := net.JoinHostPort(options.Host, strconv.Itoa(options.Port))
		if listener, err = net.Listen("tcp", address); err != nil {
			return fmt.Errorf("starting the webhook server: %w", err)
		}
	}
	if certificates != nil {
		watching := make(chan struct{}) // closed by the goroutine when the watch has ended
		watch, stop := context.WithCancel(ctx)
		defer func() { stop(); <-watching }()
		go func() {
			defer close(watching)
			// an old certificate is better than no server
			if err := certificates.Start(watch); err != nil {
				logger.Error(err,
					"Not watching the certificate any more: a new one will not be served")
			}
		}()
	}
	s.mu.Lock()
	s.address = listener.Addr()
	close(s.servingLocked())
	s.mu.Unlock()
	logger.Info("Serving webhooks", "address", listener.Addr().String())
	var handler http.Handler = options.WebhookMux
	if options.MaxRequestBytes >= 0 {
		handler = http.MaxBytesHandler(handler, options.MaxRequestBytes)
	}
	return serve(ctx, tls.NewListener(listener, config), handler)
}

func (s *DefaultServer) servingLocked() chan struct{} {
	if s.serving == nil {
		s.serving = make(chan struct{})
	}
	return s.serving
}

// WaitUntilReady returns when the server accepts connections, or when the context ends. A manager
// calls it before it starts its caches: their first list may need a conversion webhook.
func (s *DefaultServer) WaitUntilReady(ctx context.Context) error {
	if s.options().disabled() {
		return nil
	}
	s.mu.Lock()
	serving := s.servingLocked()
	s.mu.Unlock()
	select {
	case <-serving:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the webhook server: %w", context.Cause(ctx))
	}
}

// loggerFrom returns the logger in the context, such as a manager's, or the package's.
func loggerFrom(ctx context.Context) logr.Logger {
	if logger, err := logr.FromContext(ctx); err == nil {
		return logger.WithName("webhook")
	}
	return packageLog
}

// serve answers requests until the context ends, and then waits for those in flight.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	logger := loggerFrom(ctx)
	requests, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 32 * time.Second,
		IdleTimeout:       90 * time.Second, // as long as Go's clients keep a connection
		// "TLS handshake error ... bad certificate" means that the API server doesn't trust our
		// CA. Log it at a level that users see.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelInfo),
	}
	served := make(chan error, 1) // sent once, by the goroutine, which never blocks on it
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serving webhooks: %w", err), server.Close())
	case <-ctx.Done():
	}
	logger.Info("Stopping the webhook server", "limit", shutdownLimit.String())
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	err := server.Shutdown(limit)
	if err != nil {
		err = fmt.Errorf("webhook requests were cut off when the server stopped: %w", err)
		err = errors.Join(err, server.Close())
	}
	<-served
	return err
}

// StartedChecker returns a check that connects to the server, and fails if it can't.
func (s *DefaultServer) StartedChecker() healthz.Checker {
	return func(req *http.Request) error {
		options := s.options()
		s.mu.Lock()
		address := s.address
		s.mu.Unlock()
		if options.disabled() {
			return nil
		}
		if address == nil {
			return errors.New("webhook server has not been started yet")
		}
		ctx := context.Background()
		if req != nil {
			ctx = req.Context()
		}
		return reach(ctx, address)
	}
}

// reach connects, and doesn't verify the certificate: that is the API server's task, and the
// certificate may be for a name that this process can't resolve.
func reach(ctx context.Context, address net.Addr) error {
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: 10 * time.Second},
		Config:    &tls.Config{InsecureSkipVerify: true},
	}
	connection, err := dialer.DialContext(ctx, address.Network(), address.String())
	if err != nil {
		return fmt.Errorf("webhook server is not reachable: %w", err)
	}
	_ = connection.Close() // it was reached
	return nil
}
