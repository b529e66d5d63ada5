package example

import (
	"context"

	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// InMemory makes an in-memory API server a cluster for the example: it serves Websites, and has a
// kubelet. Tests give it to demotest.InMemoryWith.
func InMemory(ctx context.Context, server *fakeapi.Server) {
	server.Register(fakeapi.Kind{
		Group: Kind.Group, Version: Kind.Version, Kind: Kind.Kind, Status: true, Example: &Website{},
	})
	kubelet.Quick(ctx, server)
}
