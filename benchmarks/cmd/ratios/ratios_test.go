package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/growth"
	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

func TestEachVariantIsPlayedInEachRound(t *testing.T) {
	s := settings{bench: "Keep|Alone", benchtime: time.Millisecond, rounds: 3, limit: time.Minute, packages: []string{"./testdata/tiny"}}
	workloads, err := prepare(t.Context(), s, t.TempDir())
	require.NoError(t, err)
	require.Len(t, workloads, 4, "who is alone has nothing to be compared with")
	require.Equal(t, "tiny/tiny_test.go", workloads[0].file)

	measured, err := play(t.Context(), s, workloads[:1])
	require.NoError(t, err)
	for _, variant := range []string{"ours", "client-go"} {
		require.Len(t, measured[measure{"tiny", "Keep/size=100", variant, "sec/op"}], 3)
		require.Len(t, measured[measure{"tiny", "Keep/size=100", variant, peakMemory}], 3)
		require.Equal(t, []float64{0.002, 0.002, 0.002}, measured[measure{"tiny", "Keep/size=100", variant, "cpu-sec/op"}])
	}
	require.Empty(t, measured[measure{"tiny", "Keep/size=100", "no-store", "sec/op"}], "a reference is not compared")
	require.Equal(t, []float64{208, 208, 208}, measured[measure{"tiny", "Keep/size=100", "client-go", "B/op"}])
}

func TestABenchmarkThatFailsIsNamedWithWhatItSays(t *testing.T) {
	_, err := prepare(t.Context(), settings{bench: "Broken", limit: time.Minute, packages: []string{"./testdata/tiny"}}, t.TempDir())
	require.ErrorContains(t, err, "the store is broken")
}

// A benchmark of an election once waited for a renewal that never came, and the table with it.
func TestABenchmarkThatHangsIsEndedAndSaysWhere(t *testing.T) {
	s := settings{bench: "Hangs", limit: 5 * time.Second, packages: []string{"./testdata/tiny"}}
	_, err := prepare(t.Context(), s, t.TempDir())
	require.ErrorContains(t, err, "it hasn't ended after 5s (-limit)")
	require.ErrorContains(t, err, "tiny.BenchmarkHangs", "where its goroutines are")
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	for want, s := range map[string]settings{
		"at least one round":                   {bench: ".", rounds: 0},
		"a report needs the whole workloads":   {bench: ".", rounds: 8, quick: true, report: "docs"},
		"no benchmark that matches \"Nobody\"": {bench: "Nobody", rounds: 8, packages: []string{"./testdata/tiny"}},
		"-bench \"(\": error parsing regexp":   {bench: "(", rounds: 8, packages: []string{"./testdata/tiny"}},
		"nowhere: directory not found":         {bench: ".", rounds: 8, packages: []string{"./testdata/nowhere"}},
	} {
		require.ErrorContains(t, run(t.Context(), s), want)
	}
}

// The log goes to the same output as the results. Whoever measures for an hour wants to know which
// benchmark it was, and must not get a table with a figure missing.
func TestALineThatCannotBeReadIsNamed(t *testing.T) {
	for _, line := range []string{
		"BenchmarkStore/ours-2 \t2026/11/22 01:02:03 INFO no WatchList here", // the result follows on a line of its own
		"BenchmarkStore/ours-2 \t 100\t 50.0 ns/op\t level=INFO",
	} {
		_, err := parse("goos: linux\nBenchmarkStore\n" + line + "\n 100\t 50.0 ns/op\n")
		require.ErrorContains(t, err, "line 3 is no result of a benchmark", line)
	}
}

