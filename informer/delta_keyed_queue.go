package informer

// keyedQueue is a queue with one node for each key: a key that is already in it keeps
// its position. So it is never longer than the number of keys, however fast it is filled.
//
// The zero keyedQueue is empty. It has no lock and no goroutine.
type keyedQueue[V any] struct {
	linkedQueue[Key, V]
	nodes map[Key]*queueNode[Key, V]
	peak  int // the most nodes since the map was made
}

// find returns the key's node, or nil.
func (f *keyedQueue[V]) find(key Key) *queueNode[Key, V] { return f.nodes[key] }

// push adds a node for the key at the end. The key must not have one.
func (f *keyedQueue[V]) push(key Key) *queueNode[Key, V] {
	if f.nodes == nil {
		f.nodes = map[Key]*queueNode[Key, V]{}
	}
	q := f.linkedQueue.push(key)
	f.nodes[key] = q
	f.peak = max(f.peak, f.length)
	return q
}

// remove takes a node out of the queue, from wherever it is. It must not be used
// afterwards.
func (f *keyedQueue[V]) remove(q *queueNode[Key, V]) {
	delete(f.nodes, q.key)
	f.linkedQueue.remove(q)
	if f.length == 0 && f.peak > maxSpareNodes { // a Go map never shrinks
		f.nodes, f.peak = nil, 0
	}
}
