// Command operators runs the tests of operators that we didn't write, on controller-runtime and on
// the drop-in, and compares the results. It downloads each operator as a Go module, moves it to the
// versions that the drop-in stands for, and tries it twice.
//
//	go run ./cmd/operators                        all of operators.yaml
//	go run ./cmd/operators -run kro               those whose names match
//	go run ./cmd/operators -env DIR               envtest suites, too: the original's API server is in DIR
//	go run ./cmd/operators -runs 1                only to see what differs: nothing is measured
//	go run ./cmd/operators -write                 only writes the table in docs/porting.md
//
// The way of the data: operators.yaml says what there is to play; tree.go makes a tree that can be
// tried; internal/dropin tries it; row.go adds up what it found into docs/generated/operators.csv, and page.go
// makes the table from that.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/dropin"
)

//go:embed operators.yaml
var list []byte

// operator is an entry of operators.yaml.
type operator struct {
	Name string
	// Module and Version are what `go mod download` gets.
	Module, Version string
	Packages        []string
	Tags            string
	// Envtest says which packages need an API server; with the original, they have one only with -env.
	Envtest []string
	// Get has arguments for `go get` that the move needs beside the versions.
	Get []string
	// Why explains what differs.
	Why string
}

// played are the packages whose tests are run.
func (o operator) played(envtest bool) []string {
	if envtest {
		return slices.Concat(o.Packages, o.Envtest)
	}
	return o.Packages
}

func operators() (all []operator, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(list)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("operators.yaml: %w", err)
	}
	return all, nil
}

type options struct {
	match *regexp.Regexp
	env   string
	runs  int
}

func main() {
	var o options
	run := flag.String("run", "", "which operators to play: a regular expression for their names")
	flag.StringVar(&o.env, "env", "", "the `directory` with the original's kube-apiserver and etcd, for envtest suites")
	flag.IntVar(&o.runs, "runs", 2, "how `often` to play each operator: a ratio counts if two runs agree in it")
	write := flag.Bool("write", false, "write the table in docs/porting.md, and play nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := func() (err error) {
		if *write {
			return writePage()
		}
		if o.match, err = regexp.Compile(*run); err != nil {
			return fmt.Errorf("-run: %w", err)
		}
		return play(ctx, o)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		stop()
		os.Exit(1)
	}
}

// play plays operators one by one. What each one did is written before the next one begins.
func play(ctx context.Context, o options) error {
	all, err := operators()
	if err != nil {
		return err
	}
	root, err := api.ModuleRoot()
	if err != nil {
		return err
	}
	checkout, err := dropin.OpenCheckout(filepath.Join(root, ".."))
	if err != nil {
		return err
	}
	played, differ := 0, 0
	for _, each := range all {
		if !o.match.MatchString(each.Name) {
			continue
		}
		row, err := playOne(ctx, o, each, root, checkout)
		if err != nil {
			return fmt.Errorf("%s: %w", each.Name, err)
		}
		if err := record(row); err != nil {
			return err
		}
		played++
		differ += len(row.Differs)
	}
	if played == 0 {
		return fmt.Errorf("no operator's name matches %q", o.match)
	}
	if err := writePage(); err != nil {
		return err
	}
	fmt.Printf("%d operators played, %d tests differ\n", played, differ)
	if differ > 0 {
		return errors.New("tests differ")
	}
	return nil
}

func playOne(ctx context.Context, o options, each operator, root string, checkout *dropin.Checkout) (row, error) {
	dir, err := os.MkdirTemp("", "operators-")
	if err != nil {
		return row{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t := tree{operator: each, dir: dir, root: root}
	if err := t.make(ctx); err != nil {
		return row{}, err
	}
	program, err := dropin.OpenProgram(dir, checkout)
	if err != nil {
		return row{}, err
	}
	var results []*dropin.Result
	for range o.runs {
		result, err := program.Try(ctx, dropin.TryOptions{
			Packages: each.played(o.env != ""), Env: o.env, Tags: each.Tags, Timeout: 20 * time.Minute,
		}, os.Stderr)
		if err != nil {
			return row{}, err
		}
		result.Print(os.Stdout)
		results = append(results, result)
	}
	return add(each, o.env != "", results), nil
}
