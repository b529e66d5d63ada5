// Command shards measures replicas that share their work, and prints a table. It says on standard
// error what it's doing.
//
//	go run ./cmd/shards                              100,000 objects, which takes about 20 minutes
//	go run ./cmd/shards -objects 2000 -namespaces 50 a try, in 5 minutes
//	go run ./cmd/shards -write ../docs/sharding.md   put the table into the page
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loopwright/loopwright/benchmarks/shards"
)

func main() {
	shards.RunIfReplica()
	o := shards.Options{Log: os.Stderr}
	flag.IntVar(&o.Objects, "objects", 100_000, "how many objects there are")
	flag.IntVar(&o.Namespaces, "namespaces", 1000, "in how many namespaces")
	flag.DurationVar(&o.Work, "work", 10*time.Millisecond, "what a reconcile waits for")
	flag.DurationVar(&o.LeaseDuration, "lease", 15*time.Second, "the LeaseDuration; the other times are in proportion")
	flag.DurationVar(&o.Limit, "limit", 15*time.Minute, "how long each row may take")
	replicas := flag.String("replicas", "1,2,4", "how many replicas, one row each")
	write := flag.String("write", "", "a page to write the table into")
	flag.Parse()
	if err := run(o, *replicas, *write); err != nil {
		fmt.Fprintln(os.Stderr, "shards:", err)
		os.Exit(1)
	}
}

func run(o shards.Options, replicas, write string) error {
	for text := range strings.SplitSeq(replicas, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-replicas has %q: want numbers, with commas between", text)
		}
		o.Replicas = append(o.Replicas, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var rows []shards.Row
	err := shards.Measure(ctx, o, func(row shards.Row) {
		rows = append(rows, row)
		fmt.Fprint(os.Stderr, shards.Table(rows[len(rows)-1:]))
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n%d objects of 1 kB in %d namespaces; a reconcile waits %s, and each replica has 20 workers; "+
		"%d objects are changed. Measured on %d cores, %s.\n", shards.Table(rows), o.Objects, o.Namespaces, o.Work,
		rows[0].Changed, runtime.NumCPU(), time.Now().UTC().Format("2 January 2006"))
	fmt.Print(text)
	if write == "" {
		return nil
	}
	page, err := os.ReadFile(write)
	if err != nil {
		return err
	}
	replaced, err := shards.Replace(string(page), text)
	if err != nil {
		return err
	}
	return os.WriteFile(write, []byte(replaced), 0o644)
}
