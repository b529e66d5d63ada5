package informer

import "k8s.io/apimachinery/pkg/watch"

// partialView is a view that is not whole yet. It holds the objects and nothing
// else, unless one of them changes while the rest is still coming.
type partialView[T Object] struct {
	items   []T
	indexOf map[Key]int // where in items; made when it is needed
}

// add takes the items of a page.
func (v *partialView[T]) add(items []T) {
	if v.items == nil {
		v.items = items
		return
	}
	v.items = append(v.items, items...)
}

// apply takes an event of a stream. A server may report changes before the
// initial events have ended.
func (v *partialView[T]) apply(event Event[T]) {
	if v.indexOf == nil {
		if event.Type == watch.Added {
			v.items = append(v.items, event.Object)
			return
		}
		v.buildIndex()
	}
	key := KeyOf(event.Object)
	i, there := v.indexOf[key]
	switch {
	case event.Type != watch.Deleted && there:
		v.items[i] = event.Object
	case event.Type != watch.Deleted:
		v.indexOf[key] = len(v.items)
		v.items = append(v.items, event.Object)
	case there:
		last := len(v.items) - 1
		v.items[i] = v.items[last]
		v.indexOf[KeyOf(v.items[i])] = i
		clear(v.items[last:])
		v.items = v.items[:last]
		delete(v.indexOf, key)
	}
}

// buildIndex leaves out the first of two that a server sent for the same object.
func (v *partialView[T]) buildIndex() {
	v.indexOf = make(map[Key]int, len(v.items))
	items := v.items[:0]
	for _, item := range v.items {
		key := KeyOf(item)
		if i, there := v.indexOf[key]; there {
			items[i] = item
			continue
		}
		v.indexOf[key] = len(items)
		items = append(items, item)
	}
	clear(v.items[len(items):])
	v.items = items
}
