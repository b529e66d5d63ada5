// Command controllers plays scenarios with our controllers and with Kubernetes' own, each in an embedded cluster, and
// lists what differs.
//
//	go run ./cmd/controllers                      everything: what is written down, and 200 seeds
//	go run ./cmd/controllers -run quota -seeds 0  the scenarios whose names match
//	go run ./cmd/controllers -self                the originals with themselves, which must not differ
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/benchmarks/controllers"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/manager/log"
)

func main() {
	match := flag.String("run", ".", "which scenarios to play: a regular expression for their names")
	seeds := flag.Int("seeds", 200, "how many random scenarios to play")
	self := flag.Bool("self", false, "compare the originals with themselves")
	atOnce := flag.Int("p", 6, "how many scenarios to play at once")
	limit := flag.Duration("limit", 40*time.Minute, "when to give up")
	verbose := flag.Bool("v", false, "say of each scenario that it is being played")
	flag.Parse()
	if err := run(*match, *seeds, *self, *atOnce, *limit, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

func run(match string, seeds int, self bool, atOnce int, limit time.Duration, verbose bool) error {
	name, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	log.SetLogger(logr.Discard()) // what fails shows in the comparison
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	list := slices.DeleteFunc(scenarios.Written(), func(s scenarios.Scenario) bool { return !name.MatchString(s.Name) })
	for seed := range seeds {
		if one := scenarios.Random(uint64(seed)); name.MatchString(one.Name) {
			list = append(list, one)
		}
	}
	begin := time.Now()
	worlds, err := controllers.Open(ctx, self)
	if err != nil {
		return err
	}
	defer func() { _ = worlds.Close() }()
	summary := controllers.NewSummary(os.Stdout, len(list))
	worlds.All(ctx, list, atOnce, summary.Add)
	return summary.End(time.Since(begin))
}
