package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/13-lease/twice"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A create takes its time, so that both processes count before the first Pod is there.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	slow := func(_ context.Context, server *fakeapi.Server) {
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 10 * time.Millisecond,
		})
	}
	demotest.InMemoryWith(t, slow, twice.Story(process),
		demotest.Rule{Find: `so far: [4-9]; deleted: [1-9]`, Put: "so far: too many; deleted: some"})
}