// someRows are what six rounds of three workloads make.
func someRows() []row {
	m := measurements{}
	add := func(name, unit string, ours, original []float64) {
		m[measure{"queue", name, "ours", unit}], m[measure{"queue", name, "client-go", unit}] = ours, original
	}
	add("Fast", "sec/op", []float64{1e-6, 1.1e-6, 1e-6, 1.2e-6, 1e-6, 1.1e-6}, []float64{4e-6, 4.2e-6, 4e-6, 4.1e-6, 4e-6, 4.2e-6})
	add("Even", "sec/op", []float64{1e-3, 2e-3, 3e-3, 1e-3, 2e-3, 3e-3}, []float64{2e-3, 1e-3, 3e-3, 2e-3, 1e-3, 3e-3})
	add("Nearly", "B/op", []float64{1005, 1005, 1005, 1005, 1005, 1005}, []float64{1000, 1000, 1000, 1000, 1000, 1000})
	add("Slow", "sec/op", []float64{2, 2, 2, 2, 2, 2.1}, []float64{1, 1, 1, 1, 1, 1.1})
	add("Slower", "B/op", []float64{3000, 3000, 3000, 3000, 3000, 3000}, []float64{1000, 1000, 1000, 1000, 1000, 1000})
	add("Nothing", "allocs/op", []float64{0, 0, 0, 0, 0, 0}, []float64{2, 2, 2, 2, 2, 2})
	add("Small", peakMemory, []float64{1e6, 1e6, 1e6, 1e6, 1e6, 1e6}, []float64{2e6, 2e6, 2e6, 2e6, 2e6, 2e6})
	add("Small", "items/s", []float64{1e6, 1e6, 1e6, 1e6, 1e6, 1e6}, []float64{2e6, 2e6, 2e6, 2e6, 2e6, 2e6})
	var workloads []workload
	for _, name := range []string{"Fast", "Even", "Nearly", "Slow", "Slower", "Nothing", "Small"} {
		workloads = append(workloads, workload{subject: "queue", name: name, file: "queue/queue_test.go", variants: []string{"ours", "client-go", "store"}})
	}
	return compare(workloads, m)
}

func TestWhereWeLoseComesFirstAndTheWorstOfIt(t *testing.T) {
	var got []string
	for _, r := range someRows() {
		got = append(got, r.Workload+": "+decimal(r.Ratio)+", "+r.Verdict.String())
	}
	require.Equal(t, []string{
		"Slower: 3.00, Where ours is worse",
		"Slow: 2.00, Where ours is worse",
		"Even: 1.00, No difference that is more than chance, or less than 1 %",
		"Nearly: 1.00, No difference that is more than chance, or less than 1 %",
		"Fast: 0.26, Where ours is better",
		"Nothing: 0.00, Where ours is better",
	}, got)
}

func TestARatioHasItsInterval(t *testing.T) {
	rows := someRows()
	fast := rows[slices.IndexFunc(rows, func(r row) bool { return r.Workload == "Fast" })]
	require.Equal(t, "0.25 to 0.29", fast.Interval(), "1.0 of 4.0, and 1.2 of 4.1: two sides of one round")
	var few row
	few.Rounds = 3
	few.judge([]float64{1, 2, 3}, []float64{4, 5, 6})
	require.Equal(t, "too few rounds", few.Interval())
	require.Equal(t, same, few.Verdict, "three rounds prove nothing")
}

// A ratio that only one run has found is what the machine did that day, and nobody can rely on it.
func TestARatioIsShownIfTwoRunsAgree(t *testing.T) {
	for _, c := range []struct {
		what        string
		now, before outcome // before is nothing if there was no run
		want        bool
	}{
		{"both runs found about the same", outcome{0.50, 0.45, 0.60}, outcome{0.55, 0.40, 0.90}, true},
		{"there was no run before", outcome{0.50, 0.45, 0.60}, outcome{}, false},
		{"a count is exact, and a little more now", outcome{0.50, 0.50, 0.50}, outcome{0.51, 0.51, 0.51}, true},
		{"the interval is too wide to say anything", outcome{0.36, 0.27, 0.75}, outcome{0.36, 0.30, 0.40}, false},
		{"the medians are far apart", outcome{0.36, 0.30, 0.55}, outcome{0.94, 0.50, 1.00}, false},
		{"nobody feels whether it is a fiftieth or a hundredth", outcome{0.02, 0.01, 0.05}, outcome{0.01, 0, 0.02}, true},
		{"the original has nothing of it, twice", outcome{math.Inf(1), math.Inf(1), math.Inf(1)},
			outcome{math.Inf(1), math.Inf(1), math.Inf(1)}, true},
	} {
		r := row{outcome: c.now}
		if c.before != (outcome{}) {
			r.Before = &c.before
		}
		require.Equal(t, c.want, r.Steady(), c.what)
	}
}

