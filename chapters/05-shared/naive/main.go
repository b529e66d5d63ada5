// Command naive calls all handlers of an informer in turn.
package main

import (
	"sync"

	"github.com/loopwright/loopwright/chapters/05-shared/slow"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 5, naive: a list of handlers", slow.Story(withHandlers),
		demo.Predict(1, "when does the fast handler know all five Secrets?",
			"the line above: the slow handler takes a second for each"),
		demo.Predict(2, "how many of them does the third handler learn of?", "the line above"))
}

// handlers is an informer with a list of handlers.
type handlers struct {
	*mini.Informer

	mu  sync.Mutex // guards all
	all []func(mini.Change)
}

func withHandlers(fruit *mini.ListWatch) slow.Informer {
	h := &handlers{}
	h.Informer = mini.NewInformer(fruit, nil, h.call)
	return h
}

// Add calls handle with all changes from now on.
func (h *handlers) Add(handle func(mini.Change)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, handle)
}

// call calls one handler after the other.
func (h *handlers) call(change mini.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range h.all {
		handle(change)
	}
}
