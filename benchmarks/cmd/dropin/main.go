// Command dropin writes the module in dropin/: a controller-runtime whose every name is one of ours.
// A program that replaces controller-runtime by it runs on this library, with all its libraries
// and without a change to its source.
//
//	go run ./cmd/dropin           writes it, and the list of what it lacks in docs/porting.md
//	go run ./cmd/dropin -check    fails if that would change something
//
// The way of the data: package api reads both sides' types; forward.go turns a name of theirs into a
// declaration, and signature.go writes its types; compile.go drops the declarations that the
// compiler refuses; explain.go says why a name isn't there; file.go and list.go write it all down.
//
// What can't be generated is in files of dropin/ without the header of generated code: the generator
// leaves the names alone that such a file declares.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/migrate"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if a file is out of date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "dropin:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	benchmarks, err := api.ModuleRoot()
	if err != nil {
		return err
	}
	root := filepath.Dir(benchmarks)
	reasons, err := readReasons(filepath.Join(benchmarks, "cmd", "dropin", "explained.yaml"))
	if err != nil {
		return err
	}
	version, err := api.VersionOf(benchmarks, migrate.ControllerRuntime.TheirRoot)
	if err != nil {
		return err
	}
	module := &module{paths: migrate.ControllerRuntime, version: version, dir: filepath.Join(root, "dropin"), reasons: reasons}
	if err := module.read(benchmarks); err != nil {
		return err
	}
	if err := module.generate(); err != nil {
		return err
	}
	files := module.files()
	list, err := module.list(filepath.Join(root, "docs", "porting.md"))
	if err != nil {
		return err
	}
	complaints := module.complaints()
	for _, file := range append(files, list) {
		do := file.Write
		if check {
			do = file.Check
		}
		if err := do(root); err != nil {
			complaints = append(complaints, err.Error())
		}
	}
	stale, err := module.stale(files)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if check {
			complaints = append(complaints, name+" was generated, and there is no such package any more; `make api` removes it")
		} else if err := os.Remove(name); err != nil {
			return err
		}
	}
	if len(complaints) > 0 {
		return errors.New(strings.Join(complaints, "\n\t"))
	}
	return nil
}
