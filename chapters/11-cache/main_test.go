package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/11-cache/tenpods"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Events take as long as three writes: the client has to wait for each.
func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	slow := func(_ context.Context, server *fakeapi.Server) {
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, DelayEvents: 30 * time.Millisecond,
		})
	}
	demotest.InMemoryWith(t, slow, tenpods.Story(prepare))
}
