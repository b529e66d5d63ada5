package main

import (
	"fmt"
	"strconv"

	"github.com/loopwright/loopwright/benchmarks/internal/csvfile"
	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

// whole is a run of all benchmarks, as it is kept beside the page.
type whole struct {
	Facts []machine.Fact // where and when it was measured, and with what
	Rows  []row
}

var columns = []string{"subject", "workload", "ours", "original", "unit", "ours is", "original is", "mini is",
	"ratio", "low", "high", "verdict", "ratio before", "low before", "high before", "steady", "file"}

// save writes a run.
func (w whole) save(file string) error {
	var lines [][]string
	for _, r := range w.Rows {
		line := []string{r.Subject, r.Workload, r.Ours, r.Original, r.Unit,
			number(r.OursIs.Center), number(r.OriginalIs.Center), number(r.Mini),
			number(r.Ratio), number(r.Low), number(r.High), r.Verdict.short(), "", "", "",
			strconv.FormatBool(r.Steady()), r.File}
		if r.Before != nil {
			line[12], line[13], line[14] = number(r.Before.Ratio), number(r.Before.Low), number(r.Before.High)
		}
		lines = append(lines, line)
	}
	return csvfile.Save(file, w.Facts, columns, lines)
}

// number is a value with as many digits as a measurement has.
func number(value float64) string { return strconv.FormatFloat(value, 'g', 5, 64) }

// load reads a run that save has written. If there's no file, it's a run without rows.
func load(file string) (w whole, err error) {
	facts, lines, err := csvfile.Load(file, columns)
	if err != nil {
		return w, err
	}
	w.Facts = facts
	for _, cells := range lines {
		r, err := rowOf(cells)
		if err != nil {
			return w, fmt.Errorf("reading %s: %w", file, err)
		}
		w.Rows = append(w.Rows, r)
	}
	return w, nil
}

func rowOf(cells []string) (r row, err error) {
	r = row{Subject: cells[0], Workload: cells[1], Ours: cells[2], Original: cells[3],
		Unit: cells[4], File: cells[16]}
	places := map[int]*float64{5: &r.OursIs.Center, 6: &r.OriginalIs.Center, 7: &r.Mini,
		8: &r.Ratio, 9: &r.Low, 10: &r.High}
	if cells[12] != "" {
		r.Before = &outcome{}
		places[12], places[13], places[14] = &r.Before.Ratio, &r.Before.Low, &r.Before.High
	}
	for i, to := range places {
		if *to, err = strconv.ParseFloat(cells[i], 64); err != nil {
			return r, err
		}
	}
	for v := worse; v <= better; v++ {
		if cells[11] == v.short() {
			r.Verdict = v
			return r, nil
		}
	}
	return r, fmt.Errorf("%q is no verdict", cells[11])
}

// after gives each row the ratio that an earlier run has found.
func (w whole) after(earlier whole) {
	for i := range w.Rows {
		for _, r := range earlier.Rows {
			if r.key() == w.Rows[i].key() {
				w.Rows[i].Before = &r.outcome
			}
		}
	}
}
