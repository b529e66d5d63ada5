package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/11-cache/tenpods"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Events take as long as three writes, so that the store is always behind.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	slow := func(_ context.Context, server *fakeapi.Server) {
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 10 * time.Millisecond,
		})
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, DelayEvents: 30 * time.Millisecond,
		})
	}
	demotest.InMemoryWith(t, slow, tenpods.Story(prepare),
		demotest.Rule{Find: `It counted [0-9, ]+,`, Put: "It counted,"},
		demotest.Rule{Find: `There are (1[1-9]|[2-9]\d) Pods`, Put: "There are too many Pods"})
}
