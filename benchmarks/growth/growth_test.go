package growth

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

// straight is a table in which all costs grow in step with the objects, ours half of the originals'.
func straight() Table {
	t := Table{Facts: []machine.Fact{{Name: "Go", Value: "go1.26"}, {Name: "run", Value: "2026-11-30: quiet"}}}
	add := func(c Case, figure string, value float64) {
		t.Results = append(t.Results, Result{c, figure, value})
	}
	for _, run := range runs {
		for _, size := range []int{1_000, 10_000, 100_000} {
			for i, side := range programs {
				cost := float64(size) * float64(1+i%2)
				for _, f := range formNames {
					for _, figure := range figures {
						add(Case{run, "stream", f.name, size, side}, figure.name, cost)
					}
					for _, figure := range []string{"first-sec", "all-sec", "all-cpu-sec", "peak-rss-B"} {
						add(Case{run, "cluster", f.name, size / 10, side}, figure, 2*cost)
					}
				}
			}
			for _, f := range formNames {
				for _, figure := range []string{"all-sec", "all-cpu-sec", "rss-B", "object-B"} {
					add(Case{run, "stream", f.name, size, Limit}, figure, float64(size)/10)
				}
			}
			for i, side := range queues {
				for _, figure := range queueFigures {
					add(Case{run, "queue", "delayed", size, side}, figure.name, float64(size)*float64(1+i%2))
				}
			}
		}
	}
	for i, r := range t.Results { // these are for one object already
		if r.Figure == "object-B" || r.Figure == "item-B" {
			t.Results[i].Value /= float64(r.Objects)
		}
	}
	return t
}

// change multiplies some values.
func change(t Table, by float64, which func(Result) bool) Table {
	for i, r := range t.Results {
		if which(r) {
			t.Results[i].Value *= by
		}
	}
	return t
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "growth.csv")
	nothing, err := Load(file)
	require.NoError(t, err)
	require.Empty(t, nothing.Results)
	want := straight()
	require.NoError(t, want.Save(file))
	got, err := Load(file)
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.NoError(t, os.WriteFile(file, []byte(strings.Join(columns, ",")+"\n1,stream\n"), 0o600))
	_, err = Load(file)
	require.ErrorContains(t, err, "wrong number of fields")
}

func TestTheSectionShowsTheLargestSizeOfAllSidesBesideTheLimit(t *testing.T) {
	empty, err := Table{}.Section()
	require.NoError(t, err)
	require.Empty(t, empty, "nothing was measured, so the page says nothing")

	text, err := straight().Section()
	require.NoError(t, err)
	require.Contains(t, text, "\n## How it grows to 100,000 objects\n")
	require.Contains(t, text, "\n100,000 Pods:\n")
	require.Contains(t, text, "\n| start until all are reconciled | 100 ks | 200 ks | 0.50 | 100 ks | 200 ks | 0.50 | 10.0 ks |\n")
	require.Contains(t, text, "\n| peak memory, 10,000 on a real API server | 200 kB | 400 kB | 0.50 | 200 kB | 400 kB | 0.50 | – |\n")
	require.Contains(t, text, "\n| putting them off | 100 ks | 200 ks | 0.50 | 100 ks | 200 ks | 0.50 |\n")
	require.Contains(t, text, "\nNothing grows faster than the number of objects")
	require.Contains(t, text, "| Go | go1.26 |\n| run | 2026-11-30: quiet |\n", "a figure says nothing without the machine")
	require.NotContains(t, text, "<no value>")

	// The original needed more than there is.
	without := straight()
	without.Results = append([]Result{}, without.Results...)
	kept := without.Results[:0]
	for _, r := range without.Results {
		if r.Form != "pods" || r.Objects < 100_000 || r.Side != "client-go" {
			kept = append(kept, r)
		}
	}
	without.Results = kept
	text, err = without.Section()
	require.NoError(t, err)
	require.Contains(t, text, "\n10,000 Pods:\n")
	require.NotContains(t, text, "more memory than the machine could give")

	for _, run := range runs { // the limit is a part of what was free, so it's another one each time
		without.Results = append(without.Results, Result{Case{run, "stream", "pods", 100_000, "client-go"}, Outgrew, 17.6e9 + float64(run)})
	}
	text, err = without.Section()
	require.NoError(t, err)
	require.Contains(t, text, "\nThese needed more memory than the machine could give, and were ended:\n\n- client-go, 100,000 pods, stream: more than 17.6 GB\n\nNothing")
}

// Whether two runs agree is the first thing you want to know after both.
func TestTheAgreementCountsTheRatiosOfAllTables(t *testing.T) {
	require.Equal(t, "The two runs agree on 0 of 0 ratios.", Table{}.Agreement())
	all := 3*(2*len(figures)+2*len(onCluster)) + 2*len(queueFigures)
	require.Equal(t, fmt.Sprintf("The two runs agree on %d of %d ratios.", all, all), straight().Agreement())
	onePeak := func(r Result) bool {
		return r.Run == 2 && r.Server == "stream" && r.Form == "pods" && r.Side == "client-go" && r.Figure == "peak-rss-B" && r.Objects == 100_000
	}
	require.Equal(t, fmt.Sprintf("The two runs agree on %d of %d ratios.", all-1, all), change(straight(), 2, onePeak).Agreement())
}

