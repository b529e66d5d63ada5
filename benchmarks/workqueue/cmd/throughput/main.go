// Command throughput measures how many items a second go through the work queues,
// over the number of workers, and draws the plot of its text.
//
//	go run ./workqueue/cmd/throughput -measure ../chapters/06-queue
//
// measures, writes throughput.csv there, and draws throughput.svg from it. Without
// -measure it only draws.
package main

import (
	"encoding/csv"
	"flag"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/loopwright/loopwright/benchmarks/workqueue"
)

// titles are the queues in the plot, by their names in the benchmarks, and the classes
// of their curves.
var titles = []struct{ name, title, class string }{
	{"ours", "Loopwright, plain", "fill1"},
	{"client-go", "client-go, plain", "fill2"},
	{"ours-priority", "Loopwright, priority", "fill1 dashed"},
	{"controller-runtime", "controller-runtime, priority", "fill2 dashed"},
}

var workerCounts = []int{1, 2, 5, 10, 20, 50, 100}

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
		for _, n := range workerCounts {
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
		for _, n := range workerCounts {
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
