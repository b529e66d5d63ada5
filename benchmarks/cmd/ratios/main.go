// Command ratios compares this library with the originals: it runs the benchmarks
// of this module, or reads their output, and prints how many times as fast, as
// lean and as frugal ours is.
//
// A benchmark belongs to the table if it has a sub-benchmark named ours. Its
// siblings are the peers.
//
//	go run ./cmd/ratios                    runs all benchmarks of the module
//	go run ./cmd/ratios -bench Store ./informer
//	go test -bench . -benchmem ./... | go run ./cmd/ratios -read
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	bench := flag.String("bench", ".", "which benchmarks to run, as for go test")
	benchtime := flag.String("benchtime", "1s", "how long each runs, as for go test")
	count := flag.Int("count", 1, "how often each runs; the median counts")
	read := flag.Bool("read", false, "read the output of go test -bench from the standard input")
	flag.Parse()
	if err := run(*read, *bench, *benchtime, *count, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func run(read bool, bench, benchtime string, count int, packages []string) error {
	if read {
		results, err := parse(os.Stdin)
		if err != nil {
			return err
		}
		return show(os.Stdout, results)
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	arguments := append([]string{"test", "-run", "^$", "-bench", bench, "-benchtime", benchtime, "-count", fmt.Sprint(count), "-benchmem", "-timeout", "1h"}, packages...)
	command := exec.Command("go", arguments...)
	var output strings.Builder
	command.Stdout = io.MultiWriter(os.Stderr, &output) // so that one sees it work
	command.Stderr = os.Stderr
	failure := command.Run()
	results, err := parse(strings.NewReader(output.String()))
	if err != nil {
		return err
	}
	if err := show(os.Stdout, results); err != nil {
		return err
	}
	if failure != nil {
		return fmt.Errorf("go %s: %w", strings.Join(arguments, " "), failure)
	}
	return nil
}
