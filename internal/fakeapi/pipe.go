package fakeapi

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// pipeListener accepts connections that are pairs of in-memory pipes. Nothing
// of it touches the operating system, so that client and server run inside
// one testing/synctest bubble, where blocking on a pipe counts as idle.
type pipeListener struct {
	// pending is written by dial, read by Accept and never closed. It has no
	// buffer: a dial succeeds when the server has taken the connection.
	pending chan net.Conn
	// closed is closed by Close.
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{pending: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.pending <- server:
		return client, nil
	case <-l.closed:
		return nil, fmt.Errorf("dial the in-memory API server: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("dial the in-memory API server: %w", context.Cause(ctx))
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.pending:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "fakeapi" }
