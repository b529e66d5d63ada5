// Command naive keeps a store in step with the API server, with a loop over watches.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/chapters/03-reflector/outage"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 3, naive: a loop", outage.Story(keep),
		demo.Predict(2, "how many requests does the program send in the three seconds?",
			"the first line above"),
		demo.Predict(3, "what does it believe in at the end?",
			"the last line above: the server has only the apple"))
}

// keep lists once, and watches from there. When a watch ends, it watches again.
func keep(ctx context.Context, fruit *mini.ListWatch, store *mini.Store) error {
	items, version, err := fruit.List(ctx)
	if err != nil {
		return err
	}
	store.Replace(items)
	handle := func(event watch.EventType, obj mini.Object) {
		switch event {
		case watch.Added, watch.Modified:
			store.Update(obj)
		case watch.Deleted:
			store.Delete(mini.KeyOf(obj))
		}
	}
	for ctx.Err() == nil {
		w, err := fruit.Watch(ctx, version)
		if err != nil {
			continue // the API server is away: try again
		}
		version, _ = mini.Follow(w, version, handle)
		w.Stop()
	}
	return nil
}
