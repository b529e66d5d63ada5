package sharding

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// table says who has which range. It's stored in one object.
//
// Its bounds are its own: a range may be cut anywhere, and two halves with one holder are one range
// again. So nobody has to agree on where ranges begin.
type table struct {
	generation int64 // counts the writes
	runs       []run // ascending, the first from 0, neighbours with different holders; nil if there's no table
}

// run is all numbers from one up to the next run's.
type run struct {
	from   uint64
	holder string // "" if nobody has it
}

// holders are all that are named in the table.
func (t table) holders() (names []string) {
	for _, r := range t.runs {
		if r.holder != "" {
			names = append(names, r.holder)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// holderOf returns who has a number.
func holderOf(runs []run, number uint64) string {
	i, found := slices.BinarySearchFunc(runs, number, func(r run, number uint64) int {
		return cmp.Compare(r.from, number)
	})
	switch {
	case found:
		return runs[i].holder
	case i > 0:
		return runs[i-1].holder
	}
	return ""
}

// heldBy returns what some members have.
func heldBy(runs []run, is func(holder string) bool) (all Set) {
	for _, step := range stepsBetween(bounds(runs)) {
		if is(holderOf(runs, step.First)) {
			all = all.with(step)
		}
	}
	return all
}

func bounds(runs []run) (all []uint64) {
	for _, r := range runs {
		all = append(all, r.from)
	}
	return all
}

// continued adds a run behind all others.
func continued(runs []run, r run) []run {
	if len(runs) > 0 && runs[len(runs)-1].holder == r.holder {
		return runs
	}
	return append(runs, r)
}

// replaced returns runs that have the holders of others in a set.
func replaced(runs []run, in Set, others []run) (all []run) {
	for _, step := range stepsBetween(slices.Concat(bounds(runs), in.bounds(), bounds(others))) {
		from := runs
		if in.has(step.First) {
			from = others
		}
		all = continued(all, run{step.First, holderOf(from, step.First)})
	}
	return all
}

// storedTable is the table as JSON. The numbers are text, because JavaScript, jq and others would
// round them.
type storedTable struct {
	Generation int64       `json:"generation"`
	Runs       []storedRun `json:"runs"`
}

type storedRun struct {
	From   string `json:"from"`
	Holder string `json:"holder"`
}

func encode(t table) (string, error) {
	s := storedTable{Generation: t.generation}
	for _, r := range t.runs {
		s.Runs = append(s.Runs, storedRun{fmt.Sprintf("0x%016x", r.from), r.holder})
	}
	text, err := json.Marshal(s)
	return string(text), err
}

func decode(text string) (table, error) {
	var s storedTable
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return table{}, err
	}
	if s.Generation < 1 {
		return table{}, fmt.Errorf("its generation is %d", s.Generation)
	}
	if len(s.Runs) == 0 {
		return table{}, fmt.Errorf("it has no runs")
	}
	t, before := table{generation: s.Generation}, uint64(0)
	for i, stored := range s.Runs {
		from, err := strconv.ParseUint(stored.From, 0, 64)
		if err != nil {
			return table{}, fmt.Errorf("its run %d: %w", i, err)
		}
		switch {
		case i == 0 && from != 0:
			return table{}, fmt.Errorf("its first run is from %s, and not from 0", stored.From)
		case i > 0 && from <= before:
			return table{}, fmt.Errorf("its run %d is from %s, which is not behind the one before", i, stored.From)
		}
		t.runs, before = continued(t.runs, run{from, stored.Holder}), from
	}
	return t, nil
}
