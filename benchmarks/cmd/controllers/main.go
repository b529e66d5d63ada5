// Command controllers plays scenarios with our controllers and with Kubernetes' own, each in an embedded cluster, and
// lists what differs.
//
//	go run ./cmd/controllers                      everything: what is written down, and 200 seeds
//	go run ./cmd/controllers -run quota -seeds 0  the scenarios whose names match
//	go run ./cmd/controllers -run 'seed 17$'      the scenario of a seed
//	go run ./cmd/controllers -self                the originals with themselves
//	go run ./cmd/controllers -mini -seeds 0       mini's controllers in the place of the library's
//	go run ./cmd/controllers -rest                mini's other controllers, which the library does not have
//	go run ./cmd/controllers -write               only writes docs/generated/controllers-compared.md and docs/generated/mini-compared.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/benchmarks/controllers"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/manager/log"
)

type options struct {
	match       string
	self, steps bool
	mini, rest  bool
	patience    time.Duration
	seeds       int
	atOnce      int
	limit       time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.match, "run", "", "which scenarios to play: a regular expression for their names")
	flag.IntVar(&o.seeds, "seeds", controllers.Seeds, "how many random scenarios there are")
	flag.BoolVar(&o.self, "self", false, "compare the originals with themselves")
	flag.BoolVar(&o.mini, "mini", false, "compare mini's controllers with the originals, in the place of the library's")
	flag.BoolVar(&o.rest, "rest", false, "compare mini's controllers that the library does not have")
	flag.DurationVar(&o.patience, "patience", controllers.Patience, "with -rest: how long both sides have to become the same")
	flag.BoolVar(&o.steps, "steps", false, "print the steps of the scenarios instead of playing them")
	flag.IntVar(&o.atOnce, "p", 8, "how many scenarios to play at once")
	flag.DurationVar(&o.limit, "limit", 40*time.Minute, "when to give up")
	write := flag.Bool("write", false, "write docs/generated/controllers-compared.md and docs/generated/mini-compared.md, and play nothing")
	flag.Parse()
	do := func() error { return run(o) }
	if *write {
		do = writePages
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

func writePages() error {
	pages, err := controllers.Pages()
	if err != nil {
		return err
	}
	for name, text := range pages {
		err = errors.Join(err, os.WriteFile(filepath.Join("..", "docs", "generated", name), []byte(text), 0o644))
	}
	return err
}

// chosen are the scenarios whose names match.
func (o options) chosen() ([]scenarios.Scenario, error) {
	name, err := regexp.Compile(o.match)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	all := scenarios.All(o.seeds)
	if o.rest {
		all = scenarios.Rest()
	}
	var list []scenarios.Scenario
	for _, one := range all {
		if name.MatchString(one.Name) {
			list = append(list, one)
		}
	}
	return list, nil
}

func run(o options) error {
	list, err := o.chosen()
	if err != nil {
		return err
	}
	if o.steps {
		for _, one := range list {
			fmt.Println(one.Name)
			for i, step := range one.Steps {
				fmt.Printf("  %d. %s\n", i+1, step.Text)
			}
		}
		return nil
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	log.SetLogger(logr.Discard()) // what fails shows in the comparison
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	begin := time.Now()
	ours, explain := controllers.Library, controllers.Explanations
	if o.mini {
		ours, explain = controllers.Mini, controllers.MiniExplanations
	}
	open := controllers.Open
	if o.rest {
		ours, explain, open = controllers.MiniRest, controllers.RestExplanations, controllers.OpenRest
	}
	if o.self {
		ours = nil
	}
	explanations, err := explain()
	if err != nil {
		return err
	}
	worlds, err := open(ctx, ours)
	if err != nil {
		return err
	}
	defer func() { _ = worlds.Close() }()
	worlds.NoEvents = o.mini
	summary := controllers.NewSummary(os.Stdout, len(list), explanations)
	everything := o.match == "" && !o.self && (o.rest || o.seeds >= controllers.Seeds)
	if o.rest {
		worlds.ConvergeAll(ctx, list, o.atOnce, o.patience, explanations, summary.Add)
	} else {
		worlds.All(ctx, list, o.atOnce, summary.Add)
	}
	return summary.End(time.Since(begin), everything)
}
