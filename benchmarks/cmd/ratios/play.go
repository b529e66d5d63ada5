package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
)

// measurements are the values of all rounds.
type measurements map[measure][]float64

// measure is one thing that a variant of a workload was measured in.
type measure struct{ subject, name, variant, unit string }

// peakMemory is the most that a process had in memory, its program and what was set up for the benchmark included. The
// kernel counts it.
const peakMemory = "process-peak-B"

// play plays all rounds. The variants of a workload take turns, and all workloads take turns, so that what else the machine
// does meanwhile is spread over all of them.
func play(ctx context.Context, s settings, workloads []workload) (measurements, error) {
	steps := 0
	for _, w := range workloads {
		steps += s.rounds * len(played(w))
	}
	bar := progressbar.NewOptions(steps, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(500*time.Millisecond))
	all := measurements{}
	for range s.rounds {
		for _, w := range workloads {
			for _, variant := range played(w) {
				bar.Describe(w.subject + " " + w.name + " " + variant)
				values, err := playOnce(ctx, s, w, variant)
				if err != nil {
					return nil, err
				}
				for unit, value := range values {
					key := measure{w.subject, w.name, variant, unit}
					all[key] = append(all[key], value)
				}
				_ = bar.Add(1)
			}
		}
	}
	_ = bar.Finish()
	fmt.Fprintln(os.Stderr)
	return all, nil
}

// played are the variants that are in a table.
func played(w workload) (variants []string) {
	for _, v := range w.variants {
		if isOurs(v) || isOriginal(v) || v == mini {
			variants = append(variants, v)
		}
	}
	return variants
}

func playOnce(ctx context.Context, s settings, w workload, variant string) (map[string]float64, error) {
	elements := append(strings.Split("Benchmark"+w.name, "/"), variant)
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	printed, process, err := runBenchmarks(ctx, s, w.dir, w.binary, strings.Join(elements, "/"), s.benchtime.String())
	if err != nil {
		return nil, err
	}
	results, err := parse(printed)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", w.subject, w.name, err)
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("%s %s/%s printed %d results, not one:\n%s", w.subject, w.name, variant, len(results), printed)
	}
	values := results[0].values
	if usage, is := process.SysUsage().(*syscall.Rusage); is {
		values[peakMemory] = float64(usage.Maxrss)
		if runtime.GOOS == "linux" {
			values[peakMemory] *= 1024 // it counts in KiB
		}
	}
	return values, nil
}
