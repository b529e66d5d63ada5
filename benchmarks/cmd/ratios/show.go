package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchunit"
)

// show prints the table for a terminal.
func show(to io.Writer, rows []row) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	last := verdict(-1)
	for _, r := range rows {
		if r.Verdict != last {
			last = r.Verdict
			_, _ = fmt.Fprintf(table, "\n%s\n", last)
			_, _ = fmt.Fprintln(table, "workload\tside by side\tof\tours\toriginal\tratio\t95 %\tmini")
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name(), r.Sides(), r.Of(),
			r.Number(r.OursIs.Center), r.Number(r.OriginalIs.Center), decimal(r.Ratio), r.Interval(), r.MiniIs())
	}
	return table.Flush()
}

func (v verdict) String() string {
	return [...]string{"Where ours is worse", "No difference that is more than chance, or less than 1 %", "Where ours is better"}[v]
}

// short is the verdict in one word.
func (v verdict) short() string { return [...]string{"worse", "same", "better"}[v] }

// MiniIs is the figure of the course's part, if it plays.
func (r row) MiniIs() string {
	if r.Mini == 0 {
		return "-"
	}
	return r.Number(r.Mini)
}

// Sides are both variants, if it is not clear which of ours it is.
func (r row) Sides() string {
	if r.Ours == "ours" {
		return r.Original
	}
	return r.Ours + " : " + r.Original
}

// Of is the unit in words.
func (r row) Of() string {
	switch r.Unit {
	case "sec/op":
		return "time"
	case "cpu-sec/op", "cpu-sec/item":
		return "processor time"
	case "B/op":
		return "bytes allocated"
	case "allocs/op":
		return "allocations"
	case "peak-B":
		return "peak memory"
	case "heap-B":
		return "heap"
	case "stall-sec":
		return "longest stall"
	case "blocked-sec":
		return "blocked"
	case "binary-B":
		return "size of the binary"
	case peakMemory:
		return "peak memory of the process"
	default:
		name, _, _ := strings.Cut(strings.TrimSuffix(r.Unit, "-sec"), "/")
		return name
	}
}

// Number is a value of the row, with its unit.
func (r row) Number(value float64) string {
	switch {
	case strings.Contains(r.Unit, "sec"):
		return scaled(value, benchunit.Decimal) + "s"
	case strings.HasPrefix(r.Unit, "B") || strings.HasSuffix(r.Unit, "-B"):
		return scaled(value, benchunit.Decimal) + "B"
	case value == math.Trunc(value) && value < 1e4:
		return strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return strings.TrimRight(scaled(value, benchunit.Decimal), " ")
	}
}

// scaled is a number with three digits that count, and a prefix such as m or k.
func scaled(value float64, class benchunit.Class) string {
	if value == 0 {
		return "0 "
	}
	scaler := benchunit.CommonScale([]float64{value}, class)
	return strconv.FormatFloat(value/scaler.Factor, 'f', digits(value/scaler.Factor), 64) + " " + scaler.Prefix
}

// digits is how many follow the point if three count.
func digits(value float64) int {
	switch {
	case value >= 99.95:
		return 0
	case value >= 9.995:
		return 1
	default:
		return 2
	}
}

// Interval is where the ratio is with 95 %.
func (r row) Interval() string {
	if math.IsInf(r.Low, -1) {
		return "too few rounds"
	}
	return decimal(r.Low) + " to " + decimal(r.High)
}

func decimal(ratio float64) string {
	switch {
	case math.IsInf(ratio, 0) || math.IsNaN(ratio):
		return "∞"
	case ratio >= 10:
		return strconv.FormatFloat(ratio, 'f', 0, 64)
	case ratio < 0.1 && ratio > 0:
		return strconv.FormatFloat(ratio, 'f', 3, 64)
	default:
		return strconv.FormatFloat(ratio, 'f', 2, 64)
	}
}
