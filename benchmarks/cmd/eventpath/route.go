package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// function is one that an event passes.
type function struct {
	file string // with the import path of its package
	line int
	name string
}

// count runs a program that has coverage counters, and returns the functions that ran in each of its tries.
func count(ctx context.Context, program, temp string, tries int) ([]function, error) {
	var dirs []string
	for i := range tries {
		dir := filepath.Join(temp, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	command := exec.CommandContext(ctx, program, dirs...)
	command.Env = append(os.Environ(), "GOCOVERDIR="+temp) // for the counters at the program's end, which nobody reads
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("running the program: %w\n%s", err, output)
	}
	var passed []function
	for i, dir := range dirs {
		output, err := exec.CommandContext(ctx, "go", "tool", "covdata", "func", "-i="+dir).Output()
		if err != nil {
			return nil, fmt.Errorf("go tool covdata: %w", err)
		}
		ran, err := parse(output)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			passed = ran
		} else {
			passed = slices.DeleteFunc(passed, func(f function) bool { return !slices.Contains(ran, f) })
		}
	}
	return passed, nil
}

// parse reads what covdata prints: for each function file:line:, name and per cent, and then the total.
func parse(output []byte) (ran []function, err error) {
	lines := bufio.NewScanner(bytes.NewReader(output))
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) != 3 || columns[2] == "0.0%" || columns[0] == "total" || filepath.IsAbs(columns[0]) {
			continue // it did not run, is no function, or is the program's own
		}
		place := strings.Split(columns[0], ":")
		if len(place) < 2 {
			return nil, fmt.Errorf("covdata printed %q", lines.Text())
		}
		line, err := strconv.Atoi(place[1])
		if err != nil {
			return nil, fmt.Errorf("covdata printed %q: %w", lines.Text(), err)
		}
		ran = append(ran, function{file: place[0], line: line, name: columns[1]})
	}
	return ran, lines.Err()
}

// route is the way of an event.
type route struct {
	functions int
	files     []fileOnRoute
}

// fileOnRoute is a file, and its functions on the way, in the order in which they stand in it.
type fileOnRoute struct {
	name      string
	functions []string
}

// newRoute orders functions by layers. Counters do not tell when a function ran; within a layer, the files are in
// the order of their names.
func newRoute(passed []function, layers []string) route {
	slices.SortFunc(passed, func(a, b function) int {
		return cmp.Or(
			cmp.Compare(layerOf(a.file, layers), layerOf(b.file, layers)),
			cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line),
		)
	})
	r := route{functions: len(passed)}
	for _, f := range passed {
		if n := len(r.files); n == 0 || r.files[n-1].name != f.file {
			r.files = append(r.files, fileOnRoute{name: f.file})
		}
		last := &r.files[len(r.files)-1]
		last.functions = append(last.functions, f.name)
	}
	return r
}

// layerOf is the index of the longest entry that the file's package begins with; those that are in none come last.
func layerOf(file string, layers []string) int {
	found, length := len(layers), 0
	for i, layer := range layers {
		if strings.HasPrefix(path.Dir(file)+"/", layer+"/") && len(layer) > length {
			found, length = i, len(layer)
		}
	}
	return found
}

func (r route) print(w io.Writer, title string) {
	fmt.Fprintf(w, "%s: %d functions in %d files\n", title, r.functions, len(r.files))
	for _, file := range r.files {
		fmt.Fprintf(w, "  %s: %s\n", file.name, strings.Join(file.functions, ", "))
	}
	fmt.Fprintln(w)
}
