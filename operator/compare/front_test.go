package compare

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
)

// front does what a Service does in a cluster: it leads connections to a replica that takes them. API servers
// call webhooks here. The mutex guards the backends and the connections.
type front struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	backends []string
	open     map[net.Conn]bool
}

func newFront() (*front, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{listener: listener, open: map[net.Conn]bool{}}
	f.serving.Go(f.serve)
	return f, nil
}

func (f *front) address() string { return f.listener.Addr().String() }

// add and remove say which replicas there are. A connection to one that is removed ends, as it does when the
// replica itself ends.
func (f *front) add(backend string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backends = append(f.backends, backend)
}

func (f *front) remove(backend string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backends = slices.DeleteFunc(f.backends, func(b string) bool { return b == backend })
}

func (f *front) close() error {
	err := f.listener.Close()
	f.mu.Lock()
	for conn := range f.open {
		err = errors.Join(err, conn.Close())
	}
	f.mu.Unlock()
	f.serving.Wait()
	return err
}

func (f *front) serve() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return // it is closed
		}
		f.serving.Go(func() { f.pass(conn) })
	}
}

func (f *front) pass(conn net.Conn) {
	defer f.done(conn)
	f.mu.Lock()
	f.open[conn] = true
	backends := slices.Clone(f.backends)
	f.mu.Unlock()
	for _, backend := range backends {
		to, err := net.Dial("tcp", backend)
		if err != nil {
			continue // it has ended, and nobody has noticed yet
		}
		var back sync.WaitGroup
		back.Go(func() {
			_, _ = io.Copy(conn, to) // either side may end first
			_ = conn.Close()
		})
		_, _ = io.Copy(to, conn)
		_ = to.Close()
		back.Wait()
		return
	}
}

func (f *front) done(conn net.Conn) {
	f.mu.Lock()
	delete(f.open, conn)
	f.mu.Unlock()
	_ = conn.Close() // it may be closed already
}
