package endpoints

import (
	"sync"
	"time"

	"github.com/loopwright/loopwright/manager/client"
)

// memory is what the controller knows about Services beyond their objects. It may be lost: what it is for is
// an annotation, and less work.
type memory struct {
	mu sync.Mutex // guards of
	of map[client.ObjectKey]remembered
}

// remembered is about one Service.
type remembered struct {
	times   *times // of the last look that ended well
	version string // of the Endpoints, as the controller has last written them
	restEnd time.Time

	isWriting bool   // a write is under way
	seen      string // the version in the last event since it was sent
}

func (m *memory) about(service client.ObjectKey) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[service]
}

// looked notes what a look has seen that ended well. One that failed is not noted, or its moments would not be new
// any more when it is tried again.
func (m *memory) looked(service client.ObjectKey, seen *times) {
	m.change(service, func(r *remembered) { r.times = seen })
}

// rests notes until when to leave a Service alone.
func (m *memory) rests(service client.ObjectKey, until time.Time) {
	m.change(service, func(r *remembered) { r.restEnd = until })
}

// writes notes that a write is about to be sent. Its event may come before its answer.
func (m *memory) writes(service client.ObjectKey) {
	m.change(service, func(r *remembered) { r.isWriting, r.seen = true, "" })
}

// wrote notes the answer, and reports whether somebody else has written since. Who wrote before makes no difference: then
// there is no answer, but a conflict.
func (m *memory) wrote(service client.ObjectKey, version string, restEnd time.Time) (isOlder bool) {
	m.change(service, func(r *remembered) {
		isOlder = r.seen != "" && r.seen != version
		r.version, r.restEnd, r.isWriting = version, restEnd, false
	})
	return isOlder
}

func (m *memory) failedToWrite(service client.ObjectKey) {
	m.change(service, func(r *remembered) { r.isWriting = false })
}

// isOwnWrite reports whether the controller has written this version, or may have: while a write is under way, its answer
// will tell.
func (m *memory) isOwnWrite(service client.ObjectKey, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.of[service]
	if ok && r.isWriting {
		r.seen = version
		m.of[service] = r
	}
	return ok && (r.isWriting || r.version == version)
}

func (m *memory) change(service client.ObjectKey, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[client.ObjectKey]remembered{}
	}
	about := m.of[service]
	change(&about)
	m.of[service] = about
}

func (m *memory) forget(service client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, service)
}
