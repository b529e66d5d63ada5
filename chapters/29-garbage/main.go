// Command 29-garbage runs mini's garbage collector.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/29-garbage/cascade"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	cascade.Main("Chapter 29: the garbage collector", prepare,
		demo.Predict(1,
			"in step 1, the collector sends four writes. Which objects, and in which "+
				"order? Which of them comes only after the Pod has been drained?",
			"the four writes above"))
}

// prepare adds the controllers of the collector to the manager.
func prepare(_ context.Context, d *demo.Demo, m *mini.Manager) error {
	m.Cluster.Trace = d.Recorder
	d.Show(func(e trace.Event) bool { return e.Kind == trace.Write })
	collector, err := mini.NewGarbageCollector(m, cascade.Kinds...)
	for _, c := range collector {
		m.AddController(c)
	}
	return err
}
