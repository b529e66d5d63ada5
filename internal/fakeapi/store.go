package fakeapi

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A version is one state of one object. It never changes once it is stored,
// so readers share it without a lock or a copy.
type version struct {
	obj runtime.Object
	rv  uint64
	// labels and fields are what selectors match. They are computed once, at
	// the write, because every watcher asks for them.
	labels labels.Set
	fields fields.Set
	// encoded remembers the bytes of obj, so that a hundred watchers cost one
	// encoding.
	encoded encodings
}

// A change is one entry of the history: an object went from before to after.
// before is nil for a creation and after is nil for a deletion.
type change struct {
	rv     uint64
	key    string
	before *version
	after  *version

	departOnce sync.Once
	departed   *version
}

// departure is what a DELETED event shows: the last state that the watcher
// could see, but with the resourceVersion of the change that took it away, so
// that a client can resume from it. A watcher sees it for a deletion and also
// for an object that stops matching its selector.
func (c *change) departure() *version {
	c.departOnce.Do(func() {
		obj := c.before.obj.DeepCopyObject()
		setResourceVersion(obj, c.rv)
		c.departed = &version{obj: obj, rv: c.rv, labels: c.before.labels, fields: c.before.fields}
	})
	return c.departed
}

// A table holds the objects of one resource and what it remembers of their past.
type table struct {
	// keys is sorted: lists come in this order, as from etcd.
	keys []string
	live map[string]*version
	// log is the watch window, oldest change first. Entries are only appended
	// at the end and dropped at the front, so a slice of it stays valid after
	// the store has moved on.
	log []*change
	// forgotten is the resourceVersion of the newest change that was dropped.
	// The past after it is known, the past before it is not.
	forgotten uint64
}

// store is the whole state of the server: pure data, no clock, no lock, no
// goroutine. Every write takes the next number of one counter, as in etcd.
type store struct {
	rv    uint64
	limit int
	// compacted is the version up to which compact was asked to drop the past.
	// It counts for readers that start; one that is already following its
	// table has missed nothing and goes on.
	compacted uint64
	tables    map[schema.GroupResource]*table
}

func newStore(limit int) *store {
	// A real server has written something before the first client comes. It
	// also keeps 0, which means "any version" in requests, from being a state.
	return &store{rv: 1, limit: limit, tables: map[schema.GroupResource]*table{}}
}

func (s *store) table(gr schema.GroupResource) *table {
	t := s.tables[gr]
	if t == nil {
		t = &table{live: map[string]*version{}}
		s.tables[gr] = t
	}
	return t
}

// put stores obj, which the store owns from now on, and returns the change.
func (s *store) put(gr schema.GroupResource, key string, obj runtime.Object, ls labels.Set, fs fields.Set) *change {
	t := s.table(gr)
	s.rv++
	before := t.live[key]
	setResourceVersion(obj, s.rv)
	v := &version{obj: obj, rv: s.rv, labels: ls, fields: fs}
	t.insert(key, v)
	return t.record(&change{rv: s.rv, key: key, before: before, after: v}, s.limit)
}

// load stores obj with a version of the past, and without a change that a
// watch could see.
func (s *store) load(gr schema.GroupResource, key string, obj runtime.Object, rv uint64, ls labels.Set, fs fields.Set) {
	t := s.table(gr)
	setResourceVersion(obj, rv)
	t.insert(key, &version{obj: obj, rv: rv, labels: ls, fields: fs})
	s.rv = max(s.rv, rv)
	t.forgotten = max(t.forgotten, rv)
}

func (t *table) insert(key string, v *version) {
	if t.live[key] == nil {
		at, _ := slices.BinarySearch(t.keys, key)
		t.keys = slices.Insert(t.keys, at, key)
	}
	t.live[key] = v
}

// remove deletes the object under key, or returns nil if there is none.
func (s *store) remove(gr schema.GroupResource, key string) *change {
	t := s.table(gr)
	before := t.live[key]
	if before == nil {
		return nil
	}
	s.rv++
	delete(t.live, key)
	if at, ok := slices.BinarySearch(t.keys, key); ok {
		t.keys = slices.Delete(t.keys, at, at+1)
	}
	return t.record(&change{rv: s.rv, key: key, before: before}, s.limit)
}

func (t *table) record(c *change, limit int) *change {
	t.log = append(t.log, c)
	for len(t.log) > limit {
		t.forget(1)
	}
	return c
}

func (t *table) forget(n int) {
	if n > 0 {
		t.forgotten = t.log[n-1].rv
		t.log = t.log[n:]
	}
}

// compact drops the history up to and including rv, in every table.
func (s *store) compact(rv uint64) {
	s.compacted = max(s.compacted, min(rv, s.rv))
	for _, t := range s.tables {
		n, _ := slices.BinarySearchFunc(t.log, rv+1, func(c *change, rv uint64) int {
			return compareRV(c.rv, rv)
		})
		t.forget(n)
	}
}

// since returns the changes after rv. ok is false if some of them are forgotten.
func (t *table) since(rv uint64) (changes []*change, ok bool) {
	if rv < t.forgotten {
		return nil, false
	}
	n, _ := slices.BinarySearchFunc(t.log, rv+1, func(c *change, rv uint64) int {
		return compareRV(c.rv, rv)
	})
	return t.log[n:], true
}

// remembers says whether a watch or a list may start at rv.
func (s *store) remembers(t *table, rv uint64) bool {
	return rv >= t.forgotten && rv >= s.compacted
}

func compareRV(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// span returns the sorted keys under a prefix: all of them, or one namespace.
func span(keys []string, prefix string) []string {
	if prefix == "" {
		return keys
	}
	from, _ := slices.BinarySearch(keys, prefix)
	to := from
	for to < len(keys) && strings.HasPrefix(keys[to], prefix) {
		to++
	}
	return keys[from:to]
}

// objectKey is the part of an etcd key that tells objects of one resource
// apart. Its byte order is the order of lists.
func objectKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
