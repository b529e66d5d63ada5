package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
)

// coda is the folder of a chapter with a second demo, for a chapter that closes
// a part of the book.
const coda = "coda"

// BuildDemo builds the demo of chapter number and returns the path of the
// binary. If number is 0, it is the newest chapter that is not a draft, and its coda
// if there is one. With mine, the learner's files stand in for the reference.
//
// It is built and then started by the caller, where `go run` would do both,
// because go run turns every exit code into 1 and stands between the demo and
// its signals.
func (r *Repo) BuildDemo(ctx context.Context, number int, mine bool, status io.Writer) (binary string, err error) {
	chapters, err := r.written()
	if err != nil {
		return "", err
	}
	newest := number == 0
	if newest {
		finished := slices.DeleteFunc(slices.Clone(chapters), func(c Chapter) bool { return c.Draft })
		if len(finished) == 0 {
			return "", fmt.Errorf("no chapter is written yet, so there is no demo to run")
		}
		number = finished[len(finished)-1].Number
	}
	c, err := r.find(chapters, number)
	if err != nil {
		return "", err
	}
	dir, name, what := c.Dir, path.Base(c.Dir), "demo"
	if newest && r.has(path.Join(c.Dir, coda, "main.go")) {
		dir, name, what = path.Join(c.Dir, coda), name+"-"+coda, coda
	}
	if c.Draft && !r.has(dir+"/main.go") {
		return "", fmt.Errorf("chapter %d, %q, is in progress: its part of the library stands, its demo is not written yet", c.Number, c.Title)
	}
	if !r.has(dir + "/main.go") {
		return "", fmt.Errorf("chapter %d has no demo: %s/main.go does not exist", c.Number, dir)
	}
	args := []string{"build"}
	if mine {
		overlay, added, err := r.learnersOverlay(c, status)
		if err == nil {
			overlay, err = overlay.underTheirNames(r)
		}
		if err != nil {
			return "", err
		}
		file, done, err := overlay.write(r, added)
		if err != nil {
			return "", err
		}
		defer done()
		name += "-mine"
		args = append(args, "-overlay="+file)
	}
	binary = r.Abs(path.Join(stateDir, "bin", name))
	if err := r.makeState(path.Join(stateDir, "bin")); err != nil {
		return "", err
	}
	if !isFile(binary) {
		fmt.Fprintf(status, "building the %s of chapter %d (the first time takes a minute or two)\n", what, c.Number)
	}
	if err := r.goRun(ctx, status, slices.Concat(args, []string{"-o", binary, "./" + dir})...); err != nil {
		return "", fmt.Errorf("building the %s of chapter %d: %w", what, c.Number, err)
	}
	return binary, nil
}

func (r *Repo) learnersOverlay(c Chapter, status io.Writer) (overlay Overlay, added map[string]string, err error) {
	overlay, added, untouched, err := r.Mine(c.Number)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range untouched {
		fmt.Fprintf(status, "not using %s: it is still the stub\n", e.Mine())
	}
	if len(overlay) == 0 {
		return nil, nil, fmt.Errorf("you have no solution for a chapter up to %d yet: `make exercise-1` starts the first exercise", c.Number)
	}
	for _, from := range sortedKeys(overlay) {
		if _, isNew := added[from]; isNew {
			fmt.Fprintf(status, "using your %s, too\n", overlay[from])
			continue
		}
		fmt.Fprintf(status, "using your %s in place of %s\n", overlay[from], from)
	}
	return overlay, added, nil
}
