// Command apidiff compares what this library exports with what controller-runtime exports, and
// writes the report docs/generated/api.md, and internal/migrate/names.yaml for the command that ports programs.
//
// The goal is that a user's file needs new import paths and nothing else. So each package of controller-runtime is compared with ours, with the
// import paths rewritten: which names are missing, which differ (a signature, a field, a method, the
// value of a constant), and which exist only here. A difference that is wanted is explained in
// explained.yaml. A difference without an explanation, and an explanation without a difference, are
// errors.
//
//	go run ./cmd/apidiff           writes both
//	go run ./cmd/apidiff -check    fails if that would change it
//
// The way of the data: package api reads the packages' types; pairs.go knows which type of theirs is
// which of ours; same.go decides whether two types are the same, and members.go which fields and
// methods are not; names.go compares the declared names; explain.go adds the reasons, and report.go
// and usable.go write it all down.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

// real is where controller-runtime's packages are, and where ours are.
var real = places{
	Paths:   withClientGo(migrate.ControllerRuntime),
	object:  "sigs.k8s.io/controller-runtime/pkg/client.Object",
	request: "sigs.k8s.io/controller-runtime/pkg/reconcile.Request",
}

// withClientGo adds the packages of client-go that have a counterpart here.
func withClientGo(paths migrate.Paths) migrate.Paths {
	moved := maps.Clone(paths.Moved)
	for theirs, ours := range map[string]string{
		"tools/record":                      "manager/recorder/record",
		"tools/events":                      "manager/recorder/events",
		"util/workqueue":                    "workqueue",
		"tools/cache":                       "informer",
		"tools/leaderelection":              "manager/leaderelection",
		"tools/leaderelection/resourcelock": "manager/leaderelection/resourcelock",
	} {
		moved["k8s.io/client-go/"+theirs] = paths.OurRoot + "/" + ours
	}
	paths.Moved = moved
	return paths
}

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if the report is out of date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "apidiff:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := api.ModuleRoot()
	if err != nil {
		return err
	}
	reasons, err := readReasons(filepath.Join(root, "cmd", "apidiff", "explained.yaml"))
	if err != nil {
		return err
	}
	result, err := compare(root, real, reasons)
	if err != nil {
		return err
	}
	version, err := api.VersionOf(root, real.TheirRoot)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	writeReport(&text, "controller-runtime "+version, result)
	names, err := writeNames(result.names)
	if err != nil {
		return err
	}
	for _, written := range []api.Written{{File: "docs/generated/api.md", Text: text.Bytes()}, {File: "internal/migrate/names.yaml", Text: names}} {
		do := written.Write
		if check {
			do = written.Check
		}
		if err := do(filepath.Join(root, "..")); err != nil {
			return err
		}
	}
	if len(result.complaints) > 0 {
		return errors.New("docs/generated/api.md: " + strings.Join(result.complaints, "\n\t"))
	}
	return nil
}
