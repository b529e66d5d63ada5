package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/loopwright/loopwright/benchmarks/growth"
	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

//go:embed report.md.tmpl
var pageText string

// report writes a run beside the one before, and the page.
func report(ctx context.Context, s settings, rows []row, began time.Time) error {
	m, err := machine.Look(ctx)
	if err != nil {
		return err
	}
	if _, err := plotAll(filepath.Join(s.report, "plots"), rows); err != nil {
		return err
	}
	file := filepath.Join(s.report, "generated", "benchmarks.csv")
	before, err := load(file)
	if err != nil {
		return err
	}
	ran := fmt.Sprintf("%s, %s, %d rounds of %s",
		began.UTC().Format(time.DateOnly), time.Since(began).Round(time.Minute), s.rounds, s.benchtime)
	now := whole{Rows: rows, Facts: append(m.Facts(), machine.Fact{Name: "run", Value: ran})}
	for _, f := range before.Facts {
		if f.Name == "run" {
			now.Facts = append(now.Facts, machine.Fact{Name: "run before", Value: f.Value})
		}
	}
	now.after(before)
	if err := now.save(file); err != nil {
		return err
	}
	return writePage(s.report)
}

// writePage makes the page from what was measured.
func writePage(dir string) error {
	w, err := load(filepath.Join(dir, "generated", "benchmarks.csv"))
	if err != nil {
		return err
	}
	grown, err := growth.Load(filepath.Join(dir, "generated", "growth.csv"))
	if err != nil {
		return err
	}
	text, err := w.page(grown)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(text), 0o644)
}

// page is about this run, and about how cost grows, if that was measured.
func (w whole) page(grown growth.Table) (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"decimal": decimal}).Parse(pageText)
	if err != nil {
		return "", err
	}
	p, err := w.choose()
	if err != nil {
		return "", err
	}
	if p.Growth, err = grown.Section(); err != nil {
		return "", err
	}
	var text strings.Builder
	err = t.Execute(&text, p)
	return text.String(), err
}

// chosen is what the page shows of a run.
type chosen struct {
	whole
	Lost, Others []felt // worse, and the rest
	Unsteady     []felt // two runs do not agree
	Compared     int    // how many rows compare like with like; the page knows no others
	AlsoLost     []row  // the worst of those that nobody feels
	MoreLost     int    // and how many more
	Counts       struct{ Worse, Same, Better, Unsteady int }
	Plots        []curve
	HasMini      bool
	Growth       string // a section, or nothing
}

func (w whole) choose() (p chosen, err error) {
	p.whole = w
	known := map[[5]string]bool{}
	for _, f := range whatIsFelt {
		r, ok := f.find(w.Rows)
		if !ok {
			return p, fmt.Errorf("%s beside %s was not measured in %s: a page needs all workloads",
				f.workload, f.beside, f.unit)
		}
		if known[r.key()] = true; f.variant != "" {
			r.Mini = 0 // mini's queue is plain
		}
		f.row = r
		switch {
		case !r.Steady():
			p.Unsteady = append(p.Unsteady, f)
		case r.Verdict == worse:
			p.Lost = append(p.Lost, f)
		default:
			p.Others = append(p.Others, f)
		}
		p.HasMini = p.HasMini || r.Steady() && r.Mini > 0
	}
	for _, r := range w.Rows {
		if !r.like() {
			continue
		}
		p.Compared++
		switch {
		case !r.Steady():
			p.Counts.Unsteady++
		case r.Verdict == worse:
			p.Counts.Worse++
			switch {
			case known[r.key()]:
			case len(p.AlsoLost) < 6:
				p.AlsoLost = append(p.AlsoLost, r)
			default:
				p.MoreLost++
			}
		case r.Verdict == same:
			p.Counts.Same++
		default:
			p.Counts.Better++
		}
	}
	for _, list := range [][]felt{p.Lost, p.Others} {
		slices.SortStableFunc(list, func(a, b felt) int { return cmp.Compare(b.Ratio, a.Ratio) })
	}
	for _, c := range curves {
		if slices.ContainsFunc(w.Rows, c.has) {
			p.Plots = append(p.Plots, c)
		}
	}
	return p, nil
}
