// Command 05-shared gives each handler of an informer a queue and a goroutine.
package main

import (
	"github.com/loopwright/loopwright/chapters/05-shared/slow"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 5: the shared informer", slow.Story(shared),
		demo.Predict(1, "when does the fast handler know all five Secrets?",
			"the line above"),
		demo.Predict(2, "how many of them does the third handler learn of?", "the line above"))
}

// adder adds handlers to mini's informer.
type adder struct{ *mini.SharedInformer }

func shared(fruit *mini.ListWatch) slow.Informer {
	informer := mini.NewSharedInformer(fruit, nil)
	informer.Trace = fruit.Cluster.Trace
	return adder{informer}
}

// Add calls handle with all objects, and with all changes from now on.
func (a adder) Add(handle func(mini.Change)) { a.AddHandler(handle) }
