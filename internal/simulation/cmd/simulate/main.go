// Command simulate plays ten thousand bad days: `make simulate`. It compiles the tests that have a
// simulation.Story, plays their seeds in processes of one thread each, and shows a table. A seed that
// fails is shrunk to its shortest story.
//
//	seeds -> workers (the tests) -> lines -> table
//	a seed that fails -> shrink -> the parts that are needed -> story, recording
//
// Neighbours: below it is only the format of a worker's lines, in package simulation. So whose
// controllers a test plays makes no difference here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// story is a row of the table: the test that plays it, in a package of a module.
type story struct{ name, module, pack, test string }

var stories = []story{
	{"replicaset", ".", "./controllers/replicaset", "TestWhateverBreaksThePodsAreRight"},
	{"deployment", ".", "./controllers/deployment", "TestWhateverBreaksTheRolloutEnds"},
	{"endpoints", ".", "./controllers/endpoints", "TestWhateverBreaksTheEndpointsAreRight"},
	{"endpointslices", ".", "./controllers/endpoints", "TestWhateverBreaksTheSlicesAreRight"},
	{"elector", ".", "./manager/leaderelection", "TestWhateverBreaksOneReplicaLeads"},
	{"shards", ".", "./manager", "TestWhateverBreaksReplicasShareTheWork"},
	{"garbagecollector", ".", "./controllers/garbagecollector",
		"TestWhateverBreaksNothingWithALivingOwnerIsDeletedAndNoGarbageIsLeft"},
}

func (s story) isOriginal() bool { return s.module != "." }

func (s story) isMini() bool { return s.pack == "./internal/minis" }

// String returns the name in tables.
func (s story) String() string {
	if s.isOriginal() {
		return "Kubernetes' " + s.name
	}
	return s.name
}

// originals are the same stories, with Kubernetes' own controllers.
var originals = []story{
	{"replicaset", "benchmarks/originals", ".", "TestReplicaSet"},
	{"deployment", "benchmarks/originals", ".", "TestDeployment"},
	{"endpoints", "benchmarks/originals", ".", "TestEndpoints"},
	{"endpointslices", "benchmarks/originals", ".", "TestEndpointSlices"},
	{"garbagecollector", "benchmarks/originals", ".", "TestGarbageCollector"},
	{"elector", "benchmarks/originals", ".", "TestElector"},
	{"elector-kept-lease", "benchmarks/originals", ".", "TestElectorOfAKeptLease"},
}

// minis are the stories that mini's controllers play, or those that a learner wrote.
var minis = []story{
	{"replicaset", ".", "./internal/minis", "TestReplicaSet"},
	{"deployment", ".", "./internal/minis", "TestDeployment"},
}

type options struct {
	seeds    uint64
	seed     int64 // only this one, unless it's negative
	first    uint64
	only     string
	patience time.Duration // for shrinking
	workers  int
	dir      string
	enough   int // how many days have to fail until there's enough to read; 0: play all of them

	originals bool
	mini      bool
	mistakes  bool
	page      string // to write the originals' numbers into
	overlay   string // of the go command: a learner's files in the place of mini's
}

