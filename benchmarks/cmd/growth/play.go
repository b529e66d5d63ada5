package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/benchmarks/growth"
)

// Where the objects come from: all servers stream them (WatchList).
const (
	stream    = "stream"  // the server of this command
	onCluster = "cluster" // a real one
	noServer  = "queue"
)

// cases are those of a run, the sides of a workload one after the other. The second run has them the other way round, so that
// no side always comes first.
func cases(run int, sizes []int, servers ...string) (all []growth.Case) {
	for _, size := range sizes {
		for _, server := range servers {
			var ofSize []growth.Case
			add := func(form, side string) {
				ofSize = append(ofSize, growth.Case{Run: run, Server: server, Form: form, Objects: size, Side: side})
			}
			if server == noServer {
				for _, side := range queueSides {
					add("delayed", side.name)
				}
				add("delayed", growth.Map)
			} else {
				for _, f := range forms {
					for _, side := range sides {
						add(f.name, side.name)
					}
					if server == stream {
						add(f.name, growth.Limit)
					}
				}
			}
			if run%2 == 0 {
				slices.Reverse(ofSize)
			}
			all = append(all, ofSize...)
		}
	}
	return all
}

// play measures what hasn't been measured yet. A case that fails doesn't stop the others.
func play(ctx context.Context, s settings, out io.Writer) error {
	if s.again {
		if err := os.Remove(s.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	table, err := growth.Load(s.file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o755); err != nil {
		return err
	}
	p := &player{settings: s, table: table, out: out, began: time.Now()}
	for run := 1; run <= s.runs; run++ {
		p.all(ctx, cases(run, s.sizes, stream, noServer), p.inMemory)
		p.all(ctx, []growth.Case{p.machineCase(run)}, p.touch)
		if s.cluster {
			if err := p.onCluster(ctx, run); err != nil {
				p.failures = append(p.failures, fmt.Errorf("on a cluster: %w", err))
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, bend := range p.table.Bends() {
		fmt.Fprintln(out, "It bends upwards:", bend)
	}
	fmt.Fprintln(out, p.table.Agreement())
	if s.report != "" {
		p.failures = append(p.failures, p.write(ctx, s.report))
	}
	return errors.Join(p.failures...)
}

type player struct {
	settings
	table    growth.Table
	out      io.Writer
	began    time.Time
	failures []error
}

// all measures cases, unless they've been measured before.
func (p *player) all(ctx context.Context, cases []growth.Case, measure func(context.Context, growth.Case) ([]growth.Result, error)) {
	for i, c := range cases {
		if ctx.Err() != nil || !p.isOpen(c) {
			continue
		}
		if limit, outgrew := p.outgrew(c); outgrew {
			p.say(c, "fewer objects took more than %.1f GB", limit/1e9)
			continue
		}
		began := time.Now()
		p.say(c, "%d of %d cases", i+1, len(cases))
		limited, cancel := context.WithTimeoutCause(ctx, p.patience, fmt.Errorf("it took more than %s", p.patience))
		results, err := measure(limited, c)
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			err = errors.Join(context.Cause(limited), err)
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.failures = append(p.failures, fmt.Errorf("%s: %w", c, err))
			p.say(c, "failed: %v", err)
			continue
		}
		p.say(c, "%s", summary(results))
		p.table.Results = append(p.table.Results, results...)
		p.table.Results = append(p.table.Results, growth.Result{Case: c, Figure: growth.Took, Value: time.Since(began).Seconds()})
		if err := p.table.Save(p.file); err != nil {
			p.failures = append(p.failures, err)
			return
		}
	}
}

// isOpen reports whether a case is wanted, and wasn't measured before.
func (p *player) isOpen(c growth.Case) bool {
	_, done := p.table.Value(c, growth.Took)
	return !done && p.match.MatchString(fmt.Sprint(c.Server, " ", c.Form, " ", c.Objects, " ", c.Side))
}

// outgrew reports whether the same with fewer objects took too much memory.
func (p *player) outgrew(c growth.Case) (limit float64, is bool) {
	for _, r := range p.table.Results {
		smaller := r.Case
		smaller.Objects = c.Objects
		if r.Figure == growth.Outgrew && r.Objects < c.Objects && smaller == c {
			return r.Value, true
		}
	}
	return 0, false
}

func (p *player) say(c growth.Case, format string, arguments ...any) {
	fmt.Fprintf(p.out, "%8s  %s: %s\n", time.Since(p.began).Round(time.Second), c, fmt.Sprintf(format, arguments...))
}

// summary has the figures that show whether all is well.
func summary(results []growth.Result) string {
	var text []string
	for _, r := range results {
		if slices.Contains([]string{"first-sec", "all-sec", "peak-rss-B", "catch-up-sec", "catch-up-peak-rss-B", "longest-read-sec", "add-sec", "fire-sec"}, r.Figure) {
			text = append(text, strings.TrimSuffix(strings.TrimSuffix(r.Figure, "-sec"), "-rss-B")+" "+growth.Number(r.Figure, r.Value))
		}
	}
	return strings.Join(text, ", ")
}

// inMemory measures a case with the server of this command.
func (p *player) inMemory(ctx context.Context, c growth.Case) (results []growth.Result, err error) {
	objects := strconv.Itoa(c.Objects)
	if c.Side == growth.Map {
		return p.process(ctx, c, "-part", "map", "-objects", objects)
	}
	if c.Server == noServer {
		return p.process(ctx, c, "-part", "queue", "-side", c.Side, "-objects", objects)
	}
	f := named(forms, c.Form, func(f form) string { return f.name })
	server, stop, err := startServer(ctx, f, c.Objects)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	part := "measure"
	if c.Side == growth.Limit {
		part = "decode"
	}
	return p.process(ctx, c, "-part", part, "-side", c.Side, "-form", f.name, "-objects", objects, "-server", server,
		"-profile", p.profileOf(c))
}

// profileOf is what the names of a case's profiles begin with.
func (p *player) profileOf(c growth.Case) string {
	if p.profile == "" {
		return ""
	}
	return filepath.Join(p.profile, strings.ReplaceAll(fmt.Sprint(c.Server, "-", c.Form, "-", c.Objects, "-", c.Side, "-", c.Run), " ", "-"))
}

// process runs this command as the process that's measured, and collects what it tells.
func (p *player) process(ctx context.Context, c growth.Case, arguments ...string) (results []growth.Result, err error) {
	command, end, err := self(ctx, arguments...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = end.Close() }() // not before: it's what keeps the process alive
	printed, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	g := p.guard(c, command)
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		var figures map[string]float64
		if err := json.Unmarshal(lines.Bytes(), &figures); err != nil {
			return nil, errors.Join(fmt.Errorf("%q is no figure: %w", lines.Text(), err), command.Process.Kill(), command.Wait(), g.stop())
		}
		for figure, value := range figures {
			results = append(results, growth.Result{Case: c, Figure: figure, Value: value})
		}
	}
	err = command.Wait()
	if ended := g.stop(); ended != nil {
		p.say(c, "ended: %v", ended)
		return append(results, growth.Result{Case: c, Figure: growth.Outgrew, Value: g.limit}), nil
	}
	return results, err
}

// guard says every twenty seconds that a process still runs, and ends it if it takes too much memory.
type guard struct {
	limit float64
	end   chan struct{} // closed by stop
	done  sync.WaitGroup
	ended error
}

func (p *player) guard(c growth.Case, command *exec.Cmd) *guard {
	g := &guard{limit: p.memory, end: make(chan struct{})}
	if g.limit == 0 {
		g.limit = freeMemory() * 0.9
	}
	process := strconv.Itoa(command.Process.Pid)
	g.done.Go(func() {
		for began, said := time.Now(), 0; ; time.Sleep(200 * time.Millisecond) {
			select {
			case <-g.end:
				return
			default:
			}
			has := memoryOf(process, "VmRSS")
			if g.limit > 0 && has > g.limit {
				g.ended = errors.Join(fmt.Errorf("it took more than %.1f GB", g.limit/1e9), command.Process.Kill())
				return
			}
			if periods := int(time.Since(began) / (20 * time.Second)); periods > said {
				said = periods
				p.say(c, "for %d s, %.2f GB", said*20, has/1e9)
			}
		}
	})
	return g
}

func (g *guard) stop() error {
	close(g.end)
	g.done.Wait()
	return g.ended
}

// freeMemory is what Linux could give to a process; 0 on other systems.
func freeMemory() float64 { return kilobytes("/proc/meminfo", "MemAvailable") }
