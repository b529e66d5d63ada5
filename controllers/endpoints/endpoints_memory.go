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

func (m *memory) wrote(service client.ObjectKey, version string, restEnd time.Time) {
	m.change(service, func(r *remembered) { r.version, r.restEnd = version, restEnd })
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
