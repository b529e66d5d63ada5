package course

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/internal/course/gotest"
	"github.com/loopwright/loopwright/internal/course/splice"
)

// selector is the environment variable that says which solution a test binary
// runs.
const selector = "LOOPWRIGHT_SOLUTION"

// batch judges many solutions of one exercise with one test binary, in
// which a solution is selected at run time: to compile and link
// takes far longer than to run the tests of a pure core.
type batch struct {
	n         *runner
	e         Exercise
	all       []solution // patches of the reference
	binary    string     // of the tests; empty if it does not build
	test2json string

	reference gotest.Failure // its verdict in the binary

	built, ran time.Duration // where the time went; ran is the wall clock
	alone      []string      // which had to be compiled on their own, and why
}

// judge returns the verdicts in the order of the solutions.
//
// Whatever this way cannot decide is compiled on its own and run by go test:
// patches that cannot be selected, all of them if the binary does not build or
// the reference does not pass in it, and those that pass. So a verdict against
// an exercise never rests on the short cut.
func (b *batch) judge(ctx context.Context) ([]gotest.Failure, error) {
	verdicts, apart, err := b.together(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	for i, s := range b.all {
		if decided(verdicts[i]) {
			continue
		}
		b.alone = append(b.alone, fmt.Sprintf("%s (%s)", path.Base(s.file), cmp.Or(apart[i], "it "+string(verdicts[i].Status))))
		if verdicts[i], err = b.n.run(ctx, b.e, s); err != nil {
			return nil, err
		}
	}
	b.ran += time.Since(begin)
	return verdicts, nil
}

// decided reports whether a verdict of one binary for all solutions needs no second opinion.
func decided(f gotest.Failure) bool {
	return f.Status != gotest.Passed && f.Status != gotest.Broken && f.Status != gotest.NoTests
}

// together returns the verdicts that one binary for all solutions gives, and why some are not in it.
func (b *batch) together(ctx context.Context) (verdicts []gotest.Failure, apart map[int]string, err error) {
	verdicts = make([]gotest.Failure, len(b.all))
	for i := range verdicts {
		verdicts[i].Status = gotest.Broken // not decided yet
	}
	begin := time.Now()
	apart, err = b.build(ctx)
	b.built = time.Since(begin)
	if err != nil || b.binary == "" {
		return verdicts, apart, err
	}
	begin = time.Now()
	defer func() { b.ran = time.Since(begin) }()
	b.reference, err = b.run(ctx, 0)
	if err == nil && b.reference.Status == gotest.Passed {
		err = b.runAll(ctx, apart, verdicts)
	}
	return verdicts, apart, err
}

// build makes the binary, if it can be built.
func (b *batch) build(ctx context.Context) (apart map[int]string, err error) {
	base, err := b.n.repo.parse(b.e.reference())
	if err != nil {
		return nil, err
	}
	patches := make([]*splice.File, len(b.all))
	for i, s := range b.all {
		patches[i] = s.patch
	}
	text, apart, err := splice.Dispatch(base, patches, selector)
	if err != nil || len(apart) == len(patches) {
		return apart, nil
	}
	dir := path.Join(stateDir, "spliced", b.e.Name)
	file := path.Join(dir, "all.go")
	if err := b.n.repo.writeState(file, text); err != nil {
		return nil, err
	}
	overlay, err := b.n.repo.overlay(b.e, nil)
	if err != nil {
		return nil, fmt.Errorf("exercise %s: %w", b.e.ID(), err)
	}
	overlay[b.e.Replaces] = file
	overlayFile, done, err := overlay.write(b.n.repo, b.e.more)
	if err != nil {
		return nil, fmt.Errorf("exercise %s: %w", b.e.ID(), err)
	}
	defer done()
	tool, err := b.n.repo.goOutput(ctx, "tool", "-n", "test2json")
	if err != nil {
		return nil, fmt.Errorf("looking for test2json: %w", err)
	}
	b.test2json = strings.TrimSpace(string(tool))
	// It has the name that go test gives it: a client tells the server the name of its program.
	binary := b.n.repo.Abs(path.Join(dir, path.Base(miniPackage)+".test"))
	// Without symbol tables, and what a debugger wants to know, it's made in half the time; stack traces need none of
	// that.
	args := []string{"test", "-c", "-ldflags=-s -w", "-gcflags=-dwarf=false", "-overlay=" + overlayFile, "-o", binary}
	if b.e.Race && b.n.raceOK {
		args = append(args, "-race")
	}
	_, err = b.n.repo.goOutput(ctx, append(args, miniPackage)...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && isFile(binary) { // else compiling them one by one shows which one it is
		b.binary = binary
	}
	return apart, nil
}

// runAll runs all that can be selected, as many at a time as there are
// processors.
func (b *batch) runAll(ctx context.Context, apart map[int]string, verdicts []gotest.Failure) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int) // from this goroutine to the workers; closed by it
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				f, err := b.run(ctx, i+1)
				if err != nil {
					cancel(err)
					continue
				}
				verdicts[i] = f
			}
		})
	}
	for i := range b.all {
		if _, alone := apart[i]; !alone {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// run runs one version of the reference; number 0 is the reference itself.
func (b *batch) run(ctx context.Context, number int) (gotest.Failure, error) {
	var s solution
	if number > 0 {
		s = b.all[number-1]
	}
	ctx, cancelTimeout := context.WithTimeout(ctx, compileTimeout)
	defer cancelTimeout()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	args := []string{"-p", path.Join(b.n.repo.Module, miniDir), "-t", b.binary,
		"-test.v=test2json", "-test.paniconexit0", "-test.short", "-test.count=1", "-test.failfast=" + strconv.FormatBool(b.n.stopsAtFirst(b.e, s)),
		"-test.timeout=" + b.n.limit(s).String(), "-test.run=" + s.run(b.e)}
	cmd := b.n.repo.command(ctx, b.test2json, args...)
	cmd.Dir = b.n.repo.Abs(miniDir)
	cmd.Env = append(cmd.Env, "PWD="+cmd.Dir, selector+"="+strconv.Itoa(number))
	log, runErr, err := collect(ctx, cmd, cancel)
	if errors.Is(err, errFlood) {
		return gotest.Failure{Status: gotest.Flooding}, nil
	}
	if err != nil {
		return gotest.Failure{}, err
	}
	if runErr != nil {
		log.Finish()
	}
	f := gotest.Judge(log, []string{miniPackage}, s.places(b.e))
	if f.Status == gotest.Passed && runErr != nil {
		f = gotest.Failure{Status: gotest.Broken, Detail: strings.TrimSpace(log.Other + runErr.Error())}
	}
	return f, nil
}
