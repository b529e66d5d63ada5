package hostile

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// stream is an open watch. The server writes an event to it with each Write.
type stream struct {
	http.ResponseWriter
	about fakeapi.Request
	over  <-chan struct{} // closed when the client has gone, or after cut
	cut   context.CancelFunc

	mu     sync.Mutex // guards the rest
	silent bool
	late   time.Time // nothing passes until then
	spoilt *attack   // it gets the next event
}

// watch serves a watch.
func (n *Network) watch(w http.ResponseWriter, r *http.Request, about fakeapi.Request, a *attack) {
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	s := &stream{ResponseWriter: w, about: about, over: ctx.Done(), cut: cut}
	switch {
	case a == nil:
	case a.Fault.open != openCut:
		s.attacked(a)
	case a.Fault.serve != nil:
		a.Fault.serve(w, r, n, a)
		return
	default:
		s.spoilt = a
	}
	n.mu.Lock()
	n.streams[s] = struct{}{}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.streams, s)
		n.mu.Unlock()
	}()
	n.server.ServeHTTP(s, r.WithContext(ctx))
	if s.isSilent() { // the end doesn't arrive, either
		select {
		case <-r.Context().Done():
		case <-n.done:
		}
	}
}

// attacked makes an open watch part of an attack.
func (s *stream) attacked(a *attack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch a.Fault.open {
	case openSilent:
		s.silent = true
	case openLate:
		s.late = time.Now().Add(max(a.For, time.Second))
	default:
		s.cut()
	}
}

func (s *stream) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// Write implements http.ResponseWriter.
func (s *stream) Write(event []byte) (int, error) {
	s.mu.Lock()
	silent, late, spoilt := s.silent, s.late, s.spoilt
	s.mu.Unlock()
	if silent {
		return len(event), nil
	}
	if left := time.Until(late); left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.over:
			return 0, context.Canceled
		}
	}
	if spoilt != nil {
		s.cut()
		was := &answer{http.StatusOK, s.Header().Clone(), event}
		spoilt.Fault.spoil(was, s.ResponseWriter)
		return 0, context.Canceled
	}
	return s.ResponseWriter.Write(event)
}

// WriteHeader implements http.ResponseWriter. The header of a spoilt watch comes with its first
// event: it's a part of what is spoilt.
func (s *stream) WriteHeader(code int) {
	s.mu.Lock()
	spoilt := s.spoilt
	s.mu.Unlock()
	if spoilt == nil || code != http.StatusOK {
		s.ResponseWriter.WriteHeader(code)
	}
}

// Flush implements http.Flusher.
func (s *stream) Flush() {
	s.mu.Lock()
	waits := s.spoilt != nil || s.silent
	s.mu.Unlock()
	if !waits {
		flush(s.ResponseWriter)
	}
}
