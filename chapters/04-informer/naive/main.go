// Command naive reports each object that a reflector brings.
package main

import (
	"github.com/loopwright/loopwright/chapters/04-informer/away"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 4, naive: report what comes", away.Story(watch),
		demo.Predict(2,
			"what does the program report after the break about each of the three?",
			"the two lines above, which don't mention the banana"))
}

// watch is a reflector that reports what it is given.
func watch(d *demo.Demo, fruit *mini.ListWatch) away.Runnable {
	return &mini.Reflector{Source: fruit, Sink: reporter{d}}
}

// reporter is a Sink without a memory.
type reporter struct{ *demo.Demo }

// Replace reports what a list has.
func (r reporter) Replace(items []mini.Object, _ string) {
	for _, obj := range items {
		r.Update(obj)
	}
}

// Update reports an object that is new or has changed: the watch does not say which.
func (r reporter) Update(obj mini.Object) { r.Say("%s is there.", obj.GetName()) }

// Delete reports an object that was deleted.
func (r reporter) Delete(obj mini.Object) { r.Say("%s is gone.", obj.GetName()) }
