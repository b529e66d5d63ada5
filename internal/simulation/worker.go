package simulation

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loopwright/loopwright/trace"
)

// A worker is a process of a test that plays seeds for `make simulate`. A seed that panics, or that
// comes to a standstill, takes the whole process with it, so the command starts the next one.
var (
	first = flag.Uint64("simulation.first", 0, "the first seed to play")
	count = flag.Uint64("simulation.count", 0, "how many seeds to play; 0: be an ordinary test")
	only  = flag.String("simulation.only", "",
		"the parts of the day to play, as in m3,u3,t3: mishap, user and time of step 3")
	tries = flag.Int("simulation.tries", 1,
		"how often to play a seed until it fails: it doesn't fix the order of goroutines")
	tell   = flag.Bool("simulation.tell", false, "print the tale of each seed that fails")
	record = flag.String("simulation.record", "", "write the flight recorder of a seed that fails")
)

// Lines of a worker begin with these words. The first is followed by the seed, the others belong to
// the last seed.
const (
	LineBegins = "simulation begins: "
	LineHolds  = "simulation holds"
	LineBroken = "simulation broken: "
	LineParts  = "simulation parts: "
	LineTale   = "simulation tale: "
)

// IsWorker reports whether this process plays seeds for `make simulate`.
func IsWorker() bool { return *count > 0 }

// work plays seeds, and reports each.
func (s Story) work(t *testing.T) {
	for seed := *first; seed < *first+*count; seed++ {
		fmt.Printf("%s%d\n", LineBegins, seed)
		for range *tries {
			if s.reports(t, seed) {
				break
			}
		}
	}
}

// reports plays a seed once, and reports whether it fails.
func (s Story) reports(t *testing.T, seed uint64) (fails bool) {
	var calm, wild ending
	var broken []Broken
	counts := map[string]int{}
	passes := t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
		calm, wild = s.playTwice(t, seed, keep(*only), counts)
	})
	if broken = verdict(calm, wild); !passes {
		broken = append(broken, Broken{Promise: SameEnd, What: "the test failed, see below"})
	}
	if len(broken) == 0 {
		fmt.Println(LineHolds)
		return false
	}
	for _, b := range broken {
		fmt.Println(LineBroken + strings.ReplaceAll(b.String(), "\n", " "))
	}
	fmt.Println(LineParts + strings.Join(s.day(seed).parts(), ","))
	if err := writeRecording(broken); err != nil {
		t.Error(err)
	}
	if *tell {
		for line := range strings.SplitSeq(taleOf(calm, wild), "\n") {
			fmt.Println(LineTale + line)
		}
	}
	return true
}

// recorded is the flight recorder of the last wild World.
var recorded *trace.Recorder

// recording returns a flight recorder if one was wanted.
func recording() *trace.Recorder {
	if *record == "" {
		return nil
	}
	recorded = trace.New(1 << 16)
	return recorded
}

func writeRecording(broken []Broken) error {
	if recorded == nil {
		return nil
	}
	for _, b := range broken {
		recorded.Record(trace.Event{Kind: trace.Note, Layer: "judge", Reason: b.String()})
	}
	file, err := os.Create(*record)
	if err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	defer file.Close()
	return trace.WriteRecording(file, recorded)
}
