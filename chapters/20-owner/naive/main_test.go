package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/20-owner/overlap"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A write takes some time: otherwise the fight of the two would never let the clock go on.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	slow := func(_ context.Context, server *fakeapi.Server) {
		for _, verb := range []string{"create", "delete"} {
			server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: verb, Resource: "pods"}, Delay: 10 * time.Millisecond,
			})
		}
	}
	demotest.InMemoryWith(t, slow, overlap.Story(findPods),
		demotest.Rule{Find: `created: \d{2,}; deleted: \d{2,};`, Put: "created and deleted: many;"},
		demotest.Rule{Find: `Owned by web: [^\n]*\s*\z`, Put: "whatever was there at the end"})
}
