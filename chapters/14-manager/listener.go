package main

import (
	"net"
	"sync"
)

// pretendListener is a port to which nobody connects.
type pretendListener struct {
	began, ended *log
	once         sync.Once
	closed       chan struct{} // closed by Close
}

// Accept implements net.Listener.
func (l *pretendListener) Accept() (net.Conn, error) {
	l.began.say("an HTTP server")
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *pretendListener) Close() error {
	l.once.Do(func() {
		l.ended.say("an HTTP server")
		close(l.closed)
	})
	return nil
}

// Addr implements net.Listener.
func (l *pretendListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
