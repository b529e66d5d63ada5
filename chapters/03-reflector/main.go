// Command 03-reflector keeps a store in step with the API server, with mini's reflector.
package main

import (
	"context"
	"time"

	"github.com/loopwright/loopwright/chapters/03-reflector/outage"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 3: the reflector", outage.Story(keep),
		demo.Predict(2,
			"the pauses are 0.1, 0.2, 0.4, 0.8, 1, 1 s and so on. How many requests "+
				"does the program send in the three seconds without a server?",
			"the first line above"),
		demo.Predict(3, "which requests does it send when the server is back?",
			"the first line above"))
}

// keep runs a reflector. It pauses for less than usual, so that the program ends soon.
func keep(ctx context.Context, fruit *mini.ListWatch, store *mini.Store) error {
	reflector := &mini.Reflector{
		Source: fruit, Sink: sink{store},
		Backoff: mini.Backoff{Base: 100 * time.Millisecond, Max: time.Second},
	}
	return reflector.Run(ctx)
}

// sink is a store that a reflector fills.
type sink struct{ store *mini.Store }

func (s sink) Replace(items []mini.Object, version string) { s.store.Replace(items) }
func (s sink) Update(obj mini.Object)                      { s.store.Update(obj) }
func (s sink) Delete(obj mini.Object)                      { s.store.Delete(mini.KeyOf(obj)) }
