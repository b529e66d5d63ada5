// Command eventpath counts the functions and files that one event passes, from the watch to the call of the
// Reconciler: in this library, and in controller-runtime with client-go.
//
// It builds program, a manager with a controller for Pods and an API server of its own, with coverage counters.
// The program clears the counters, sends one update of a Pod, and writes them when its Reconciler is called. What
// runs beside the event, such as a timer of a metric, is left out: a function counts if it runs in each of
// several tries. Function literals belong to the function that they stand in. The decoding of the stream,
// which both sides borrow from apimachinery, is not counted.
//
//	go run ./cmd/eventpath                                    prints both lists
//	go run ./cmd/eventpath -max-functions 110 -max-files 35   fails if ours is longer
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/loopwright/loopwright/benchmarks/build"
)

// side is one of the two that are counted.
type side struct {
	name     string
	imports  func(string) string
	packages string   // whose functions count, as -coverpkg wants it
	layers   []string // import paths, or what they begin with, in the order in which an event passes them
}

const (
	ourModule     = "github.com/loopwright/loopwright"
	clientGo      = "k8s.io/client-go"
	theirPackages = "sigs.k8s.io/controller-runtime/pkg"
)

var sides = []side{
	{
		name: "loopwright", imports: build.AsOurs,
		packages: ourModule + "," + ourModule + "/informer/...," + ourModule + "/manager/...," +
			ourModule + "/workqueue/...," + ourModule + "/trace/...",
		layers: []string{
			ourModule + "/informer", ourModule + "/manager/cache", ourModule + "/manager/source",
			ourModule + "/manager/event", ourModule + "/manager/predicate", ourModule + "/manager/handler",
			ourModule + "/manager/controller/priorityqueue", ourModule + "/workqueue", ourModule + "/manager/controller",
			ourModule + "/manager/reconcile",
		},
	},
	{
		name: "controller-runtime and client-go", imports: build.AsItIs,
		packages: theirPackages + "/...," + clientGo + "/...",
		layers: []string{
			clientGo + "/rest", clientGo + "/tools/cache", theirPackages + "/cache", theirPackages + "/internal/source",
			theirPackages + "/source", theirPackages + "/event", theirPackages + "/predicate", theirPackages + "/handler",
			theirPackages + "/controller/priorityqueue", clientGo + "/util", theirPackages + "/internal/controller",
			theirPackages + "/controller", theirPackages + "/reconcile",
		},
	},
}

// tries is how many events are sent, one after the other.
const tries = 3

func main() {
	maxFunctions := flag.Int("max-functions", 0, "fail if an event passes more functions of the library; 0 is no limit")
	maxFiles := flag.Int("max-files", 0, "fail if an event passes more files of the library; 0 is no limit")
	flag.Parse()
	if err := run(os.Stdout, *maxFunctions, *maxFiles); err != nil {
		fmt.Fprintln(os.Stderr, "eventpath:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, maxFunctions, maxFiles int) error {
	ours, err := walk(w, sides[0])
	if err != nil {
		return err
	}
	if over(ours.functions, maxFunctions) || over(len(ours.files), maxFiles) {
		return fmt.Errorf("an event passes %d functions in %d files; the limits are %d and %d",
			ours.functions, len(ours.files), maxFunctions, maxFiles)
	}
	if maxFunctions > 0 || maxFiles > 0 {
		return nil // a check need not build the other side
	}
	_, err = walk(w, sides[1])
	return err
}

func over(n, limit int) bool { return limit > 0 && n > limit }

// walk sends events through one side, and prints the way.
func walk(w io.Writer, s side) (route, error) {
	temp, err := os.MkdirTemp("", "eventpath")
	if err != nil {
		return route{}, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	ctx := context.Background()
	program, err := build.Program(ctx, filepath.Join("cmd", "eventpath", "program"), temp, s.imports,
		"-cover", "-covermode=atomic", "-coverpkg=command-line-arguments,"+s.packages)
	if err != nil {
		return route{}, err
	}
	passed, err := count(ctx, program, temp, tries)
	if err != nil {
		return route{}, err
	}
	r := newRoute(passed, s.layers)
	r.print(w, s.name)
	return r, nil
}
