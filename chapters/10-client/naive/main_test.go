package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/10-client/counter"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// An update takes its time, so that both clients have read before the first one writes.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	slow := func(_ context.Context, server *fakeapi.Server) {
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "configmaps"}, Delay: 10 * time.Millisecond,
		})
	}
	demotest.InMemoryWith(t, slow, counter.Story(increment),
		demotest.Rule{Find: `at [23]\d\.`, Put: "at less than 40."})
}
