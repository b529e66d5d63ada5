package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed report.md.tmpl
var pageText string

// report writes a run beside the one before, and the page.
func report(ctx context.Context, s settings, rows []row, began time.Time) error {
	m, err := lookAround(ctx)
	if err != nil {
		return err
	}
	if _, err := plotAll(filepath.Join(s.report, "plots"), rows); err != nil {
		return err
	}
	file := filepath.Join(s.report, "benchmarks.csv")
	before, err := load(file)
	if err != nil {
		return err
	}
	ran := fmt.Sprintf("%s, %s, %d rounds of %s",
		began.UTC().Format(time.DateOnly), time.Since(began).Round(time.Minute), s.rounds, s.benchtime)
	now := whole{Rows: rows, Facts: append(m.facts(), fact{"run", ran})}
	for _, f := range before.Facts {
		if f.Name == "run" {
			now.Facts = append(now.Facts, fact{"run before", f.Value})
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
	w, err := load(filepath.Join(dir, "benchmarks.csv"))
	if err != nil {
		return err
	}
	text, err := w.page()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(text), 0o644)
}

func (w whole) page() (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"decimal": decimal}).Parse(pageText)
	if err != nil {
		return "", err
	}
	p, err := w.choose()
	if err != nil {
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

// machine is where it was measured, and with what.
type machine struct {
	Processor, Memory, System, Go string
	Processors                    int
	Originals                     []module
}

type module struct{ Path, Version string }

func (m machine) facts() []fact {
	facts := []fact{
		{"machine", fmt.Sprintf("%s, %d processors, %s, %s", m.Processor, m.Processors, m.Memory, m.System)},
		{"Go", m.Go},
	}
	for _, original := range m.Originals {
		facts = append(facts, fact{original.Path, original.Version})
	}
	return facts
}

// lookAround describes this machine. What a system does not tell is left out.
func lookAround(ctx context.Context) (machine, error) {
	m := machine{Processor: "unknown processor", Memory: "memory unknown", System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Processors: runtime.NumCPU()}
	if name := fieldOf("/proc/cpuinfo", "model name"); name != "" {
		m.Processor = name
	} else if name, err := output(ctx, ".", "sysctl", "-n", "machdep.cpu.brand_string"); err == nil {
		m.Processor = strings.TrimSpace(name)
	}
	if size, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(fieldOf("/proc/meminfo", "MemTotal"))); err == nil {
		m.Memory = fmt.Sprintf("%.0f GB", float64(size)*1024/1e9)
	} else if text, err := output(ctx, ".", "sysctl", "-n", "hw.memsize"); err == nil {
		if size, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			m.Memory = fmt.Sprintf("%.0f GB", size/1e9)
		}
	}
	if release, err := output(ctx, ".", "uname", "-sr"); err == nil {
		m.System = strings.TrimSpace(release) + ", " + runtime.GOARCH
	}
	versions, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "k8s.io/client-go", "sigs.k8s.io/controller-runtime")
	if err != nil {
		return machine{}, err
	}
	for line := range strings.Lines(versions) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		m.Originals = append(m.Originals, module{path, version})
	}
	return m, nil
}

// fieldOf finds a line "name: value" in a file of /proc.
func fieldOf(file, name string) string {
	text, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = text.Close() }()
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
