package main

import (
	"context"
	"testing"
	"time"

	"github.com/loopwright/loopwright/chapters/11-cache/shops"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Events take as long as three writes, so that the cache is always behind.
func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	slow := func(ctx context.Context, server *fakeapi.Server) {
		example.InMemory(ctx, server)
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 10 * time.Millisecond,
		})
		server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, DelayEvents: 30 * time.Millisecond,
		})
	}
	demotest.InMemoryWith(t, slow, shops.Story(client), demotest.Rule{
		Find: `created: (6[1-9]|[7-9]\d|\d{3})\. Pods deleted: [1-9]\d*\.`,
		Put:  "created: too many. Pods deleted: some.",
	})
}
