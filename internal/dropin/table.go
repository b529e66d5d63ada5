package dropin

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// How many of the first and of the last lines of an output are printed.
const first, last = 20, 40

// Difference is what a package or one of its tests does on one side only.
type Difference struct {
	Package, Test             string // Test is "" for the whole package
	Original, Ours            string // pass, fail, skip, ...
	OriginalOutput, OurOutput string
}

// Differences lists what differs: tests with another result, packages that compile on one side only,
// and test programs that failed on one side only although their tests did the same.
func (r *Result) Differences() (all []Difference) {
	for _, p := range r.Packages {
		all = append(all, p.differences()...)
	}
	return all
}

// Untried lists the packages that don't compile with the original either.
func (r *Result) Untried() (names []string) {
	for _, p := range r.Packages {
		if p.Original.Refused != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// failOnBoth lists the tests that compare nothing, because they fail with the original, too: a database
// that isn't there, or a variable that a Makefile sets. Of a test with subtests that fail, it's those.
func (r *Result) failOnBoth() (all []string) {
	for _, p := range r.Packages {
		if p.Original.Log == nil || p.Ours.Log == nil {
			continue
		}
		var tests []string
		for _, t := range p.Original.Log.tests {
			if t.failed() && p.Ours.Log.get(t.name).failed() {
				tests = append(tests, t.name)
			}
		}
		if len(tests) == 0 && p.Original.Failed && p.Ours.Failed && len(p.differences()) == 0 {
			all = append(all, p.Name) // before its first test, or after the last one
		}
		for _, name := range tests {
			isSubtest := func(other string) bool { return strings.HasPrefix(other, name+"/") }
			if !slices.ContainsFunc(tests, isSubtest) {
				all = append(all, p.Name+" "+name)
			}
		}
	}
	return all
}

func (p *PackageResult) differences() (all []Difference) {
	a, b := p.Original, p.Ours
	if a.Refused != "" && b.Refused != "" {
		return nil
	}
	if a.Refused != "" || b.Refused != "" {
		return []Difference{{p.Name, "", a.state(), b.state(), a.output(), b.output()}}
	}
	if a.NoTests {
		return nil
	}
	ended := false
	for _, name := range names(a.Log, b.Log) {
		there, here := stateOf(a.Log.get(name)), stateOf(b.Log.get(name))
		if there.state == notRun && a.Failed || here.state == notRun && b.Failed {
			ended = true // something else ended the test program before
			continue
		}
		if there.state != here.state {
			all = append(all, Difference{p.Name, name, there.state, here.state, there.output, here.output})
		}
	}
	all = slices.DeleteFunc(all, func(d Difference) bool { // it's what a subtest of it is
		return slices.ContainsFunc(all, func(sub Difference) bool {
			return strings.HasPrefix(sub.Test, d.Test+"/") && sub.Original == d.Original && sub.Ours == d.Ours
		})
	})
	if len(all) == 0 && (ended || a.Failed != b.Failed) {
		all = append(all, Difference{p.Name, "", a.state(), b.state(), a.output(), b.output()})
	}
	return all
}

// names are the tests of both sides, in the order in which they started.
func names(logs ...*testLog) (all []string) {
	for _, log := range logs {
		for _, t := range log.tests {
			if !slices.Contains(all, t.name) {
				all = append(all, t.name)
			}
		}
	}
	return all
}

// failed reports whether a test failed or never ended.
func (t *test) failed() bool { return t != nil && (t.state == "fail" || t.state == "") }

const notRun = "not run"

func stateOf(t *test) test {
	if t == nil {
		return test{state: notRun}
	}
	return test{t.name, cmp.Or(t.state, "never ended"), t.output}
}

func (o *Outcome) state() string {
	switch {
	case o.Refused != "":
		return "doesn't compile"
	case o.NoTests:
		return "compiles"
	case o.Failed:
		return "FAIL"
	}
	return "ok"
}

// output is what the side printed that belongs to no test.
func (o *Outcome) output() string {
	if o.Log == nil {
		return o.Refused
	}
	return o.Log.output
}

// lacksServer reports whether envtest looked for an API server and found none.
func (o *Outcome) lacksServer() bool {
	const standard = "/usr/local/kubebuilder/bin" // where envtest looks if nobody says where
	return o.Log != nil && (strings.Contains(o.Log.output, standard) ||
		slices.ContainsFunc(o.Log.tests, func(t *test) bool { return strings.Contains(t.output, standard) }))
}

// Tests counts the tests, of which a spec of a Ginkgo suite is one.
func (o *Outcome) Tests() (passed, failed, skipped int) {
	if o.Log == nil {
		return 0, 0, 0
	}
	return o.Log.count("pass"), o.Log.count("fail", ""), o.Log.count("skip")
}

// cell is what the table says about a side.
func (o *Outcome) cell() string {
	if o.Log == nil {
		return o.state()
	}
	passed, failed, skipped := o.Tests()
	text := fmt.Sprintf("ok %d", passed)
	if failed > 0 {
		text = fmt.Sprintf("FAIL %d of %d", failed, len(o.Log.tests))
	} else if o.Failed {
		text = "FAIL"
	}
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	return text
}

// sentence says what a package did, as soon as it's known.
func (p *PackageResult) sentence() string {
	text := p.Original.cell() + " on the original, " + p.Ours.cell() + " on Loopwright"
	if n := len(p.differences()); n > 0 {
		text += fmt.Sprintf("; differences: %d", n)
	}
	return text
}

// Print prints the table, and then each difference with what both sides have printed.
func (r *Result) Print(to io.Writer) {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "package\toriginal\tours\tseconds\tpeak memory")
	for _, p := range r.Packages {
		took, memory := "", ""
		if p.Original.Log != nil || p.Ours.Log != nil {
			took = seconds(p.Original) + " / " + seconds(p.Ours)
			memory = megabytes(p.Original) + " / " + megabytes(p.Ours)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Original.cell(), p.Ours.cell(), took, memory)
	}
	_ = table.Flush()
	for line := range strings.Lines(text.String()) {
		_, _ = fmt.Fprintln(to, strings.TrimRight(line, " \n"))
	}
	for _, d := range r.Differences() {
		_, _ = fmt.Fprintf(to, "\n--- %s: %s with the original, %s on Loopwright\n", strings.TrimSpace(d.Package+" "+d.Test), d.Original, d.Ours)
		section(to, "original", d.OriginalOutput)
		section(to, "ours", d.OurOutput)
	}
	for _, p := range r.Packages {
		if p.Original.Refused != "" && p.Ours.Refused != "" {
			_, _ = fmt.Fprintf(to, "\n--- %s doesn't compile with the original either:\n", p.Name)
			section(to, "original", p.Original.Refused)
		}
	}
	if failing := r.failOnBoth(); len(failing) > 0 {
		_, _ = fmt.Fprintln(to, "\nThese tests fail with the original, too, so they compare nothing. Do they pass without `try`, and what do they need?")
		for _, name := range failing {
			_, _ = fmt.Fprintln(to, "  "+name)
		}
	}
	if slices.ContainsFunc(r.Packages, func(p *PackageResult) bool { return p.Original.lacksServer() }) {
		_, _ = fmt.Fprintln(to, "\nThe original found no API server for envtest: name its directory with --env. setup-envtest downloads one.")
	}
}

func seconds(o *Outcome) string {
	if o.Log == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", o.Took.Seconds())
}

func megabytes(o *Outcome) string {
	if o.Log == nil {
		return "-"
	}
	if o.Floor {
		return fmt.Sprintf("< %d MB", o.Peak/1_000_000+1)
	}
	return fmt.Sprintf("%d MB", o.Peak/1_000_000)
}

// section prints an output, indented. Of a long one it's the beginning, where a panic is, and the end.
func section(to io.Writer, name, output string) {
	if strings.TrimSpace(output) == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if left := len(lines) - first - last; left > 1 {
		lines = slices.Replace(lines, first, first+left, fmt.Sprintf("(%d lines left out)", left))
	}
	_, _ = fmt.Fprintf(to, "  %s:\n", name)
	for _, line := range lines {
		_, _ = fmt.Fprintln(to, "    "+line)
	}
}
