// Command naive has two handlers: one wakes a controller too often, the other not often
// enough.
package main

import (
	"github.com/loopwright/loopwright/chapters/09-events/debugging"
	"github.com/loopwright/loopwright/chapters/09-events/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

var story = debugging.Story(always, byLabel)

func main() { demo.Main("Chapter 9, naive: who wakes the controller", story) }

// always wakes the controller with every change of a Website and of its Pods.
func always(r *website.Reconciler) *mini.Controller {
	c := mini.NewController("websites", r)
	r.Websites.AddHandler(func(change mini.Change) {
		c.Queue.Add(mini.KeyOf(change.Object()))
	})
	r.Pods.AddHandler(func(change mini.Change) { addWebsiteOf(c, change.Object()) })
	return c
}

// byLabel does so with changes of a Website's spec, and of its Pods.
func byLabel(r *website.Reconciler) *mini.Controller {
	c := mini.NewController("websites", r)
	r.Websites.AddHandler(func(change mini.Change) {
		if mini.GenerationChanged(change) {
			c.Queue.Add(mini.KeyOf(change.Object()))
		}
	})
	r.Pods.AddHandler(func(change mini.Change) { addWebsiteOf(c, change.Object()) })
	return c
}

func addWebsiteOf(c *mini.Controller, pod mini.Object) {
	name := pod.GetLabels()[example.Label]
	c.Queue.Add(mini.Request{Namespace: pod.GetNamespace(), Name: name})
}
