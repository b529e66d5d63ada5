package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/perf/benchfmt"
)

// workload is a benchmark that ours and at least one original can play.
type workload struct {
	subject  string // the package's directory: workqueue
	name     string // Workers/workers=10
	file     string // where its benchmark stands: workqueue/workers_test.go
	binary   string
	dir      string
	variants []string // last names: ours, ours-fair, client-go
}

// references are no libraries. They show what a machine, or a decoder, needs by itself.
var references = []string{"decoding", "no-store", "store"}

func isOurs(variant string) bool { return variant == "ours" || strings.HasPrefix(variant, "ours-") }

func isOriginal(variant string) bool {
	return !isOurs(variant) && variant != mini && !slices.Contains(references, variant)
}

type goPackage struct {
	Dir, Name                 string
	TestGoFiles, XTestGoFiles []string
}

// prepare compiles the test binary of each package, and runs each benchmark once to see its sub-benchmarks.
func prepare(ctx context.Context, s settings, dir string) ([]workload, error) {
	patterns := s.packages
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	list, err := output(ctx, ".", "go", append([]string{"list", "-json=Dir,Name,TestGoFiles,XTestGoFiles"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	match, err := regexp.Compile(strings.Split(s.bench, "/")[0])
	if err != nil {
		return nil, fmt.Errorf("-bench %q: %w", s.bench, err)
	}
	var all []workload
	for decoder := json.NewDecoder(strings.NewReader(list)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list says: %w", err)
		}
		if p.Name == "chapters" {
			continue // those are for make bench-N, which has a table of its own
		}
		found, err := workloadsOf(ctx, s, p, match, filepath.Join(dir, fmt.Sprint(len(all), "-", p.Name, ".test")))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no benchmark that matches %q has a sub-benchmark named ours beside an original", s.bench)
	}
	return all, nil
}

func workloadsOf(ctx context.Context, s settings, p goPackage, match *regexp.Regexp, binary string) ([]workload, error) {
	files, err := benchmarksIn(p)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), match.MatchString) {
		return nil, nil
	}
	fmt.Fprintf(os.Stderr, "Compiling the benchmarks of %s, and running each once\n", filepath.Base(p.Dir))
	if _, err := output(ctx, p.Dir, "go", "test", "-c", "-o", binary, "."); err != nil {
		return nil, err
	}
	listed, _, err := runBenchmarks(ctx, s, p.Dir, binary, s.bench, "1x")
	if err != nil {
		return nil, err
	}
	results, err := parse(listed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(p.Dir), err)
	}
	var found []workload
	for _, r := range results {
		name, variant := r.name, r.variant
		i := slices.IndexFunc(found, func(w workload) bool { return w.name == name })
		if i < 0 {
			top, _, _ := strings.Cut(name, "/")
			found = append(found, workload{subject: filepath.Base(p.Dir), name: name, binary: binary, dir: p.Dir,
				file: filepath.Base(p.Dir) + "/" + files["Benchmark"+top]})
			i = len(found) - 1
		}
		found[i].variants = append(found[i].variants, variant)
	}
	return slices.DeleteFunc(found, func(w workload) bool {
		return !slices.ContainsFunc(w.variants, isOurs) || !slices.ContainsFunc(w.variants, isOriginal)
	}), nil
}

// benchmarksIn returns the file of each benchmark of a package.
func benchmarksIn(p goPackage) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declared := range file.Decls {
			if function, is := declared.(*ast.FuncDecl); is && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Benchmark") {
				files[function.Name.Name] = name
			}
		}
	}
	return files, nil
}

// runBenchmarks runs those of a test binary that match, and returns what it prints. One that hangs is ended, and the error
// says where its goroutines are: -test.timeout is for tests only.
func runBenchmarks(ctx context.Context, s settings, dir, binary, bench, benchtime string) (string, *os.ProcessState, error) {
	args := []string{"-test.run=^$", "-test.bench=" + bench, "-test.benchtime=" + benchtime, "-test.benchmem", "-test.count=1"}
	if s.quick {
		args = append(args, "-test.short")
	}
	hangs := fmt.Errorf("it hasn't ended after %s (-limit)", s.limit)
	ctx, stop := context.WithTimeoutCause(ctx, s.limit, hangs)
	defer stop()
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir = dir
	command.Cancel = func() error {
		if context.Cause(ctx) == hangs {
			return command.Process.Signal(syscall.SIGQUIT)
		}
		return command.Process.Kill()
	}
	command.WaitDelay = 10 * time.Second
	var printed, wrong strings.Builder
	command.Stdout, command.Stderr = &printed, &wrong
	if err := command.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return "", nil, fmt.Errorf("`go test -run '^$' -bench '%s'` in %s: %w\n%s%s", bench, dir, err, printed.String(), wrong.String())
	}
	return printed.String(), command.ProcessState, nil
}

// output runs a command, and returns what it prints. Its error says what went wrong.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	var printed, wrong strings.Builder
	command.Stdout, command.Stderr = &printed, &wrong
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, printed.String(), wrong.String())
	}
	return printed.String(), nil
}

// result is what one variant of a workload measured in one round.
type result struct {
	name, variant string
	values        map[string]float64 // by unit
}

// parse reads what a test binary prints. Benchmarks without variants are left out.
func parse(printed string) ([]result, error) {
	var all []result
	reader := benchfmt.NewReader(strings.NewReader(printed), "benchmarks")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("line %d is no result of a benchmark, which may have printed or logged something in the middle of it: %w", record.Line, record)
		case *benchfmt.Result:
			base, parts := record.Name.Parts()
			name := string(base)
			var elements []string
			for _, part := range parts {
				if strings.HasPrefix(string(part), "/") { // and not -2, how many processors there were
					elements = append(elements, strings.TrimPrefix(string(part), "/"))
				}
			}
			if len(elements) == 0 {
				continue
			}
			last := len(elements) - 1
			r := result{name: strings.Join(append([]string{name}, elements[:last]...), "/"), variant: elements[last], values: map[string]float64{}}
			for _, v := range record.Values {
				unit, value := v.Unit, v.Value
				if before, after, is := strings.Cut(unit, "-ms"); is { // nanoseconds are seconds already, by benchfmt
					unit, value = before+"-sec"+after, value/1000
				}
				r.values[unit] = value
			}
			all = append(all, r)
		}
	}
	return all, reader.Err()
}
