package server

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
)

// pipes is a listener without a network, so that it works in a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func TestARequestThatDoesNotEndDelaysTheStopOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := pipes{make(chan net.Conn), make(chan struct{})}
		release := make(chan struct{})
		srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })}
		go func() { _ = srv.Serve(listener) }()
		near, far := net.Pipe()
		listener.conns <- far
		_, err := near.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		require.NoError(t, err)
		synctest.Wait()
		began := time.Now()
		shutDown(srv, logr.Discard())
		require.Equal(t, shutdownLimit, time.Since(began))
		_, err = near.Read(make([]byte, 1))
		require.Error(t, err, "the connection was cut")
		close(release)
	})
}
