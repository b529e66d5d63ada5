// Package growth is what cmd/growth has measured: how the cost of our library and of the originals grows with the number of
// objects. It reads and writes the table of all figures, and makes the section of docs/benchmarks.md and its plots of it.
//
// Neighbours: cmd/growth measures, and cmd/ratios writes the page around the section.
package growth

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/csvfile"
	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

// Case is one process that was measured.
type Case struct {
	Run     int    // 1 or 2
	Server  string // how the API server answered, or queue
	Form    string // of the objects
	Objects int
	Side    string // the library, or the limit
}

func (c Case) String() string {
	return fmt.Sprintf("run %d, %s, %s, %d, %s", c.Run, c.Server, c.Form, c.Objects, c.Side)
}

// Result is one figure of a case. Seconds and bytes have names that end with -sec and -B.
type Result struct {
	Case
	Figure string
	Value  float64
}

// Figures that aren't costs.
const (
	Took    = "took-sec"  // how long the whole case took; each that was finished has it
	Outgrew = "outgrew-B" // the limit of memory at which the case was ended
	Seen    = "seen"      // how many objects were reconciled at the start
)

// Machine is in the place of a server where no library is measured, only what the machine takes for giving memory.
const Machine = "machine"

// Gigabyte is the time to touch a process's first, second, ... gigabyte.
func Gigabyte(number int) string { return fmt.Sprintf("gigabyte-%d-sec", number) }

var columns = []string{"run", "server", "form", "objects", "side", "figure", "value"}

// Table is all that was measured, and where.
type Table struct {
	Facts   []machine.Fact
	Results []Result
}

// Save writes the table.
func (t Table) Save(file string) error {
	var lines [][]string
	for _, r := range t.Results {
		lines = append(lines, []string{strconv.Itoa(r.Run), r.Server, r.Form, strconv.Itoa(r.Objects), r.Side, r.Figure,
			strconv.FormatFloat(r.Value, 'g', 5, 64)})
	}
	return csvfile.Save(file, t.Facts, columns, lines)
}

// Load reads a table. If there's no file, it's an empty one.
func Load(file string) (t Table, err error) {
	facts, lines, err := csvfile.Load(file, columns)
	if err != nil {
		return t, err
	}
	t.Facts = facts
	for _, cells := range lines {
		r, err := resultOf(cells)
		if err != nil {
			return t, fmt.Errorf("reading %s: %w", file, err)
		}
		t.Results = append(t.Results, r)
	}
	return t, nil
}

func resultOf(cells []string) (r Result, err error) {
	r = Result{Case: Case{Server: cells[1], Form: cells[2], Side: cells[4]}, Figure: cells[5]}
	if r.Run, err = strconv.Atoi(cells[0]); err != nil {
		return r, err
	}
	if r.Objects, err = strconv.Atoi(cells[3]); err != nil {
		return r, err
	}
	r.Value, err = strconv.ParseFloat(cells[6], 64)
	return r, err
}

// Peak is the most memory that any process had.
func (t Table) Peak() (most float64) {
	for _, r := range t.Results {
		if strings.HasSuffix(r.Figure, "peak-rss-B") {
			most = max(most, r.Value)
		}
	}
	return most
}

// Value is a figure of a case.
func (t Table) Value(c Case, figure string) (value float64, found bool) {
	for _, r := range t.Results {
		if r.Case == c && r.Figure == figure {
			return r.Value, true
		}
	}
	return 0, false
}
