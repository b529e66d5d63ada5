package controllers

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Summary prints what differs as soon as it is known, and how it went in all.
type Summary struct {
	to           io.Writer
	of           int
	played       int
	failed       int
	fields       map[string]int // how many scenarios have a difference in this field
	explanations []Explanation
	used         []int    // how many differences each explanation has explained
	first        []string // and in which scenario first
	beyond       [2]int   // Pods beyond the surge: theirs, ours
}

// NewSummary expects this many reports.
func NewSummary(to io.Writer, of int, explanations []Explanation) *Summary {
	return &Summary{to: to, of: of, fields: map[string]int{}, explanations: explanations,
		used: make([]int, len(explanations)), first: make([]string, len(explanations))}
}

func (s *Summary) printf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(s.to, format, arguments...)
}

// Add takes one report.
func (s *Summary) Add(r Report) {
	s.played++
	r.Explain(s.explanations)
	for i, times := range r.Explained {
		if s.used[i] += times; s.first[i] == "" {
			s.first[i] = r.Scenario.Name
		}
	}
	s.beyond[0], s.beyond[1] = s.beyond[0]+r.Theirs.Beyond, s.beyond[1]+r.Ours.Beyond
	for _, broken := range r.Theirs.Broken {
		s.printf("%s: the originals break a bound: %s\n", r.Scenario.Name, broken)
	}
	if !r.Failed() {
		if s.played%20 == 0 {
			s.printf("%d/%d played, %d differ\n", s.played, s.of, s.failed)
		}
		return
	}
	s.failed++
	s.printf("%d/%d FAILED %s\n", s.played, s.of, r.Scenario.Name)
	if r.Err != nil {
		s.printf("    %v\n", r.Err)
	}
	for _, broken := range r.Ours.Broken {
		s.printf("    ours breaks a bound: %s\n", broken)
	}
	fields := map[string]bool{}
	for i, found := range r.Found {
		if i < shown {
			s.printf("    after %s: %s\n", found.Step, found.Difference)
		}
		fields[found.Field()] = true
	}
	if more := len(r.Found) - shown; more > 0 {
		s.printf("    and %d more\n", more)
	}
	for field := range fields {
		s.fields[field]++
	}
}

// shown is how many differences of a scenario are printed.
const shown = 12

// End prints the summary. It is an error if something differed that nothing explains, and, if everything was played, if
// an explanation explains nothing.
func (s *Summary) End(took time.Duration, everything bool) error {
	s.printf("%d of %d scenarios played in %v, of which %d differ.\n", s.played, s.of, took.Round(time.Second), s.failed)
	s.printf("Pods that were created while there were as many as the surge allows: %d by the originals, %d by ours.\n", s.beyond[0], s.beyond[1])
	for _, field := range slices.SortedFunc(maps.Keys(s.fields), func(a, b string) int { return s.fields[b] - s.fields[a] }) {
		s.printf("%6d  %s\n", s.fields[field], field)
	}
	for i, e := range s.explanations {
		if s.used[i] > 0 {
			s.printf("Explained %d times, first in %q: %s\n", s.used[i], s.first[i], e.Field)
		} else if everything && !e.Sometimes {
			return fmt.Errorf("an explanation explains what does not differ any more: %s (%s)", e.Field, e.Scenario)
		}
	}
	if s.failed > 0 || s.played < s.of {
		return fmt.Errorf("%d scenarios differ, %d were not played", s.failed, s.of-s.played)
	}
	return nil
}
