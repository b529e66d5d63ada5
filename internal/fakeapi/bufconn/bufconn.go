// Package bufconn has a listener without a network: its connections are pairs of in-memory pipes. Nothing of it touches
// the operating system, so that client and server run inside one testing/synctest bubble, where blocking on a pipe counts
// as idle.
package bufconn

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections come from Dial.
type Listener struct {
	// pending is written by Dial, read by Accept and never closed. It has no
	// buffer: a dial succeeds when the server has taken the connection.
	pending chan net.Conn
	// closed is closed by Close.
	closed chan struct{}
	once   sync.Once
}

// NewListener makes a listener.
func NewListener() *Listener {
	return &Listener{pending: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the server that accepts. It fails when ctx ends or the listener is closed.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.pending <- server:
		return client, nil
	case <-l.closed:
		return nil, fmt.Errorf("dial in memory: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("dial in memory: %w", context.Cause(ctx))
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.pending:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that were accepted go on.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "in memory" }
