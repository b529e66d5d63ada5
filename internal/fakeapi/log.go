package fakeapi

import (
	"fmt"
	"sync"
)

// requestLog keeps what was asked of the server, oldest first.
type requestLog struct {
	mu      sync.Mutex // guards entries
	entries []Request
}

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, r)
}

// Requests returns the requests so far that match, in the order in which they
// arrived.
func (s *Server) Requests(m Match) []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	var out []Request
	for _, r := range s.log.entries {
		if m.matches(r) {
			out = append(out, r)
		}
	}
	return out
}

// ForgetRequests empties the log.
func (s *Server) ForgetRequests() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.entries = nil
}

// String is the request in one line: the verb and the object.
func (r Request) String() string {
	what := r.Resource
	if what == "" {
		return r.Verb + " " + r.Path
	}
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	switch {
	case r.Namespace != "" && r.Name != "":
		return fmt.Sprintf("%s %s %s/%s", r.Verb, what, r.Namespace, r.Name)
	case r.Namespace != "":
		return fmt.Sprintf("%s %s in %s", r.Verb, what, r.Namespace)
	case r.Name != "":
		return fmt.Sprintf("%s %s %s", r.Verb, what, r.Name)
	}
	return r.Verb + " " + what
}
