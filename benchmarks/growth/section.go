package growth

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/loopwright/loopwright/benchmarks/internal/machine"
	"github.com/loopwright/loopwright/benchmarks/internal/plots"
)

//go:embed section.md.tmpl
var sectionText string

// Limit is the side that no library can be better than.
const Limit = "decoding"

// Map is the side that puts a queue's items into a plain map, and does nothing else.
const Map = "a plain map"

// runs are whole runs: a ratio is shown if both agree.
var runs = []int{1, 2}

// Two runs agree on a ratio if one run's is at most tooFar times the other's, or if both are below plain: it's plain then who wins.
const tooFar, plain = 1.25, 0.1

// The sides, ours before the original beside it.
var (
	programs = [4]string{"our manager", "controller-runtime", "our informer", "client-go"}
	queues   = [4]string{"our priority queue", "controller-runtime", "our queue", "client-go"}
)

// workload is what all sides of a row do.
type workload struct {
	server, form string
	sides        [4]string
}

// row is a line of a table.
type row struct {
	What   string
	Cells  []string // of the four sides
	Ratios []string // of ours to the original beside it, twice
	Limit  string   // empty if there's none
}

// sides returns a figure of each of the four sides, which is 0 where it wasn't measured, in one run.
func (t Table) sides(run int, w workload, objects int, figure string) (values [4]float64) {
	for i, side := range w.sides {
		values[i], _ = t.Value(Case{Run: run, Server: w.server, Form: w.form, Objects: objects, Side: side}, figure)
	}
	return values
}

// row has the means of both runs, and the ratios on which they agree. It's empty if nobody was measured.
func (t Table) row(what string, w workload, objects int, figure, limit string) (r row, measured bool) {
	r.What = what
	var values [2][4]float64
	for i, run := range runs {
		values[i] = t.sides(run, w, objects, figure)
	}
	for side := range w.sides {
		mean := (values[0][side] + values[1][side]) / 2
		measured = measured || mean > 0
		r.Cells = append(r.Cells, cell(figure, mean))
	}
	for ours := 0; ours < len(w.sides); ours += 2 {
		r.Ratios = append(r.Ratios, ratio(
			[2]float64{values[0][ours], values[1][ours]}, [2]float64{values[0][ours+1], values[1][ours+1]}))
	}
	if limit != "" {
		r.Limit = cell(limit, t.mean(Case{Server: w.server, Form: w.form, Objects: objects, Side: Limit}, limit))
	}
	return r, measured
}

// mean is that of both runs; 0 if one wasn't measured.
func (t Table) mean(c Case, figure string) (sum float64) {
	for _, run := range runs {
		c.Run = run
		value, found := t.Value(c, figure)
		if !found {
			return 0
		}
		sum += value
	}
	return sum / float64(len(runs))
}

func cell(figure string, value float64) string {
	if value == 0 {
		return "–"
	}
	return Number(figure, value)
}

// ratio is shown if both runs have about the same.
func ratio(ours, theirs [2]float64) string {
	if min(ours[0], ours[1], theirs[0], theirs[1]) <= 0 {
		return "–"
	}
	first, second := ours[0]/theirs[0], ours[1]/theirs[1]
	if max(first, second) > tooFar*min(first, second) && max(first, second) > plain {
		return "–"
	}
	mean := math.Sqrt(first * second)
	switch {
	case mean < 0.001:
		return "< 0.001"
	case mean < plain:
		return strconv.FormatFloat(mean, 'f', 3, 64)
	case mean >= 10:
		return strconv.FormatFloat(mean, 'f', 0, 64)
	default:
		return strconv.FormatFloat(mean, 'f', 2, 64)
	}
}

type table struct {
	Title      string
	A, B, C, D string
	Limited    bool
	Rows       []row
}

// figures are those of the tables.
var figures = []struct{ name, limit, what string }{
	{"first-sec", "all-sec", "start to the first reconcile"},
	{"all-sec", "all-sec", "start until all are reconciled"},
	{"all-cpu-sec", "all-cpu-sec", "processor time until then"},
	{"peak-rss-B", "rss-B", "peak memory"},
	{"rss-B", "rss-B", "steady memory"},
	{"object-B", "object-B", "heap for each object"},
	{"catch-up-sec", "all-sec", "catching up after an hour away"},
	{"catch-up-cpu-sec", "all-cpu-sec", "processor time of that"},
	{"catch-up-reconciles", "", "reconciles of that"},
	{"catch-up-peak-rss-B", "rss-B", "peak memory of that"},
	{"longest-read-sec", "", "longest read meanwhile"},
}

var onCluster = []struct{ name, what string }{
	{"first-sec", "start to the first reconcile"}, {"all-cpu-sec", "processor time until all are reconciled"}, {"peak-rss-B", "peak memory"},
}

var queueFigures = []struct{ name, what string }{
	{"add-sec", "putting them off"},
	{"item-B", "memory for each"},
	{"fire-sec", "all are due: until the last is taken"},
	{"fire-cpu-sec", "processor time of that"},
}

