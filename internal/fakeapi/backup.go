package fakeapi

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Backup is what the server had stored at one moment.
type Backup struct {
	rv     uint64
	tables map[schema.GroupResource]*table
}

// Backup returns what is stored now. Versions and changes never change, so it shares them.
func (s *Server) Backup() Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Backup{rv: s.store.rv, tables: copyTables(s.store.tables)}
}

// Restore makes the server what it was at the time of the backup, as a restored snapshot of etcd
// does: what was written since is lost, and the next write gets a version that another one has had.
// It ends all watches: a real API server has to be stopped meanwhile.
func (s *Server) Restore(b Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.rv, s.store.tables = b.rv, copyTables(b.tables)
	s.store.compacted = min(s.store.compacted, b.rv)
	close(s.restored)
	s.restored = make(chan struct{})
	for key, changed := range s.changed { // those who wait for a version look again
		close(changed)
		delete(s.changed, key)
	}
}

// Advance counts n versions on, as n writes do that no client of this server watches.
func (s *Server) Advance(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.rv += n
}

func copyTables(tables map[schema.GroupResource]*table) map[schema.GroupResource]*table {
	all := map[schema.GroupResource]*table{}
	for resource, t := range tables {
		all[resource] = &table{
			keys: slices.Clone(t.keys), live: maps.Clone(t.live), log: slices.Clone(t.log),
			forgotten: t.forgotten,
		}
	}
	return all
}
