// Command 04-informer reports what has changed, with mini's informer.
package main

import (
	"github.com/loopwright/loopwright/chapters/04-informer/away"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 4: the informer", away.Story(watch),
		demo.Predict(2,
			"what does the program report after the break about each of the three?",
			"the two lines above, which don't mention the apple"))
}

// watch is an informer that reports changes.
func watch(d *demo.Demo, fruit *mini.ListWatch) away.Runnable {
	return mini.NewInformer(fruit, nil, func(change mini.Change) {
		name := change.Object().GetName()
		switch {
		case change.Old == nil:
			d.Say("%s is new.", name)
		case change.Tombstone:
			d.Say("%s is gone, and no watch saw it go.", name)
		case change.New == nil:
			d.Say("%s is gone.", name)
		default:
			d.Say("%s has changed.", name)
		}
	})
}