// Names of the forms and servers in texts.
var formNames = []struct{ name, text string }{
	{"metadata", "custom resources, metadata only"}, {"typed", "custom resources"}, {"pods", "Pods"},
}

// tables has one for each form, at the largest size that all sides have, and one for the queues.
func (t Table) tables() (all []table) {
	for _, f := range formNames {
		w := workload{"stream", f.name, programs}
		size := t.largest(w, "all-sec")
		if size == 0 {
			continue
		}
		one := table{Title: fmt.Sprintf("%s %s", plots.Thousands(size), f.text), Limited: true,
			A: w.sides[0], B: w.sides[1], C: w.sides[2], D: w.sides[3]}
		for _, figure := range figures {
			if r, measured := t.row(figure.what, w, size, figure.name, figure.limit); measured {
				if r.Limit == "" {
					r.Limit = "–"
				}
				one.Rows = append(one.Rows, r)
			}
		}
		w.server = "cluster"
		if size := t.largest(w, "all-sec"); size > 0 {
			for _, figure := range onCluster {
				what := fmt.Sprintf("%s, %s on a real API server", figure.what, plots.Thousands(size))
				r, _ := t.row(what, w, size, figure.name, "")
				r.Limit = "–"
				one.Rows = append(one.Rows, r)
			}
		}
		all = append(all, one)
	}
	w := workload{"queue", "delayed", queues}
	if size := t.largest(w, "fire-sec"); size > 0 {
		one := table{Title: plots.Thousands(size) + " items that a queue has put off until one moment",
			A: w.sides[0], B: w.sides[1], C: w.sides[2], D: w.sides[3]}
		for _, figure := range queueFigures {
			r, _ := t.row(figure.what, w, size, figure.name, "")
			one.Rows = append(one.Rows, r)
		}
		all = append(all, one)
	}
	return all
}

// Agreement says on how many of the tables' ratios the two runs agree.
func (t Table) Agreement() string {
	agreed, all := 0, 0
	for _, table := range t.tables() {
		for _, r := range table.Rows {
			for _, ratio := range r.Ratios {
				all++
				if ratio != "–" {
					agreed++
				}
			}
		}
	}
	return fmt.Sprintf("The two runs agree on %d of %d ratios.", agreed, all)
}

// outgrown tells which processes needed more memory than there was.
func (t Table) outgrown() (all []string) {
	for _, r := range t.Results {
		if r.Figure != Outgrew {
			continue
		}
		text := fmt.Sprintf("%s, %s %s, %s: more than %s", r.Side, plots.Thousands(r.Objects), r.Form, r.Server, Number(r.Figure, r.Value))
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// touched is what the machine takes for giving a process memory: a gigabyte, and all of them in each run.
type touched struct{ Gigabytes, Fastest, Slowest, All string }

// touched is nil if one of the runs hasn't measured it.
func (t Table) touched() *touched {
	took := map[int][]float64{} // by run
	for _, r := range t.Results {
		if r.Server == Machine && r.Figure != Took {
			took[r.Run] = append(took[r.Run], r.Value)
		}
	}
	all, sums := []float64(nil), []string(nil)
	for _, run := range runs {
		if len(took[run]) == 0 {
			return nil
		}
		sum := 0.0
		for _, gigabyte := range took[run] {
			sum += gigabyte
		}
		all, sums = append(all, took[run]...), append(sums, Number("-sec", sum))
	}
	return &touched{strconv.Itoa(len(took[runs[0]])), Number("-sec", slices.Min(all)), Number("-sec", slices.Max(all)), strings.Join(sums, " and ")}
}

// largest is the largest size at which both runs have a figure of all sides.
func (t Table) largest(w workload, figure string) (size int) {
	for _, objects := range t.sizes() {
		all := true
		for _, run := range runs {
			values := t.sides(run, w, objects, figure)
			all = all && slices.Min(values[:]) > 0
		}
		if all {
			size = objects
		}
	}
	return size
}

// sizes are all that were measured, in order.
func (t Table) sizes() (all []int) {
	for _, r := range t.Results {
		if !slices.Contains(all, r.Objects) {
			all = append(all, r.Objects)
		}
	}
	slices.Sort(all)
	return all
}

// Section is that of docs/benchmarks.md; it's empty if nothing was measured.
func (t Table) Section() (string, error) {
	if len(t.Results) == 0 {
		return "", nil
	}
	parsed, err := template.New("section").Parse(sectionText)
	if err != nil {
		return "", err
	}
	sizes := t.sizes()
	var text strings.Builder
	err = parsed.Execute(&text, struct {
		Most     string
		Plots    []Plot
		Tables   []table
		Outgrown []string
		Bends    []string
		Touched  *touched
		Facts    []machine.Fact
	}{plots.Thousands(sizes[len(sizes)-1]), t.drawable(), t.tables(), t.outgrown(), t.Bends(), t.touched(), t.Facts})
	return text.String(), err
}
