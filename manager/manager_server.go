package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/loopwright/loopwright/manager/log"
)

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
