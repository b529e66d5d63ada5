package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation"
)

// page has a table as docs/bad-days.md has one.
const page = `Some text, and a table.

| promise | ReplicaSet | slices |
|---|---|---|
| days played, from seed 0 on | 200 | 137 |
| never more Pods than allowed | 12 ¹ | |
| never fewer ready than allowed | 1 ² | |
| the end is that of a run without mishaps | 0 | 0 |

More text: 200.
`

func original(controller string, played int, broken ...simulation.Promise) row {
	for _, s := range originals {
		if s.name == controller {
			r := row{story: s, played: played, broken: map[uint64][]string{}}
			for seed, promise := range broken {
				r.broken[uint64(seed)] = []string{simulation.Broken{Promise: promise, What: "so"}.String()}
			}
			return r
		}
	}
	panic(controller)
}

func TestThePagesTableGetsTheNumbersAndKeepsItsMarks(t *testing.T) {
	rows := []row{
		{story: stories[0], played: 9},
		original("replicaset", 1000, simulation.NeverMore, simulation.NeverMore, simulation.SameEnd),
		{story: stories[0], played: 9, broken: map[uint64][]string{1: {"the process has died: panic"}}},
	}
	got, err := withNumbers(page, rows)
	require.NoError(t, err)
	want := strings.NewReplacer("| 200 |", "| 1000 |", "| 12 ¹ |", "| 2 ¹ |", "| 1 ² |", "| 0 ² |", "| 0 | 0 |", "| 1 | 0 |").
		Replace(page)
	require.Equal(t, want, got, "and nothing else changes")
}

func TestAPromiseThatNobodyExpectedToBeBrokenIsAnError(t *testing.T) {
	_, err := withNumbers(page, []row{original("endpointslices", 1, simulation.NeverMore)})
	require.ErrorContains(t, err, `"never more Pods than allowed" was broken on 1 days of endpointslices`)
	_, err = withNumbers(page, []row{original("replicaset", 1, simulation.Quiet)})
	require.ErrorContains(t, err, "the table has no row for it")
	died := original("replicaset", 1)
	died.broken[0] = []string{"the process has died: panic"}
	_, err = withNumbers(page, []row{died})
	require.ErrorContains(t, err, "wasn't played to its end: seed 0: the process has died")
	for _, column := range []string{"ReplicaSet", "slices"} {
		_, err = withNumbers(strings.Replace(page, column, "Slices", 1), nil)
		require.ErrorContains(t, err, "is of no controller", column)
	}
	_, err = withNumbers("no table", nil)
	require.Error(t, err)
}

// Whoever writes new numbers into the page has a story to tell for each that isn't zero.
func TestEachNumberOnThePageHasAStory(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/bad-days.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n| "+played)
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	told := 0
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(line, "|")
		require.Contains(t, fmt.Sprint(simulation.Promises), strings.TrimSpace(cells[1]))
		for _, cell := range cells[2:] {
			if days := number.FindString(cell); days == "" || days == "0" {
				continue
			}
			mark := strings.TrimSpace(number.ReplaceAllString(cell, ""))
			require.NotEmpty(t, mark, line)
			assert.Contains(t, string(text), "\n**"+mark+" ", line)
			told++
		}
	}
	require.Positive(t, told)
}
