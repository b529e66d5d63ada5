// Command throughput measures how many items a second go through the work queues,
// over the number of workers, and draws chapter 9's plot.
//
//	go run ./workqueue/cmd/throughput -measure ../chapters/09-priority-fairness
//
// measures, writes throughput.csv there, and draws throughput.svg from it. Without
// -measure it only draws.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/loopwright/loopwright/benchmarks/workqueue"
)

// titles are the queues in the plot, by their names in the benchmarks.
var titles = []struct{ name, title string }{
	{"ours", "Loopwright, plain"},
	{"ours-priority", "Loopwright, priority"},
	{"client-go", "client-go, plain"},
	{"controller-runtime", "controller-runtime, priority"},
}

var workers = []int{1, 2, 5, 10, 20, 50, 100}

const (
	items  = 200_000
	rounds = 9 // of which the median counts
)

func main() {
	log.SetFlags(0)
	again := flag.Bool("measure", false, "measure first; takes about a minute")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name the directory of throughput.csv and throughput.svg")
	}
	data := filepath.Join(flag.Arg(0), "throughput.csv")
	if *again {
		if err := measure(data); err != nil {
			log.Fatal(err)
		}
	}
	if err := draw(data, filepath.Join(flag.Arg(0), "throughput.svg")); err != nil {
		log.Fatal(err)
	}
}

func measure(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := csv.NewWriter(file)
	_ = out.Write([]string{"queue", "workers", "items_per_second"})
	// The rounds go over all queues and numbers, so that a disturbance of the
	// machine meets all of them alike.
	type place struct {
		queue   string
		workers int
	}
	took, keys := map[place][]time.Duration{}, workqueue.Requests(10_000)
	for range rounds {
		for _, n := range workers {
			for _, peer := range workqueue.Peers {
				if titleOf(peer.Name) == "" {
					continue
				}
				begin := time.Now()
				workqueue.Run(peer.Make(), keys, n, items)
				at := place{peer.Name, n}
				took[at] = append(took[at], time.Since(begin))
			}
		}
	}
	for _, t := range titles {
		for _, n := range workers {
			all := took[place{t.name, n}]
			slices.Sort(all)
			perSecond := items / all[rounds/2].Seconds()
			log.Printf("%3d workers  %-20s %10.0f items/s", n, t.name, perSecond)
			_ = out.Write([]string{t.name, strconv.Itoa(n), strconv.FormatFloat(perSecond, 'f', 0, 64)})
		}
	}
	out.Flush()
	return out.Error()
}

func titleOf(name string) string {
	for _, t := range titles {
		if t.name == name {
			return t.title
		}
	}
	return ""
}

func draw(data, path string) error {
	file, err := os.Open(data)
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return fmt.Errorf("reading %s: %w", data, err)
	}
	p := plot.New()
	p.Title.Text = "Throughput of work queues"
	p.X.Label.Text, p.Y.Label.Text = "workers", "million items a second"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks())
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	var lines []any
	for _, t := range titles {
		var points plotter.XYs
		for _, row := range rows[1:] {
			if row[0] == t.name {
				n, _ := strconv.ParseFloat(row[1], 64)
				perSecond, _ := strconv.ParseFloat(row[2], 64)
				points = append(points, plotter.XY{X: n, Y: perSecond / 1e6})
				p.Y.Max = max(p.Y.Max, perSecond/1e6*1.1)
			}
		}
		lines = append(lines, t.title, points)
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	p.Y.Min = 0
	p.Legend.Top = true // on the right, where all lines are low
	return p.Save(6.5*vg.Inch, 4*vg.Inch, path)
}

func ticks() (marks []plot.Tick) {
	for _, n := range workers {
		marks = append(marks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	return marks
}
