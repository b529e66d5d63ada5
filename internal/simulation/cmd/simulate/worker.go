package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/loopwright/loopwright/internal/simulation"
)

// worker is a process that plays some days.
type worker struct {
	binary       string
	story        story
	first, count uint64
	only         string
	tries        int
	tells        bool
	record       string

	stderr bytes.Buffer
	output []string // what isn't a line for us
}

// day is what has become of one day.
type day struct {
	seed   uint64
	broken []string
	parts  []string
	tale   []string
}

var errStandstill = errors.New("the day doesn't end")

// standstill is how long a day may take: most take less than a second. With client-go's informers, a
// day may send 100 requests in each of its seconds (docs/hostile-network.md), and seed 718 of the
// originals' Endpoints takes four minutes.
func (s story) standstill() time.Duration {
	if s.isOriginal() {
		return 10 * time.Minute
	}
	return 2 * time.Minute
}

// run plays the days, and returns the last seed that began. A worker with one thread plays a seed
// almost always the same way.
func (w *worker) run(ctx context.Context, note func(day)) (last uint64, ok bool) {
	w.stderr.Reset()
	w.output = nil
	arguments := []string{
		"-test.run", "^" + w.story.test + "$", "-test.timeout", "0",
		fmt.Sprint("-simulation.first=", w.first), fmt.Sprint("-simulation.count=", w.count),
		"-simulation.only=" + w.only, fmt.Sprint("-simulation.tries=", max(1, w.tries)),
		fmt.Sprint("-simulation.tell=", w.tells), "-simulation.record=" + w.record,
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	watch := time.AfterFunc(w.story.standstill(), func() { kill(errStandstill) })
	defer watch.Stop()
	command := exec.CommandContext(ctx, w.binary, arguments...)
	command.Dir = w.story.pack
	// The heap of a day is small, so that the collector would run all the time.
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=512MiB")
	command.Stderr = &w.stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, false
	}
	if err := command.Start(); err != nil {
		w.stderr.WriteString(err.Error())
		return 0, false
	}
	var now *day
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := lines.Text()
		if seed, is := strings.CutPrefix(line, simulation.LineBegins); is {
			if now != nil {
				note(*now)
			}
			watch.Reset(w.story.standstill())
			now = &day{}
			now.seed, _ = strconv.ParseUint(seed, 10, 64)
			continue
		}
		if now == nil || !now.read(line) {
			w.output = append(w.output, line)
		}
	}
	err = command.Wait()
	switch {
	case now == nil, ctx.Err() != nil && context.Cause(ctx) != errStandstill:
		return 0, false
	case ctx.Err() != nil:
		now.broken = []string{"the day doesn't end: it has played for " + w.story.standstill().String()}
	case err != nil && len(now.broken) == 0 && w.hasDied():
		now.broken = []string{"the process has died: " + w.errors()}
	}
	note(*now)
	return now.seed, true
}

// read takes a line of a worker about the day.
func (d *day) read(line string) bool {
	if line == simulation.LineHolds {
		d.broken = nil // another try
		return true
	}
	if what, is := strings.CutPrefix(line, simulation.LineBroken); is {
		d.broken = append(d.broken, what)
		return true
	}
	if parts, is := strings.CutPrefix(line, simulation.LineParts); is {
		d.parts = strings.Split(parts, ",")
		return true
	}
	if told, is := strings.CutPrefix(line, simulation.LineTale); is {
		d.tale = append(d.tale, told)
		return true
	}
	return false
}

// hasDied reports whether the process ended by a panic: an ordinary test says FAIL.
func (w *worker) hasDied() bool {
	for _, line := range w.output {
		if strings.HasPrefix(line, "panic:") {
			return true
		}
	}
	return strings.Contains(w.stderr.String(), "panic:") ||
		strings.Contains(w.stderr.String(), "fatal error:")
}

// errors is what the process has said about its end.
func (w *worker) errors() string {
	text := strings.Join(w.output, "\n") + "\n" + w.stderr.String()
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return strings.TrimSpace(text)
}
