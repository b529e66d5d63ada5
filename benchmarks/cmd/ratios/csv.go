package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

// whole is a run of all benchmarks, as it is kept beside the page.
type whole struct {
	Facts []machine.Fact // where and when it was measured, and with what
	Rows  []row
}

var columns = []string{"subject", "workload", "ours", "original", "unit", "ours is", "original is", "mini is",
	"ratio", "low", "high", "verdict", "ratio before", "low before", "high before", "steady", "file"}

// save writes a run: first its facts, in lines that begin with a #.
func (w whole) save(file string) error {
	var text strings.Builder
	for _, f := range w.Facts {
		fmt.Fprintf(&text, "# %s: %s\n", f.Name, f.Value)
	}
	table := csv.NewWriter(&text)
	lines := [][]string{columns}
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
	if err := table.WriteAll(lines); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// number is a value with as many digits as a measurement has.
func number(value float64) string { return strconv.FormatFloat(value, 'g', 5, 64) }

// load reads a run that save has written. A file that is not there is a run without rows.
func load(file string) (w whole, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	for line := range strings.Lines(string(text)) {
		if line, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is {
			name, value, _ := strings.Cut(line, ": ")
			w.Facts = append(w.Facts, machine.Fact{Name: name, Value: value})
		}
	}
	table := csv.NewReader(strings.NewReader(string(text)))
	table.Comment, table.FieldsPerRecord = '#', len(columns)
	for first := true; ; first = false {
		cells, err := table.Read()
		if errors.Is(err, io.EOF) {
			return w, nil
		}
		if err != nil {
			return w, fmt.Errorf("reading %s: %w", file, err)
		}
		if first {
			continue
		}
		r, err := rowOf(cells)
		if err != nil {
			return w, fmt.Errorf("reading %s: %w", file, err)
		}
		w.Rows = append(w.Rows, r)
	}
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