func main() {
	o := options{enough: 10}
	flags := flag.NewFlagSet("simulate", flag.ExitOnError) // the tests' are in flag.CommandLine
	controller := flags.String("controller", "", "play only this one's: "+names(stories))
	flags.BoolVar(&o.originals, "originals", false,
		"play Kubernetes' own controllers, too, and compare how often each promise is broken")
	flags.BoolVar(&o.mini, "mini", false, "play mini's controllers, and tell each day that they don't survive")
	flags.BoolVar(&o.mistakes, "mistakes", false,
		"break the library's controllers in one place at a time, and show the first seed that sees it")
	flags.StringVar(&o.page, "write", "",
		"put the days on which Kubernetes' own controllers broke a promise into the table of this page")
	flags.StringVar(&o.overlay, "overlay", "", "play them with the files of this overlay of the go command")
	flags.Uint64Var(&o.seeds, "seeds", 1000, "how many days to play for each controller")
	flags.Uint64Var(&o.first, "first", 0, "the first seed")
	flags.Int64Var(&o.seed, "seed", -1, "play only this day, and tell its shortest story if it fails")
	flags.StringVar(&o.only, "only", "", "play only these parts of the day, as the story says them")
	flags.DurationVar(&o.patience, "shrink", 2*time.Minute, "how long to look for the shortest story")
	flags.IntVar(&o.workers, "workers", runtime.NumCPU(), "how many processes play")
	flags.StringVar(&o.dir, "dir", ".loopwright/simulate", "where the tests and recordings go")
	_ = flags.Parse(os.Args[1:]) // it exits
	if err := o.check(flags.NArg()); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := o.run(ctx, *controller)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
	}
	if failed || err != nil {
		stop()
		os.Exit(1)
	}
}

// check refuses options that don't go together.
func (o options) check(besides int) error {
	switch {
	case besides > 0:
		return errors.New("it takes no arguments besides its flags")
	case o.mistakes && (o.originals || o.mini || o.overlay != "" || o.seed >= 0):
		return errors.New("-mistakes are the library's, and play seeds until one shows them: " +
			"leave out -originals, -mini, -overlay and -seed")
	case o.page != "" && (!o.originals || o.mini || o.seed >= 0 || o.first > 0 || o.only != ""):
		return errors.New("-write needs -originals and whole days from seed 0 on: " +
			"leave out -mini, -seed, -first and -only")
	}
	return nil
}

func names(of []story) string {
	var all []string
	for _, s := range of {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

// stories are those to choose from. A single day with the originals is without ours.
func (o options) stories() []story {
	switch {
	case o.mini:
		return minis
	case !o.originals:
		return stories
	case o.seed >= 0:
		return originals
	default:
		return slices.Concat(stories, originals)
	}
}

// run plays the stories, and reports whether a day failed.
func (o options) run(ctx context.Context, controller string) (failed bool, err error) {
	var chosen []story
	for _, s := range o.stories() {
		if controller == "" || controller == s.name {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return false, fmt.Errorf("no controller is called %q: there are %s", controller,
			names(o.stories()))
	}
	if o.mistakes {
		return false, o.makeMistakes(ctx, controller)
	}
	if o.originals { // a comparison counts all of them
		o.enough = 0
	}
	if o.seed >= 0 {
		if controller == "" {
			return false, errors.New("a seed is of one controller: give its name, too")
		}
		o.first, o.seeds = uint64(o.seed), 1
	}
	var table []row
	for _, s := range chosen {
		binary, err := o.compile(ctx, s)
		if err != nil {
			return false, err
		}
		row := o.play(ctx, s, binary)
		table = append(table, row)
		if err := ctx.Err(); err != nil {
			break
		}
		if row.failed() == 0 || s.isOriginal() && o.seed < 0 {
			continue
		}
		failed = true
		o.tell(ctx, s, binary, row)
	}
	printTable(table)
	switch {
	case o.page == "" || ctx.Err() != nil:
	case failed:
		err = fmt.Errorf("%s stays as it is, because the library's own controllers have failed", o.page)
	default:
		err = writeTable(o.page, table)
	}
	return failed, errors.Join(err, ctx.Err())
}

// compile compiles the test of a story.
func (o options) compile(ctx context.Context, s story) (binary string, err error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return "", fmt.Errorf("making a directory for the tests: %w", err)
	}
	binary, err = filepath.Abs(filepath.Join(o.dir, filepath.Base(s.module), s.name+o.whose()+".test"))
	if err != nil {
		return "", err
	}
	fmt.Printf("%s: compiling %s\n", s.name, s.pack)
	command := exec.CommandContext(ctx, "go", "-C", s.module, "test", "-c", "-vet=off",
		"-overlay="+o.overlay, "-o", binary, s.pack)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("compiling the tests of %s: %w", s.pack, err)
	}
	return binary, nil
}

// row is what has become of the days of a story.
type row struct {
	story  story
	played int
	took   time.Duration
	broken map[uint64][]string // by seed
}

func (r *row) failed() int { return len(r.broken) }

// each is how many seeds a worker plays at a time, so that the progress shows, and no process grows
// old.
const each = 25

// play plays the days of a story, and prints a line every five seconds.
func (o options) play(ctx context.Context, s story, binary string) row {
	r := row{story: s, broken: map[uint64][]string{}}
	begun := time.Now()
	var mu sync.Mutex // guards r and next
	next, end := o.first, o.first+o.seeds
	take := func() (first, count uint64) {
		mu.Lock()
		defer mu.Unlock()
		if o.enough > 0 && r.failed() >= o.enough {
			return 0, 0
		}
		first, count = next, min(each, end-next)
		next += count
		return first, count
	}
	note := func(d day) {
		mu.Lock()
		defer mu.Unlock()
		r.played++
		if len(d.broken) > 0 {
			r.broken[d.seed] = d.broken
		}
	}
	var workers sync.WaitGroup
	for range o.workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				first, count := take()
				if count == 0 {
					return
				}
				o.playSome(ctx, s, binary, first, count, note)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	ticks := time.NewTicker(5 * time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-done:
			r.took = time.Since(begun)
			return r
		case <-ticks.C:
			mu.Lock()
			perSecond := float64(r.played) / time.Since(begun).Seconds()
			left := "?"
			if perSecond > 0 {
				left = time.Duration(float64(o.seeds-uint64(r.played)) / perSecond *
					float64(time.Second)).Round(time.Second).String()
			}
			fmt.Printf("%s: %d of %d days, %d failed, %.1f days a second, %s left\n", s.name,
				r.played, o.seeds, r.failed(), perSecond, left)
			mu.Unlock()
		}
	}
}

