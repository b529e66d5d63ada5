package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// Play runs a chapter's program: the naive one, or with mine, on the learner's files.
func (r *Repo) Play(ctx context.Context, c Chapter, naive, mine bool, status io.Writer) (exitCode int, err error) {
	dir := c.Dir
	if naive {
		dir += "/naive"
	}
	return r.play(ctx, dir, c.Number, mine, status)
}

// PlayControllers runs all controllers of mini on the cluster of $KUBECONFIG.
func (r *Repo) PlayControllers(ctx context.Context, mine bool, status io.Writer) (exitCode int, err error) {
	return r.play(ctx, "mini/cmd/mini", len(r.Order), mine, status)
}

// PlayDemo shows mini's controllers at work: those of Deployments, or all.
func (r *Repo) PlayDemo(ctx context.Context, all, mine bool, status io.Writer) (exitCode int, err error) {
	program := "mini/cmd/demo"
	if all {
		program += "all"
	}
	return r.play(ctx, program, len(r.Order), mine, status)
}

// play builds a program on mini's files, of which those up to a chapter may be the learner's,
// and runs it.
//
// `go run` would do both, but it turns every exit code into 1, and stands between the program
// and its signals.
func (r *Repo) play(ctx context.Context, dir string, number int, mine bool, status io.Writer) (exitCode int, err error) {
	if !r.has(path.Join(dir, "main.go")) {
		return 0, fmt.Errorf("%s has no program", dir)
	}
	name := path.Join(stateDir, "bin", strings.ReplaceAll(dir, "/", "-"))
	args := []string{"build"}
	if mine {
		overlay, added, err := r.learnersMini(number, status)
		if err != nil {
			return 0, err
		}
		file, done, err := overlay.write(r, added)
		if err != nil {
			return 0, err
		}
		defer done()
		name += "-mine"
		args = append(args, "-overlay="+file)
	}
	if err := r.makeState(path.Dir(name)); err != nil {
		return 0, err
	}
	r.announce(status, "building the program; the first time takes a minute or two\n", func() {
		err = r.goRun(ctx, status, append(args, "-o", r.Abs(name), "./"+dir)...)
	})
	if err != nil {
		return 0, fmt.Errorf("building %s: %w", dir, err)
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return r.run(r.Abs(name), number)
}

// learnersMini puts the learner's files up to a chapter in the place of mini's, and says which. A
// file that is still the stub is left out. added are the files that replace nothing.
func (r *Repo) learnersMini(number int, status io.Writer) (overlay Overlay, added map[string]string, err error) {
	exercises, err := r.allExercises()
	if err != nil {
		return nil, nil, err
	}
	overlay, added = Overlay{}, map[string]string{}
	for _, e := range exercises {
		if e.Number > number || !r.has(e.Mine()) {
			continue
		}
		same, err := r.untouched(e)
		if err != nil {
			return nil, nil, err
		}
		if same {
			fmt.Fprintf(status, "not using %s: it is still the stub\n", e.Mine())
			continue
		}
		fmt.Fprintf(status, "using your %s\n", e.Mine())
		overlay[e.Replaces] = e.Mine()
		extra, err := r.extraFiles(myDir, e)
		if err != nil {
			return nil, nil, err
		}
		for to, from := range extra {
			if other, taken := added[to]; taken {
				return nil, nil, fmt.Errorf("%s and %s would both be %s: give one of them another name", other, from, to)
			}
			overlay[to], added[to] = from, from
		}
	}
	if len(overlay) == 0 {
		return nil, nil, fmt.Errorf("none of the files up to chapter %d is yours yet: `make exercise-%d` begins one", number, number)
	}
	overlay, err = overlay.underTheirNames(r)
	return overlay, added, err
}
