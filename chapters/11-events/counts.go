package main

import (
	"strconv"

	"github.com/loopwright/loopwright/trace"
)

// counts is what the flight recorder says about the events of each kind.
type counts map[string]*count

type count struct{ dropped, requests int }

func (c counts) of(kind string) *count {
	if c[kind] == nil {
		c[kind] = &count{}
	}
	return c[kind]
}

// add counts an event of the recorder.
func (c counts) add(e trace.Event) {
	switch {
	case e.Kind == trace.Predicate && e.Outcome == trace.Filtered:
		c.of(e.Object).dropped++
	case e.Kind == trace.Handler && e.ToName != "":
		c.of(e.Object).requests++
	}
}

func (c counts) rows() [][]string {
	rows := [][]string{{"events of", "dropped by a predicate", "requests"}}
	for _, kind := range []string{"ConfigMap", "Discount", "Pod"} {
		rows = append(rows, []string{kind + "s", strconv.Itoa(c.of(kind).dropped), strconv.Itoa(c.of(kind).requests)})
	}
	return rows
}
