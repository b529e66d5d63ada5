// Command ratios compares this library with the originals: it runs the benchmarks of this module in rounds. In each round,
// every workload is played by ours and by each original in turn, each in a process of its own. It prints how
// much time and memory ours needs, as a multiple of what the original needs: below 1, ours needs less.
//
// A benchmark belongs to the table if it has a sub-benchmark whose last name is ours. Its siblings are the originals.
//
//	go run ./cmd/ratios                                   all benchmarks of the module, 6 rounds
//	go run ./cmd/ratios -quick                            a selection, with small workloads: less than 3 minutes
//	go run ./cmd/ratios -count 5 -bench Store ./informer  some of them
//	go run ./cmd/ratios -report ../docs                   writes generated/benchmarks.csv, benchmarks.md and plots there
//	go run ./cmd/ratios -page ../docs                     writes benchmarks.md again, from the CSV files
//
// A run that writes a report is compared with the one before, which it finds in generated/benchmarks.csv. The page shows
// only rows on which the two agree.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var s settings
	flag.StringVar(&s.bench, "bench", ".", "which benchmarks to run, as for go test")
	flag.DurationVar(&s.benchtime, "benchtime", 500*time.Millisecond, "how long each runs in a round")
	flag.IntVar(&s.rounds, "count", 6, "how many rounds; an interval of 95 % needs 6")
	flag.BoolVar(&s.quick, "quick", false, "a selection, with small workloads and short runs")
	flag.DurationVar(&s.limit, "limit", 10*time.Minute, "how long a benchmark may run before it's ended, and its goroutines shown")
	flag.StringVar(&s.report, "report", "", "write generated/benchmarks.csv, benchmarks.md and plots to this directory, too")
	flag.StringVar(&s.page, "page", "", "measure nothing, and write benchmarks.md to this directory from its generated/benchmarks.csv")
	flag.Parse()
	s.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

type settings struct {
	bench     string
	benchtime time.Duration
	rounds    int
	quick     bool
	report    string // a directory, or nothing
	page      string // the same, for the page alone
	packages  []string
	limit     time.Duration // after which a benchmark hangs
}

// quickly are the benchmarks of the quick mode: one or two of each subject.
const quickly = `^Benchmark(Cycle|Reconcile|CachedGet|CachedList|HandleAndTake|FakeClientForOneTest|Renew|Serve)$`

func run(ctx context.Context, s settings) error {
	if s.page != "" {
		return writePage(s.page)
	}
	if s.rounds < 1 {
		return fmt.Errorf("-count %d: at least one round is needed", s.rounds)
	}
	if s.quick && s.report != "" {
		return fmt.Errorf("-quick and -report: a report needs the whole workloads; leave one of them out")
	}
	if s.quick {
		s.rounds, s.benchtime = 6, 50*time.Millisecond
		if s.bench == "." {
			s.bench = quickly
		}
	}
	dir, err := os.MkdirTemp("", "ratios-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	began := time.Now()
	workloads, err := prepare(ctx, s, dir)
	if err != nil {
		return err
	}
	measured, err := play(ctx, s, workloads)
	if err != nil {
		return err
	}
	rows := compare(workloads, measured)
	if err := show(os.Stdout, rows); err != nil || s.report == "" {
		return err
	}
	return report(ctx, s, rows, began)
}
