package manager

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
)

// silence is a listener to which nobody connects, so that it works in a bubble.
type silence struct {
	closed chan struct{} // closed by close
	close  func()
}

func newSilence() silence {
	closed := make(chan struct{})
	return silence{closed, sync.OnceFunc(func() { close(closed) })}
}

func (s silence) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s silence) Close() error              { s.close(); return nil }
func (s silence) Addr() net.Addr            { return &net.UnixAddr{Name: "silence"} }

// A runnable that ends early would look like one whose work is done.
func TestAServerThatSomebodyElseShutsDownEndsWithItsManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told story
		logger := funcr.New(func(_, line string) { told.say("%s", line) }, funcr.Options{})
		s := &Server{Name: "extra", Server: newHTTPServer(http.NotFoundHandler()), Listener: newSilence()}
		ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logger))
		ended := make(chan error, 1)
		go func() { ended <- s.Start(ctx) }()
		synctest.Wait()
		require.Equal(t, []string{`"level"=0 "msg"="Serving" "server"="extra" "address"="silence"`}, told.told())
		require.NoError(t, s.Server.Shutdown(t.Context()))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, ended)
		stop()
		require.NoError(t, <-ended)
	})
}

func TestAServerSaysWhereItServesAndThatItHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told story
		logger := funcr.New(func(_, line string) { told.say("%s", line) }, funcr.Options{})
		s := &Server{Server: newHTTPServer(http.NotFoundHandler()), Listener: newSilence()}
		require.Equal(t, "HTTP server", s.String())
		ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logger))
		stop()
		require.NoError(t, s.Start(ctx))
		require.Equal(t, []string{
			`"level"=0 "msg"="Serving" "server"="" "address"="silence"`, `"level"=0 "msg"="Stopped serving" "server"="" "address"="silence"`,
		}, told.told())
	})
}

// Whoever starts it again, or a replica of it, needs the port.
func TestAServerThatIsToldToStopBeforeItServesHasClosedItsPortWhenItReturns(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			port := newSilence()
			ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
			stop()
			require.NoError(t, (&Server{Server: newHTTPServer(http.NotFoundHandler()), Listener: port}).Start(ctx))
			select {
			case <-port.closed:
			default:
				require.Fail(t, "the port is still open")
			}
		})
	}
}

// What only the leader serves would show the state of a replica that does nothing.
func TestAServerOfTheLeaderWaitsForTheLead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.start(w.manager(ofElection()))
		lead(t, first)
		m := w.manager(ofElection())
		server := &Server{Name: "leader's", Server: newHTTPServer(http.NotFoundHandler()), Listener: newSilence(), OnlyServeWhenLeader: true}
		require.True(t, server.NeedLeaderElection())
		require.NoError(t, m.Add(server))
		second := w.start(m)
		time.Sleep(time.Minute)
		serving := `"msg"="Serving" "server"="leader's"`
		require.NotContains(t, w.log(), serving)
		require.NoError(t, first.end())
		lead(t, second)
		synctest.Wait()
		require.Contains(t, w.log(), serving)
		require.NoError(t, second.end())
	})
}