// The next run reads what this one has written: a figure that is lost on the way would be compared with nothing.
func TestWhatIsSavedIsLoaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "benchmarks.csv")
	nothing, err := load(file)
	require.NoError(t, err)
	require.Empty(t, nothing.Rows, "the first run has none before it")

	first := whole{Facts: []machine.Fact{{Name: "Go", Value: "go1.26"}, {Name: "run", Value: "2026-11-22, 8 rounds: quiet"}}, Rows: someRows()}
	require.NoError(t, first.save(file))
	loaded, err := load(file)
	require.NoError(t, err)
	require.Equal(t, first.Facts, loaded.Facts)
	require.Len(t, loaded.Rows, len(first.Rows))
	for i, r := range loaded.Rows {
		want := first.Rows[i]
		require.Equal(t, want.key(), r.key())
		require.Equal(t, want.Verdict, r.Verdict)
		require.InEpsilon(t, 1+want.Ratio, 1+r.Ratio, 1e-4)
		require.Equal(t, want.Number(want.OursIs.Center), r.Number(r.OursIs.Center))
	}

	second := whole{Rows: someRows()}
	second.after(loaded)
	for _, r := range second.Rows {
		require.InEpsilon(t, 1+r.Ratio, 1+r.Before.Ratio, 1e-4, r.Workload)
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(columns, ",")+"\nqueue,Fast\n"), 0o600))
	_, err = load(file)
	require.ErrorContains(t, err, "wrong number of fields")
}

// feltRows are those of the page; all of them are steady, and the third is worse.
func feltRows() []row {
	var rows []row
	for i, f := range whatIsFelt {
		subject, workload, _ := strings.Cut(f.workload, " ")
		r := row{Subject: subject, Workload: workload, Ours: cmp.Or(f.variant, "ours"), Original: f.beside, Unit: f.unit, Rounds: 6}
		r.judge(slices.Repeat([]float64{float64(i + 1)}, 6), slices.Repeat([]float64{100}, 6))
		if i == 2 {
			r.judge(slices.Repeat([]float64{300}, 6), slices.Repeat([]float64{100}, 6))
		}
		r.Before = &r.outcome
		rows = append(rows, r)
	}
	return rows
}

func TestThePageHasWhatIsFeltAndFirstWhereWeLose(t *testing.T) {
	where := machine.Machine{Processor: "a processor", Memory: "24 GB", System: "Linux", Go: "go1.26",
		Processors: 2, Originals: []machine.Module{{Path: "k8s.io/client-go", Version: "v0.37.2"}}}
	w := whole{Facts: where.Facts(), Rows: feltRows()}
	w.Rows[3].Before = &outcome{5, 5, 5}
	slow := someRows()[1]
	slow.Before = &slow.outcome
	unlike := slow
	unlike.Subject, unlike.Ours = "workqueue", "ours-fair"
	w.Rows = append(w.Rows, slow, unlike)
	page, err := w.page(growth.Table{})
	require.NoError(t, err)
	for i, f := range whatIsFelt {
		if i != 3 {
			require.Contains(t, page, "| "+f.What+" | ")
			require.Contains(t, page, " | "+f.Means+" |\n")
		}
	}
	require.NotContains(t, page, "| "+whatIsFelt[3].What, "two runs do not agree on it")
	require.Contains(t, page, "so don't believe either:\n"+whatIsFelt[3].What+", beside client-go (0.040, and 5.00 before).")
	require.Less(t, strings.Index(page, whatIsFelt[2].What), strings.Index(page, "## What you feel"), "we lose there")
	require.Contains(t, page, "\ntime of `queue Slow`, ours beside client-go (2.00 s, not 1.00 s).")
	require.Contains(t, page, "22 rows compare like with like. Ours is worse in 2 of them and better in 19, and in 0 there's no\ndifference. On the other 1,")
	require.NotContains(t, page, "growing up")
	require.NotContains(t, page, "ours-fair", "the originals have no fair queue")
	require.Contains(t, page, "| machine | a processor, 2 processors, 24 GB, Linux |\n"+
		"| Go | go1.26 |\n| k8s.io/client-go | v0.37.2 |\n",
		"a figure says nothing without the machine and the versions")

	w.Rows[4].Mini = 7
	page, err = w.page(growth.Table{})
	require.NoError(t, err)
	require.Contains(t, page, "## What growing up costs")
	require.Contains(t, page, "| "+whatIsFelt[4].What+" | 7.00 B | 5.00 B | 100 B |")

	_, err = whole{Rows: w.Rows[1:]}.page(growth.Table{})
	require.ErrorContains(t, err, whatIsFelt[0].workload+" beside "+whatIsFelt[0].beside+" was not measured")
}

