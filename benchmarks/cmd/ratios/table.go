package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// results are the measured values: benchmark, variant, unit. The slices say in
// which order they came.
type results struct {
	benchmarks []string
	variants   map[string][]string
	values     map[[3]string][]float64
	units      []string
}

// reference is the variant that the others are compared with.
const reference = "ours"

// parallelism is what the testing package appends to a name: GOMAXPROCS.
var parallelism = regexp.MustCompile(`-\d+$`)

// parse reads the output of go test -bench.
func parse(from io.Reader) (*results, error) {
	r := &results{variants: map[string][]string{}, values: map[[3]string][]float64{}}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue // a name alone is what -v prints
		}
		measured, err := values(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d is no result of a benchmark, which may have printed or logged something in the middle of it: %q: %w", number, lines.Text(), err)
		}
		name := parallelism.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			continue
		}
		benchmark, variant := name[:cut], name[cut+1:]
		if !slices.Contains(r.benchmarks, benchmark) {
			r.benchmarks = append(r.benchmarks, benchmark)
		}
		if !slices.Contains(r.variants[benchmark], variant) {
			r.variants[benchmark] = append(r.variants[benchmark], variant)
		}
		for i, value := range measured {
			unit := fields[2*i+3]
			if !slices.Contains(r.units, unit) {
				r.units = append(r.units, unit)
			}
			key := [3]string{benchmark, variant, unit}
			r.values[key] = append(r.values[key], value)
		}
	}
	return r, lines.Err()
}

// values are the numbers of a result: after the name and the count of iterations, each comes with its unit.
func values(fields []string) (measured []float64, err error) {
	if _, err := strconv.ParseUint(fields[1], 10, 64); err != nil {
		return nil, fmt.Errorf("the number of iterations: %w", err)
	}
	if len(fields) < 4 || len(fields)%2 != 0 {
		return nil, errors.New("it is not made of numbers and their units")
	}
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil, err
		}
		measured = append(measured, value)
	}
	return measured, nil
}

// median is the value of a variant; false if it was not measured.
func (r *results) median(benchmark, variant, unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(r.values[[3]string{benchmark, variant, unit}]))
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)/2], true
}

// show prints a row for each benchmark, peer and unit. A ratio of 2 means that
// ours takes half.
func show(to io.Writer, r *results) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := 0
	_, _ = fmt.Fprintln(table, "benchmark\tpeer\tunit\tours\tpeer's\tratio\t")
	for _, benchmark := range r.benchmarks {
		for _, peer := range r.variants[benchmark] {
			for _, unit := range r.units {
				ours, measured := r.median(benchmark, reference, unit)
				theirs, compared := r.median(benchmark, peer, unit)
				if peer == reference || !measured || !compared {
					continue
				}
				rows++
				_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", benchmark, peer, unit, number(ours), number(theirs), ratio(ours, theirs))
			}
		}
	}
	if rows == 0 {
		return errors.New("no benchmark with a sub-benchmark named " + reference + " beside another one")
	}
	return table.Flush()
}

// ratio is how many times as much the peer takes.
func ratio(ours, theirs float64) string {
	switch {
	case ours == 0 && theirs == 0:
		return "1.0"
	case ours == 0:
		return "all saved"
	default:
		return strconv.FormatFloat(theirs/ours, 'f', 2, 64)
	}
}

func number(value float64) string {
	if value >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}
