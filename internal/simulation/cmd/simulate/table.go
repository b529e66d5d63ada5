package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopwright/loopwright/internal/simulation"
)

// shown is how many of the seeds that failed are named.
const shown = 10

func (r *row) seeds() []uint64 {
	return slices.Sorted(maps.Keys(r.broken))[:min(shown, len(r.broken))]
}

func (r *row) first() uint64 { return r.seeds()[0] }

// printTable prints a line for each story, and how often each promise was broken.
func printTable(table []row) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\ncontroller\tdays\tfailed\ttook\tdays a second\tthe first seeds that failed")
	for _, r := range table {
		perSecond := 0.0
		if r.took > 0 {
			perSecond = float64(r.played) / r.took.Seconds()
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%v\t%.1f\t%v\n", r.story, r.played, r.failed(),
			r.took.Round(time.Second), perSecond, r.seeds())
	}
	fmt.Fprint(out, "\nbroken in this many days")
	for _, r := range table {
		fmt.Fprint(out, "\t", r.story)
	}
	fmt.Fprintln(out)
	for _, promise := range simulation.Promises {
		fmt.Fprint(out, promise)
		for _, r := range table {
			fmt.Fprint(out, "\t", r.daysWithout(string(promise)))
		}
		fmt.Fprintln(out)
	}
	_ = out.Flush()
}

// notPlayed returns why a day has no end to judge, if there's such a day.
func (r *row) notPlayed() string {
	for _, seed := range slices.Sorted(maps.Keys(r.broken)) {
		for _, what := range r.broken[seed] {
			if !slices.Contains(simulation.Promises, simulation.Promise(promiseOf(what))) {
				return fmt.Sprintf("seed %d: %s", seed, what)
			}
		}
	}
	return ""
}

// daysWithout counts the days on which a promise was broken.
func (r *row) daysWithout(promise string) (days int) {
	for _, broken := range r.broken {
		if slices.ContainsFunc(broken, func(what string) bool { return promiseOf(what) == promise }) {
			days++
		}
	}
	return days
}

// columns are what the page calls the originals.
var columns = map[string]string{
	"ReplicaSet": "replicaset", "Deployment": "deployment", "Endpoints": "endpoints",
	"slices": "endpointslices", "garbage collector": "garbagecollector", "elector": "elector",
	"elector, Lease kept": "elector-kept-lease",
}

// played is how the row begins that says how many days were played. It's the first one below the
// table's head.
const played = "days played, from seed 0 on"

// writeTable puts the originals' numbers into the table of a page.
func writeTable(page string, table []row) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	changed, err := withNumbers(string(text), table)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}

// withNumbers returns a page with the originals' numbers. The mark behind a number stays: it's that of
// a story. An empty cell means that nobody has promised it, so it can't be broken.
func withNumbers(page string, table []row) (string, error) {
	lines := strings.Split(page, "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "| "+played)
	})
	if at < 2 {
		return "", fmt.Errorf("there's no table with a row %q", played)
	}
	head, rows := strings.Split(lines[at-2], "|"), map[string]bool{}
	for _, name := range head[2 : len(head)-1] {
		if columns[strings.TrimSpace(name)] == "" {
			return "", fmt.Errorf("the table's column %q is of no controller: add it to columns in table.go", name)
		}
	}
	for ; at < len(lines) && strings.HasPrefix(lines[at], "|"); at++ {
		cells := strings.Split(lines[at], "|")
		what := strings.TrimSpace(cells[1])
		rows[what] = true
		for i := 2; i < min(len(cells), len(head)); i++ {
			for _, r := range table {
				if !r.story.isOriginal() || r.story.name != columns[strings.TrimSpace(head[i])] {
					continue
				}
				days := r.daysWithout(what)
				if what == played {
					days = r.played
				}
				was := number.FindString(cells[i])
				if was == "" && days > 0 {
					return "", fmt.Errorf("%q was broken on %d days of %s, and the table has no number for it",
						what, days, r.story.name)
				}
				if was != "" {
					cells[i] = strings.Replace(cells[i], was, strconv.Itoa(days), 1)
				}
			}
		}
		lines[at] = strings.Join(cells, "|")
	}
	for _, r := range table {
		if what := r.notPlayed(); what != "" && r.story.isOriginal() {
			return "", fmt.Errorf("a day of Kubernetes' %s wasn't played to its end: %s", r.story.name, what)
		}
		for _, promise := range simulation.Promises {
			if r.story.isOriginal() && r.daysWithout(string(promise)) > 0 && !rows[string(promise)] {
				return "", fmt.Errorf("%q was broken by Kubernetes' %s, and the table has no row for it",
					promise, r.story.name)
			}
		}
	}
	return strings.Join(lines, "\n"), nil
}

var number = regexp.MustCompile(`\d+`)
