// Package stories plays the chapters' programs on API servers in memory, from the sources that
// `make chapter-N` runs.
//
// A program is a package main, which nothing can import. When the playground is built, each becomes a
// package below this one, in an overlay: main.go with another package clause, and its test, which says
// what it needs beside an API server (package build, programs.go). In any other build, there are none.
//
// Neighbours: it stands on internal/demo, the programs' stage. The program playground plays them for
// package bridge.
package stories

import (
	"context"
	"io"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/playground/light/demotest"
	"github.com/loopwright/loopwright/xray"
)

// All has the programs by their names, like "06-queue" and "06-queue/naive".
var All = map[string]demotest.Program{}

// add is called by the registry in the overlay.
//
//lint:ignore U1000 in any other build, nothing calls it
func add(name string, test func(*demotest.T)) {
	t := &demotest.T{}
	test(t)
	All[name] = t.Program
}

// Play plays a program until it ends, and writes what it prints. Before it begins, see gets its stage:
// the flight recorder, and the step mode that disturbs its connection.
func Play(ctx context.Context, p demotest.Program, out io.Writer, see func(*demo.Demo)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := fakeapi.New(p.Options)
	defer server.Close()
	p.Prepare(ctx, server)
	return demo.On(ctx, out, cluster.Of("in memory", server.Config()), func(ctx context.Context, d *demo.Demo) error {
		d.Steps = xray.NewSteps(d.Recorder)
		see(d)
		return p.Story(ctx, d)
	})
}
