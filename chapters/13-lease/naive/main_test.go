package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A create takes its time, so that both processes count before the first Pod is there.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	slow := func(ctx context.Context, server *fakeapi.Server) {
		example.InMemory(ctx, server)
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 10 * time.Millisecond,
		})
	}
	demotest.InMemoryWith(t, slow, twice.Story(run), demotest.Rule{
		Find: `so far: [4-9]\. Requests to delete one: [1-9]\d*\.`,
		Put:  "so far: too many. Requests to delete one: some.",
	})
}