// The page is written from the table beside it, and nobody edits it.
func TestThePageIsThatOfItsTable(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs")
	w, err := load(filepath.Join(dir, "generated", "benchmarks.csv"))
	require.NoError(t, err)
	grown, err := growth.Load(filepath.Join(dir, "generated", "growth.csv"))
	require.NoError(t, err)
	want, err := w.page(grown)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	require.NoError(t, err)
	require.Equal(t, want, string(got), "go run ./cmd/ratios -page ../docs writes it")
}

func TestMiniIsAPriceAndNoRival(t *testing.T) {
	m := measurements{}
	for variant, seconds := range map[string]float64{"ours": 1e-6, "mini": 3e-6, "client-go": 2e-6} {
		m[measure{"queue", "Cycle", variant, "sec/op"}] = slices.Repeat([]float64{seconds}, 6)
	}
	rows := compare([]workload{{subject: "queue", name: "Cycle", file: "queue/queue_test.go",
		variants: []string{"ours", "mini", "client-go"}}}, m)
	require.Len(t, rows, 1, "ours beside client-go")
	require.Equal(t, "3.00 µs", rows[0].MiniIs())
}

func atSize(x float64) point { return point{X: x, Y: 1e6, Low: 0.5e6, High: 1e6} }

func TestACurveIsDrawnFromWorkloadsThatDifferInANumber(t *testing.T) {
	var rows []row
	for _, size := range []string{"100", "1000", "10", "10000"} {
		r := row{Subject: "workqueue", Workload: "Workers/workers=" + size, Ours: "ours", Original: "client-go", Unit: "sec/op"}
		r.judge([]float64{1e-6, 1e-6, 2e-6, 1e-6, 1e-6, 2e-6}, []float64{4e-6, 4e-6, 4e-6, 4e-6, 4e-6, 4e-6})
		rows = append(rows, r)
	}
	dir := t.TempDir()
	drawn, err := plotAll(dir, rows)
	require.NoError(t, err)
	require.Len(t, drawn, 1)
	lines := drawn[0].lines(rows)
	require.Len(t, lines, 2)
	require.Equal(t, "ours", lines[0].variant)
	require.Equal(t, []point{atSize(10), atSize(100), atSize(1000), atSize(10000)}, lines[0].points, "a throughput, in the order of the sizes")
	picture, err := os.ReadFile(filepath.Join(dir, "throughput.svg"))
	require.NoError(t, err)
	for _, want := range []string{"<svg", "Throughput over workers", "10,000", "client-go"} {
		require.Contains(t, string(picture), want)
	}

	_, err = plotAll(dir, rows[:3])
	require.ErrorContains(t, err, "has 3 sizes")
}

// A reader who is never blocked is the best case, and a logarithmic axis has no place for nothing.
func TestNothingIsDrawnAtTheBottomOfACurve(t *testing.T) {
	var rows []row
	for _, size := range []string{"10", "100", "1000", "10000"} {
		r := row{Subject: "informer", Workload: "StoreStall/objects=" + size, Ours: "ours", Original: "client-go", Unit: "blocked-sec"}
		r.judge([]float64{0, 0, 0, 0, 0, 0}, []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2})
		rows = append(rows, r)
	}
	dir := t.TempDir()
	drawn, err := plotAll(dir, rows)
	require.NoError(t, err)
	require.Equal(t, point{X: 10, Y: 1e-6, Low: 1e-6, High: 1e-6}, drawn[0].lines(rows)[0].points[0])
	picture, err := os.ReadFile(filepath.Join(dir, "stall.svg"))
	require.NoError(t, err)
	for _, want := range []string{">1µ<", ">10m<", ">ours<"} {
		require.Contains(t, string(picture), want)
	}
	require.NotContains(t, string(picture), ">2m<", "so many ticks are not legible")
}

func TestEachSideOfACurveHasItsOwnColour(t *testing.T) {
	lines := make([]line, 7)
	for i := range lines {
		lines[i] = line{variant: fmt.Sprint("side ", i), unit: "sec/op", points: []point{{X: 1, Y: 1, Low: 1, High: 1}, {X: 2, Y: 2, Low: 2, High: 2}}}
	}
	file := filepath.Join(t.TempDir(), "many.svg")
	require.NoError(t, curves[0].draw(file, lines[1:]))
	require.ErrorContains(t, curves[0].draw(file, lines), "more than there are colours")
}
