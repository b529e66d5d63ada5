// Command controllerspeed measures our controllers beside Kubernetes' own, on one embedded cluster, and prints the
// ratios. Below 1, ours needs less.
//
//	go run ./cmd/controllerspeed                       all rows, once
//	go run ./cmd/controllerspeed -run rollout -n 3     one row; of three measurements, the fastest of each side counts
//	go run ./cmd/controllerspeed -scale 0.1            workloads of a tenth
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"

	"github.com/loopwright/loopwright/benchmarks/controllers/speed"
)

func main() {
	match := flag.String("run", "", "which rows to measure: a regular expression for their names")
	rounds := flag.Int("n", 1, "how often to measure each")
	scale := flag.Float64("scale", 1, "how large the workloads are")
	verbose := flag.Bool("v", false, "print which writes there were")
	flag.Parse()
	if err := run(*match, *rounds, *scale, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "controllerspeed:", err)
		os.Exit(1)
	}
}

func run(match string, rounds int, scale float64, verbose bool) error {
	name, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rows := slices.DeleteFunc(speed.Rows(scale), func(r speed.Row) bool { return !name.MatchString(r.Name) })
	fmt.Printf("%-45s %9s %9s %6s  %7s %7s %6s  %7s %7s  %6s %6s\n", "ours, theirs, ratio",
		"time", "", "", "writes", "", "", "CPU", "", "MB", "")
	return speed.Run(ctx, rows, rounds, os.Stderr, func(row speed.Row, theirs, ours speed.Measured) {
		a, b := ours.Sum(false), theirs.Sum(false)
		fmt.Printf("%-45s %9v %9v %6.2f  %7d %7d %6.2f  %7v %7v  %6.0f %6.0f\n", row.Text,
			ours.Time.Round(10*time.Millisecond), theirs.Time.Round(10*time.Millisecond), ratio(ours.Time.Seconds(), theirs.Time.Seconds()),
			a, b, ratio(float64(a), float64(b)), ours.CPU, theirs.CPU, ours.PeakMB, theirs.PeakMB)
		if verbose {
			for _, side := range []speed.Measured{ours, theirs} {
				for _, what := range slices.Sorted(maps.Keys(side.Writes)) {
					fmt.Printf("    %s %d", what, side.Writes[what])
				}
				fmt.Println()
			}
		}
	})
}

func ratio(ours, theirs float64) float64 {
	if theirs == 0 {
		if ours == 0 {
			return 1
		}
		return ours
	}
	return ours / theirs
}
