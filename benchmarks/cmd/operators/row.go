package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
	"github.com/loopwright/loopwright/internal/dropin"
)

// row is what one operator did, as docs/generated/operators.csv keeps it.
type row struct {
	Name, Version   string
	Original, Ours  string // how many tests passed, failed and were skipped
	Differs         []string
	Spent, Peak     string // ours to the original's, or that the runs disagree
	SpentOf, PeakOf string // of the original: seconds, MB
	Envtest         bool
}

// side adds up what the packages did on one side.
type side struct {
	passed, failed, skipped int
	spent                   time.Duration
	peak                    int64
}

func (s *side) add(o *dropin.Outcome) {
	passed, failed, skipped := o.Tests()
	s.passed, s.failed, s.skipped = s.passed+passed, s.failed+failed, s.skipped+skipped
	s.spent += o.Spent
	s.peak = max(s.peak, o.Peak)
}

func (s side) String() string {
	text := fmt.Sprintf("%d pass", s.passed)
	if s.failed > 0 {
		text += fmt.Sprintf(", %d fail", s.failed)
	}
	if s.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", s.skipped)
	}
	return text
}

// add adds up the runs of an operator. A test differs if it does in each run: what differs only now
// and then differs between two runs of the original, too.
func add(o operator, envtest bool, results []*dropin.Result) row {
	r := row{Name: o.Name, Version: o.Version, Envtest: envtest}
	var spent, peak []float64
	for i, result := range results {
		var there, here side
		for _, p := range result.Packages {
			there.add(p.Original)
			here.add(p.Ours)
		}
		differs := []string{}
		for _, d := range result.Differences() {
			differs = append(differs, strings.TrimSpace(d.Package+" "+d.Test))
		}
		if i > 0 {
			differs = slices.DeleteFunc(differs, func(name string) bool { return !slices.Contains(r.Differs, name) })
		}
		r.Differs, r.Original, r.Ours = differs, there.String(), here.String()
		r.SpentOf = fmt.Sprintf("%.0f", there.spent.Seconds())
		r.PeakOf = fmt.Sprintf("%d", there.peak/1_000_000)
		spent = append(spent, float64(here.spent)/float64(there.spent))
		peak = append(peak, float64(here.peak)/float64(there.peak))
	}
	r.Spent, r.Peak = ratio(spent), ratio(peak)
	return r
}

// ratio is the mean of the runs' ratios, if none is further than a tenth from it. One run alone
// measures nothing.
func ratio(of []float64) string {
	if len(of) < 2 {
		return ""
	}
	mean := 0.0
	for _, each := range of {
		mean += each / float64(len(of))
	}
	for _, each := range of {
		if !(math.Abs(each-mean) <= mean/10) { // NaN, too: nothing was measured
			return "-"
		}
	}
	return fmt.Sprintf("%.2f", mean)
}

var head = []string{"operator", "version", "tests original", "tests ours", "differ",
	"processor time ours/original", "processor time original s", "peak memory ours/original", "peak memory original MB", "envtest"}

func (r row) fields() []string {
	return []string{r.Name, r.Version, r.Original, r.Ours, strings.Join(r.Differs, "; "), r.Spent, r.SpentOf, r.Peak, r.PeakOf,
		map[bool]string{true: "yes", false: "no"}[r.Envtest]}
}

func docs(name string) (string, error) {
	root, err := api.ModuleRoot()
	return filepath.Join(root, "..", "docs", name), err
}

// readRows reads docs/generated/operators.csv.
func readRows() (rows []row, err error) {
	name, err := docs("generated/operators.csv")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if rows, err = parse(string(text)); err != nil {
		return nil, fmt.Errorf("%s isn't what this command writes: %w", name, err)
	}
	return rows, nil
}

func parse(text string) (rows []row, err error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 || !slices.Equal(lines[0], head) {
		return nil, cmp.Or(err, errors.New("another head"))
	}
	for _, f := range lines[1:] {
		r := row{Name: f[0], Version: f[1], Original: f[2], Ours: f[3], Spent: f[5], SpentOf: f[6], Peak: f[7], PeakOf: f[8],
			Envtest: f[9] == "yes"}
		if f[4] != "" {
			r.Differs = strings.Split(f[4], "; ")
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// record puts a row into docs/generated/operators.csv, in the place of an older one of the same operator.
func record(r row) error {
	rows, err := readRows()
	if err != nil {
		return err
	}
	name, err := docs("generated/operators.csv")
	if err != nil {
		return err
	}
	text, err := format(with(rows, r))
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// with is the rows with a new one, in the order of their names.
func with(rows []row, r row) []row {
	rows = slices.DeleteFunc(rows, func(old row) bool { return old.Name == r.Name })
	rows = append(rows, r)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

func format(rows []row) (string, error) {
	lines := [][]string{head}
	for _, each := range rows {
		lines = append(lines, each.fields())
	}
	var text strings.Builder
	err := csv.NewWriter(&text).WriteAll(lines)
	return text.String(), err
}
