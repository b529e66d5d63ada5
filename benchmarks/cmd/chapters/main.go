// Command chapters measures what a chapter builds, beside the library's and the original's, and prints a table: a row
// for each size, a column for each implementation.
//
//	go run ./cmd/chapters -chapter 6
//	go run ./cmd/chapters -chapter 6 -overlay FILE   # and mini with a learner's files, as "yours"
//	go run ./cmd/chapters -write ../chapters         # all chapters twice, and what both runs agree on goes into the texts
//
// go test -bench of ../chapters -> results -> table. `make bench-N` runs it through the course's command, which makes
// the overlay; `make bench-texts` has it write the tables that the chapters quote.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	chapter := flag.Int("chapter", 0, "the chapter's number")
	overlay := flag.String("overlay", "", "a file for go's -overlay, with a learner's files in the place of mini's")
	each := flag.Duration("each", 300_000_000, "for how long to measure each figure")
	write := flag.String("write", "", "the directory of the chapters: measure twice, and write what agrees to testdata/bench.txt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *write != "" {
		err = writeTexts(os.Stdout, *write, *chapter, func(chapter int) (*table, error) { return tableOf(ctx, chapter, each.String()) })
	} else {
		fmt.Fprintf(os.Stderr, "Measuring for %s each: less than a minute, and longer the first time, when it compiles the originals\n", *each)
		err = run(ctx, os.Stdout, *chapter, *overlay, each.String())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, chapter int, overlay, each string) error {
	t, err := tableOf(ctx, chapter, each)
	if err == nil && overlay != "" {
		var output []byte
		if output, err = measure(ctx, "^"+benchmark(chapter)+"$/.*/.*/^mini$", each, "-overlay="+overlay); err == nil {
			err = t.add(output, "yours")
		}
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, t.String())
	return err
}

func benchmark(chapter int) string { return fmt.Sprintf("Benchmark%02d", chapter) }

func tableOf(ctx context.Context, chapter int, each string) (*table, error) {
	var t table
	output, err := measure(ctx, "^"+benchmark(chapter)+"$", each)
	if err == nil {
		err = t.add(output, "")
	}
	if err == nil && len(t.questions) == 0 {
		err = fmt.Errorf("chapter %d has no benchmark yet; a %s in benchmarks/chapters would be one", chapter, benchmark(chapter))
	}
	return &t, err
}

// measure returns what go test prints.
func measure(ctx context.Context, which, each string, more ...string) ([]byte, error) {
	args := append([]string{"test", "-run=^$", "-vet=off", "-bench=" + which, "-benchtime=" + each, "-timeout=10m"}, more...)
	command := exec.CommandContext(ctx, "go", append(args, "./chapters")...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // so that its test ends, too
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	if err != nil {
		return nil, fmt.Errorf("measuring: %w\n%s", err, &output)
	}
	return output.Bytes(), nil
}
