package cache_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// hearing is a handler that writes down what it is told.
type hearing struct {
	mu   sync.Mutex // guards told
	told []string
}

func newHearing() *hearing { return &hearing{} }

func (h *hearing) write(what string, object any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	named := object.(client.Object)
	h.told = append(h.told, fmt.Sprintf("%s %T %s/%s", what, object, named.GetNamespace(), named.GetName()))
}

func (h *hearing) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

// sorted is for handlers that several informers tell something.
func (h *hearing) sorted() []string {
	all := h.all()
	slices.Sort(all)
	return all
}

func (h *hearing) OnAdd(object any, initial bool) {
	if initial {
		h.write("initial", object)
	} else {
		h.write("add", object)
	}
}

func (h *hearing) OnUpdate(old, object any) {
	if old == object {
		h.write("resync", object)
	} else {
		_ = old.(client.Object)
		h.write("update", object)
	}
}

func (h *hearing) OnDelete(object any) {
	if lost, ok := object.(informer.DeletedFinalStateUnknown); ok {
		h.write("lost "+lost.Key, lost.Obj)
	} else {
		h.write("delete", object)
	}
}
