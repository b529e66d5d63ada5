package controllers

import (
	"context"
	"errors"
	"os"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/replicaset"
)

// ours are the controllers that take the places of originals.
var ours = []struct {
	original string
	run      func(ctx context.Context, config *rest.Config, workers int) error
}{
	{"deployment-controller", deployment.Run},
	{"replicaset-controller", replicaset.Run},
	{"endpoints-controller", endpoints.Run},
}

// Seeds is how many random scenarios belong to a comparison.
const Seeds = 200

// workers is how many objects a controller reconciles at a time: as many as the original does.
const workers = 5

// Open brings both worlds up. With self, it is one world with the originals, which are compared with themselves.
func Open(ctx context.Context, self bool) (Worlds, error) {
	theirs, err := stage.New(ctx, "originals", cluster.SampleControllers, nil, os.Stderr)
	if err != nil || self {
		return Worlds{Theirs: theirs, Ours: theirs}, err
	}
	originals, running := slices.Clone(cluster.SampleControllers), map[string]stage.Controller{}
	for _, one := range ours {
		originals = slices.DeleteFunc(originals, func(name string) bool { return name == one.original })
		running[one.original] = func(ctx context.Context, config *rest.Config) error { return one.run(ctx, config, workers) }
	}
	here, err := stage.New(ctx, "ours", originals, running, os.Stderr)
	if err != nil {
		return Worlds{}, errors.Join(err, theirs.Close())
	}
	return Worlds{Theirs: theirs, Ours: here}, nil
}

// Close ends both worlds.
func (w Worlds) Close() error {
	err := w.Theirs.Close()
	if w.Ours != w.Theirs {
		err = errors.Join(err, w.Ours.Close())
	}
	return err
}
