// Command growth measures how the cost of a controller grows with the number of its objects: with our manager and with
// controller-runtime's, with our informer and with client-go's, beside the bytes of the objects themselves and the time to
// decode them, which no library can do without. It also puts a million items off in each side's queue, and touches as much memory
// as the largest side had, to tell what the machine itself takes for that.
//
//	go run ./cmd/growth                               two whole runs of all sizes, into ../.loopwright/growth.csv
//	go run ./cmd/growth -report ../docs               the same, and then docs/generated/growth.csv and its plots;
//	                                                  go run ./cmd/ratios -page ../docs writes the page with them
//	go run ./cmd/growth -runs 1                       only the first run; the command without it adds the second
//	go run ./cmd/growth -sizes 1000,10000             less
//	go run ./cmd/growth -run 'stream pods .* our'     some of the cases
//	go run ./cmd/growth -cluster -sizes 1000,10000    on a real API server, too
//
// Each case is a process, and so is its server, whose memory and time don't count. The table is saved after each case, so a
// command that was stopped goes on from there. -new measures all of it again.
//
// Data flow: main -> play (the cases) -> a process for each (measure, measureQueue, measureDecoding,
// measureTouching) and its server (serve) ->
// the table of package growth, which makes the section of docs/benchmarks.md of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	file    string // where the table is kept
	report  string // a directory, or nothing
	sizes   []int
	runs    int
	match   *regexp.Regexp
	cluster bool
	again   bool
	memory  float64 // bytes that a process may have; 0 means most of what's free
	// patience is how long a case may take. The slowest needs five minutes for a million objects.
	patience time.Duration
	profile  string // a directory, or nothing; for a measured process, what its files' names begin with
}

func main() {
	var s settings
	var sizes, match, part, formName, sideName, server, kubeconfig string
	var objects int
	var gigabytes float64
	flag.StringVar(&s.file, "file", "../.loopwright/growth.csv", "keep what was measured there")
	flag.StringVar(&s.report, "report", "", "when all is measured, write generated/growth.csv and its plots to this directory")
	flag.StringVar(&sizes, "sizes", "10000,100000,1000000", "how many objects")
	flag.IntVar(&s.runs, "runs", 2, "how often to measure each case; a ratio is shown if two whole runs agree")
	flag.StringVar(&match, "run", "", "which cases: a regular expression for server, form, objects and side, such as 'stream pods 1000 client-go'")
	flag.BoolVar(&s.cluster, "cluster", false, "measure on an embedded cluster, too, with the largest size up to 100,000")
	flag.BoolVar(&s.again, "new", false, "forget what was measured before")
	flag.Float64Var(&gigabytes, "memory", 0, "end a process that takes more gigabytes (default: 90 % of what's free)")
	flag.DurationVar(&s.patience, "patience", 20*time.Minute, "end a case that takes longer, and bringing the cluster up")
	flag.StringVar(&s.profile, "profile", "", "write processor profiles of the start and of the hour away to this directory; they cost some time")
	flag.StringVar(&part, "part", "", "for the command itself: serve, measure, queue or decode")
	flag.StringVar(&formName, "form", "", "for the command itself")
	flag.StringVar(&sideName, "side", "", "for the command itself")
	flag.StringVar(&server, "server", "", "for the command itself")
	flag.StringVar(&kubeconfig, "cluster-config", "", "for the command itself")
	flag.IntVar(&objects, "objects", 0, "for the command itself")
	flag.Parse()
	s.memory = gigabytes * 1e9
	if part != "" {
		endWithParent()
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := named(forms, formName, func(f form) string { return f.name })
	err := errors.New("no such part")
	switch part {
	case "":
		err = s.run(ctx, sizes, match)
	case "serve":
		err = serve(f, objects)
	case "measure":
		var m *measured
		if m, err = newMeasured(named(sides, sideName, func(s side) string { return s.name }), f, objects, server, kubeconfig); err == nil {
			err = m.run(profile(s.profile))
		}
	case "map":
		err = measureMap(objects)
	case "queue":
		err = measureQueue(named(queueSides, sideName, func(s queueSide) string { return s.name }), objects)
	case "decode":
		err = measureDecoding(f, objects, server)
	case "touch":
		err = measureTouching(objects)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// named finds an element by its name; if there's none, it's the first.
func named[T any](all []T, name string, nameOf func(T) string) T {
	return all[max(0, slices.IndexFunc(all, func(one T) bool { return nameOf(one) == name }))]
}

func (s settings) run(ctx context.Context, sizes, match string) (err error) {
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 100 || size%100 != 0 || size > 9_000_000 {
			return fmt.Errorf("-sizes: %q isn't a multiple of 100 up to 9,000,000", text)
		}
		s.sizes = append(s.sizes, size)
	}
	slices.Sort(s.sizes)
	if s.match, err = regexp.Compile(match); err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	return play(ctx, s, os.Stdout)
}
