package course

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Diff shows the learner's file against the reference, once it is solved: the
// reference is the solution, and seeing it early spoils the exercise.
func (r *Repo) Diff(ctx context.Context, e Exercise, anyway bool, w io.Writer) error {
	if !r.has(e.Mine()) {
		return fmt.Errorf("you have not started exercise %s: `make exercise-%s` sets it up", e.ID, e.ID)
	}
	if !anyway {
		n, err := r.newRunner(ctx)
		if err != nil {
			return err
		}
		f, err := n.cached(ctx, e, e.Mine())
		if err != nil {
			return err
		}
		if f.Status != Passed {
			return fmt.Errorf("exercise %s is not solved yet, and the reference is its solution: run `make exercise-%s`, or see it with `make diff-%s ANYWAY=1`", e.ID, e.ID, e.ID)
		}
	}
	mine, err := r.read(e.Mine())
	if err != nil {
		return fmt.Errorf("comparing exercise %s: %w", e.ID, err)
	}
	reference, err := r.read(e.Replaces)
	if err != nil {
		return fmt.Errorf("comparing exercise %s: %w", e.ID, err)
	}
	text := unified(e.Mine(), e.Replaces+" (the reference)", string(mine), string(reference))
	if text == "" {
		text = "your file and the reference are the same\n"
	}
	_, err = io.WriteString(w, text)
	return err
}

// unified is a unified diff with three lines of context; empty when the texts
// are equal. It finds the longest common subsequence by the textbook's table
// (Hunt and McIlroy 1976 has the faster way): the texts here are short.
func unified(nameA, nameB, textA, textB string) string {
	if textA == textB {
		return ""
	}
	edits := lineEdits(strings.Split(textA, "\n"), strings.Split(textB, "\n"))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	const context = 3
	lastShown := -1
	for i, e := range edits {
		if !nearChange(edits, i, context) {
			continue
		}
		if i != lastShown+1 || i == 0 {
			fmt.Fprintf(&out, "@@ -%d +%d @@\n", e.lineA, e.lineB)
		}
		fmt.Fprintf(&out, "%c%s\n", e.op, e.text)
		lastShown = i
	}
	return out.String()
}

type edit struct {
	op           byte // ' ', '-' or '+'
	text         string
	lineA, lineB int
}

func nearChange(edits []edit, i, distance int) bool {
	for j := max(0, i-distance); j < min(len(edits), i+distance+1); j++ {
		if edits[j].op != ' ' {
			return true
		}
	}
	return false
}

func lineEdits(a, b []string) []edit {
	// common[i][j] is the length of the longest common subsequence of a[i:], b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var edits []edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i], i + 1, j + 1})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, edit{'-', a[i], i + 1, j + 1})
			i++
		default:
			edits = append(edits, edit{'+', b[j], i + 1, j + 1})
			j++
		}
	}
	return edits
}
