package mutants

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// row is a file's line in the summary.
type row struct {
	file, judge                                    string
	mutants, covered, killed, survived, equivalent int
	survivors                                      []string
}

// The part of the covered mutants that must be killed. A pure core is judged by its
// exercise, so a learner's mistake must not get through.
const (
	coreTarget  = 95
	otherTarget = 85
)

func (r row) core() bool { return strings.HasPrefix(r.judge, "exercise") }

func (r row) target() int {
	if r.core() {
		return coreTarget
	}
	return otherTarget
}

// score is the part of the covered mutants that the tests notice, in per cent. Those
// that none can notice do not count.
func (r row) score() float64 {
	if r.covered == r.equivalent {
		return 100
	}
	return 100 * float64(r.killed) / float64(r.covered-r.equivalent)
}

// tally counts the outcomes of a file.
func tally(file, judge string, outcomes []Outcome, list []Equivalent) row {
	r := row{file: file, judge: judge, mutants: len(outcomes)}
	for _, o := range outcomes {
		if o.verdict == uncovered {
			continue
		}
		r.covered++
		switch {
		case o.verdict != survived:
			r.killed++
		case slices.ContainsFunc(list, func(e Equivalent) bool { return e.is(o.Mutant) }):
			r.equivalent++
		default:
			r.survived++
			r.survivors = append(r.survivors, fmt.Sprintf("`%s`, %s: `%s` -> `%s`", o.Function, o.Operator, o.Original, o.Mutated))
		}
	}
	return r
}

const (
	summaryHead = `# Mutants

A mutant is a small mistake, made on purpose: a comparison that is off by one, a statement
that is missing, two statements in the wrong order. A mutant *survives* if all tests pass with it.
This table is written by ` + "`make mutants`" + `; how it works is described in
[internal/mutants](../internal/mutants/README.md).

A pure core, which an exercise lets a learner write, is judged by the tests of that exercise
alone, and 95 % of its covered mutants must be killed. Everything else is judged by all tests
of its package that need no cluster, and 85 % must be killed. Mutants that no test can
notice are listed with the reason in [mutants-equivalent.yaml](mutants-equivalent.yaml), and do not
count.

| file | judge | mutants | covered | killed | survived | equivalent | score |
|---|---|---|---|---|---|---|---|
`
	survivorsHead = "\n## Survivors\n"
)

// writeSummary replaces the rows of some files in the summary. Files that are gone
// lose theirs.
func writeSummary(path string, fresh []row, exists func(file string) bool) error {
	rows, err := readSummary(path)
	if err != nil {
		return err
	}
	for _, r := range fresh {
		rows[r.file] = r
	}
	var table, survivors strings.Builder
	for _, file := range sorted(rows) {
		r := rows[file]
		if !exists(file) {
			continue
		}
		fmt.Fprintf(&table, "| %s | %s | %d | %d | %d | %d | %d | %.1f %% |\n",
			r.file, r.judge, r.mutants, r.covered, r.killed, r.survived, r.equivalent, r.score())
		if len(r.survivors) == 0 {
			continue
		}
		fmt.Fprintf(&survivors, "\n### %s\n\n", file)
		for _, s := range r.survivors {
			fmt.Fprintf(&survivors, "- %s\n", s)
		}
	}
	text := summaryHead + table.String()
	if survivors.Len() > 0 {
		text += survivorsHead + survivors.String()
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// readSummary reads back what writeSummary wrote, so that a run for one file keeps the
// rows of the others.
func readSummary(path string) (map[string]row, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the summary: %w", err)
	}
	rows := map[string]row{}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "### "); ok {
			section = name
		}
		if one, ok := strings.CutPrefix(line, "- "); ok && section != "" {
			r := rows[section]
			r.survivors = append(r.survivors, one)
			rows[section] = r
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 8 || !strings.Contains(cells[0], "/") {
			continue
		}
		r := row{file: strings.TrimPrefix(cells[0], "| "), judge: cells[1]}
		for i, n := range []*int{&r.mutants, &r.covered, &r.killed, &r.survived, &r.equivalent} {
			if *n, err = strconv.Atoi(cells[2+i]); err != nil {
				return nil, fmt.Errorf("reading the summary %s: row of %s: %w", path, r.file, err)
			}
		}
		rows[r.file] = r
	}
	return rows, nil
}
