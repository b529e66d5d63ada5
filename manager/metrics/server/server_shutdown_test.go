package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/internal/pipe"
)

// caller is a connection to a server in a bubble.
type caller struct {
	*testing.T
	net.Conn
}

// connect serves a handler, and returns a connection to it.
func connect(t *testing.T, ctx context.Context, log logr.Logger, handler http.HandlerFunc) (caller, *pipe.Listener, <-chan error) {
	t.Helper()
	listener := pipe.NewListener()
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, handler, log) }()
	conn, err := listener.Dial(ctx)
	require.NoError(t, err)
	return caller{t, conn}, listener, ended
}

func (c caller) ask() {
	c.Helper()
	_, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(c, err)
	synctest.Wait()
}

// logged collects what is logged.
type logged struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(prefix, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, prefix+" "+text)
	}, funcr.Options{})
}

func (l *logged) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func TestARequestThatDoesNotEndDelaysTheStopOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		ctx, stop := context.WithCancel(t.Context())
		release := make(chan struct{})
		c, _, ended := connect(t, ctx, log.logger(), func(http.ResponseWriter, *http.Request) { <-release })
		c.ask()
		began := time.Now()
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, shutdownLimit, time.Since(began))
		require.Contains(t, log.told(), "The metrics server cuts requests that do not end")
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err, "the connection was cut")
		close(release)
	})
}

// Prometheus asks at any time, and the last values are often those that somebody looks for.
func TestTheServerEndsWhenItsRequestsHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		ctx, stop := context.WithCancel(t.Context())
		c, _, ended := connect(t, ctx, log.logger(), func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			time.Sleep(time.Second)
		})
		c.ask()
		answered := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(c)
			answered <- err
		}()
		began := time.Now()
		stop()
		require.NoError(t, <-ended)
		require.GreaterOrEqual(t, time.Since(began), time.Second, "the request was still being served")
		require.Less(t, time.Since(began), shutdownLimit)
		require.NoError(t, <-answered)
		require.Empty(t, log.told(), "nothing was cut")
	})
}

func TestAServerWhosePortIsGoneSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, listener, ended := connect(t, t.Context(), logr.Discard(), http.NotFound)
		require.NoError(t, listener.Close())
		require.ErrorContains(t, <-ended, "serve metrics: ")
		began := time.Now()
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.Zero(t, time.Since(began), "whoever is connected would wait for an answer of nobody")
	})
}

// Anybody who reaches the port could otherwise take all of the process's connections.
func TestConnectionsThatDoNothingAreClosed(t *testing.T) {
	for name, asks := range inorder.Map(map[string]bool{"without a question": false, "after an answer": true}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				c, _, ended := connect(t, ctx, logr.Discard(), func(http.ResponseWriter, *http.Request) {})
				if asks {
					c.ask()
				}
				began := time.Now()
				_, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 5*time.Minute)
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}
