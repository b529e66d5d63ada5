package main

import (
	"fmt"
	"os"
	"strings"
)

const begin, end = "<!-- `go run ./cmd/operators` in benchmarks/ writes this table. -->\n", "<!-- The end of the table. -->\n"

// writePage writes the table in docs/porting.md.
func writePage() error {
	name, err := docs("porting.md")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	page, err := withTable(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(page), 0o644)
}

// withTable is the page with the table of what is recorded.
func withTable(page string) (string, error) {
	all, err := operators()
	if err != nil {
		return "", err
	}
	rows, err := readRows()
	if err != nil {
		return "", err
	}
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("docs/porting.md doesn't have the lines %q and %q", begin, end)
	}
	return before + begin + "\n" + table(all, rows) + "\n" + end + after, nil
}

func table(all []operator, rows []row) string {
	var b strings.Builder
	b.WriteString("| operator | packages | tests there | tests here | differ | processor time | peak memory |\n|---|---|---|---|---|--:|--:|\n")
	for _, r := range rows {
		for _, o := range all {
			if o.Name == r.Name {
				fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s | %s | %s |\n", r.Name, r.Version, packages(o, r.Envtest),
					r.Original, r.Ours, differences(o, r), measured(r.Spent, r.SpentOf, "s"), measured(r.Peak, r.PeakOf, "MB"))
			}
		}
	}
	return b.String()
}

func packages(o operator, envtest bool) string {
	text := "`" + strings.Join(o.Packages, "`, `") + "`"
	if envtest && len(o.Envtest) > 0 {
		text += "; with envtest `" + strings.Join(o.Envtest, "`, `") + "`"
	}
	return text
}

func differences(o operator, r row) string {
	text := "none"
	if len(r.Differs) > 0 {
		text = strings.Join(r.Differs, ", ")
	}
	if o.Why != "" {
		text += ". " + o.Why
	}
	return text
}

func measured(ratio, original, unit string) string {
	switch ratio {
	case "":
		return "not measured"
	case "-":
		return "the runs disagree"
	}
	return fmt.Sprintf("%s of %s %s", ratio, original, unit)
}