// playSome plays some seeds. If one takes its process down, the next process goes on after it.
func (o options) playSome(
	ctx context.Context, s story, binary string, first, count uint64, note func(day),
) {
	for end := first + count; first < end && ctx.Err() == nil; {
		w := worker{binary: binary, story: s, first: first, count: end - first, only: o.only}
		last, ok := w.run(ctx, note)
		if ctx.Err() != nil { // it was stopped
			return
		}
		if !ok { // it doesn't even begin
			note(day{seed: first, broken: []string{"the test doesn't run: " + w.errors()}})
			last = first
		}
		first = last + 1
	}
}

// whose is the Makefile's variable that says whose controllers play, or "" for the library's.
func (o options) whose() string {
	switch {
	case o.overlay != "":
		return "MINE"
	case o.mini:
		return "MINI"
	case o.originals:
		return "ORIGINALS"
	}
	return ""
}

// tell says which days failed, and tells the story of the first, or of each if the controllers are a learner's.
func (o options) tell(ctx context.Context, s story, binary string, r row) {
	for _, seed := range r.seeds() {
		fmt.Printf("\n%s, seed %d:\n", s.name, seed)
		for _, what := range r.broken[seed] {
			fmt.Println("  " + what)
		}
		if s.isMini() || seed == r.first() {
			o.tellShortest(ctx, s, binary, seed, r.broken[seed])
		}
	}
}

// tellShortest shrinks a day, and tells its story.
func (o options) tellShortest(
	ctx context.Context, s story, binary string, seed uint64, broken []string,
) {
	fmt.Printf("\nshrinking seed %d, for %v at most\n", seed, o.patience)
	w := worker{
		binary: binary, story: s, first: seed, count: 1, only: o.only, tries: 3, tells: true,
		record: filepath.Join(filepath.Dir(binary), fmt.Sprintf("%s-%d.jsonl", s.name, seed)),
	}
	found := shrink(ctx, w, promiseOf(broken[0]), o.patience)
	found.print(s, seed, o.whose())
}