// A ratio that only one run has found is what the machine did that day.
func TestARatioIsShownIfTwoRunsAgree(t *testing.T) {
	for _, c := range []struct {
		what         string
		ours, theirs [2]float64
		want         string
	}{
		{"both have the same", [2]float64{1, 1}, [2]float64{2, 2}, "0.50"},
		{"the machine was slower, and the ratio the same", [2]float64{1, 3}, [2]float64{2, 6}, "0.50"},
		{"nearly", [2]float64{1, 1.2}, [2]float64{2, 2}, "0.55"},
		{"they're too far apart", [2]float64{1, 1.3}, [2]float64{2, 2}, "–"},
		{"nobody feels whether it's a twentieth or a fiftieth", [2]float64{1, 1}, [2]float64{20, 50}, "0.032"},
		{"it's next to nothing", [2]float64{1, 1}, [2]float64{2000, 5000}, "< 0.001"},
		{"one wasn't measured", [2]float64{1, 0}, [2]float64{2, 2}, "–"},
		{"neither had anything to measure", [2]float64{0, 0}, [2]float64{0, 0}, "–"},
	} {
		require.Equal(t, c.want, ratio(c.ours, c.theirs), c.what)
	}
}

func TestACurveBendsIfEachObjectCostsMoreInBothRuns(t *testing.T) {
	require.Empty(t, straight().Bends())
	steep := func(r Result) bool {
		return r.Objects == 100_000 && r.Side == "our manager" && r.Form == "pods" && r.Figure == "all-sec"
	}
	require.Equal(t, []string{"our manager, pods, stream: all-sec is 1.50 times as much for each object with 100,000 as with 10,000"},
		change(straight(), 1.5, steep).Bends())
	require.Empty(t, change(straight(), 1.5, func(r Result) bool { return steep(r) && r.Run == 2 }).Bends(), "one run has found it")
	require.Empty(t, change(straight(), 1.2, steep).Bends(), "that's little")
	alone := change(straight(), 1.5, steep)
	alone.Results = slices.DeleteFunc(alone.Results, func(r Result) bool { return r.Run == 2 })
	require.Empty(t, alone.Bends(), "there's one run only")
	require.Empty(t, change(straight(), 5, func(r Result) bool { return r.Objects == 10_000 }).Bends(), "below, the program itself decides")

	text, err := change(straight(), 1.5, steep).Section()
	require.NoError(t, err)
	require.Contains(t, text, "\n- our manager, pods, stream: all-sec is 1.50 times as much")
}

// Where the machine itself gets slow, a bend isn't the library's.
func TestTheMachinesOwnPartIsToldIfBothRunsMeasuredIt(t *testing.T) {
	touching := func(gigabytesOfRun ...int) Table {
		all := straight()
		for i, gigabytes := range gigabytesOfRun {
			for number := 1; number <= gigabytes; number++ {
				seconds := 0.25
				if number > 2 {
					seconds = 2
				}
				all.Results = append(all.Results, Result{Case{i + 1, Machine, "memory", 100_000, "touching"}, Gigabyte(number), seconds})
			}
		}
		return all
	}
	require.InDelta(t, 400_000, touching().Peak(), 0)
	require.Equal(t, &touched{Gigabytes: "4", Fastest: "250 ms", Slowest: "2.00 s", All: "4.50 s and 2.50 s"}, touching(4, 3).touched())
	require.Nil(t, touching(4).touched())
	require.Nil(t, touching().touched())

	text, err := touching(4, 4).Section()
	require.NoError(t, err)
	require.Contains(t, text, "touches 4 GB of memory")
	text, err = touching(4).Section()
	require.NoError(t, err)
	require.NotContains(t, text, "GB of memory")
}

func TestAPlotHasAllSidesAndTheLimit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	require.NoError(t, straight().Draw(dir))
	picture, err := os.ReadFile(filepath.Join(dir, "growth-start-pods.svg"))
	require.NoError(t, err)
	for _, want := range []string{"<svg", "for each object: Pods", ">100,000<", ">our manager<", ">client-go<", ">the limit<"} {
		require.Contains(t, string(picture), want)
	}
	text, err := straight().Section()
	require.NoError(t, err)
	for _, p := range allPlots() {
		require.Contains(t, text, "](plots/"+p.File+".svg)")
		require.FileExists(t, filepath.Join(dir, p.File+".svg"))
	}
}

func TestANumberHasThreeDigitsAndItsUnit(t *testing.T) {
	for want, of := range map[string]Result{
		"1.50 s": {Figure: "all-sec", Value: 1.5}, "12.3 ms": {Figure: "all-sec", Value: 0.0123}, "2.07 kB": {Figure: "object-B", Value: 2070},
		"120": {Figure: "catch-up-reconciles", Value: 120}, "1.01 M": {Figure: "catch-up-reconciles", Value: 1_010_000}, "0 s": {Figure: "longest-read-sec"},
	} {
		require.Equal(t, want, Number(of.Figure, of.Value))
	}
}
