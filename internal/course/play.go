package course

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strconv"
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

// PlayBug runs a chapter's program on the file with the planted mistake. It doesn't explain a crash: to read
// it is part of the hunt.
func (r *Repo) PlayBug(ctx context.Context, c Chapter, status io.Writer) (exitCode int, err error) {
	e, err := r.FindExercise(fmt.Sprint(c.Number))
	if err != nil {
		return 0, err
	}
	if e = e.hunted(); !r.has(e.Mine()) {
		return 0, fmt.Errorf("there is no %s: `make bug-%d` plants a mistake", e.Mine(), e.Number)
	}
	overlay, added := Overlay{}, Overlay{}
	if err := r.putInPlace(e, overlay, added, status); err != nil {
		return 0, err
	}
	if overlay, err = overlay.underTheirNames(r); err != nil {
		return 0, err
	}
	code, _, err := r.playOn(ctx, c.Dir, overlay, added, status)
	return code, err
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

// play runs a program on mini's files, of which those up to a chapter may be the learner's. It explains
// a crash in these as a failed test is explained.
func (r *Repo) play(ctx context.Context, dir string, number int, mine bool, status io.Writer) (exitCode int, err error) {
	var overlay Overlay
	var added map[string]string
	if mine {
		if overlay, added, err = r.learnersMini(number, status); err != nil {
			return 0, err
		}
	}
	code, said, err := r.playOn(ctx, dir, overlay, added, status)
	if err != nil || code == 0 {
		return code, err
	}
	text, err := r.explainCrash(number, said)
	fmt.Fprint(status, text)
	return code, err
}

// playOn builds a program with some files in the place of mini's, and runs it.
//
// `go run` would do both, but it turns every exit code into 1, and stands between the program
// and its signals.
func (r *Repo) playOn(ctx context.Context, dir string, overlay Overlay, added map[string]string, status io.Writer) (exitCode int, said string, err error) {
	if !r.has(path.Join(dir, "main.go")) {
		return 0, "", fmt.Errorf("%s has no program", dir)
	}
	name := path.Join(stateDir, "bin", strings.ReplaceAll(dir, "/", "-"))
	args := []string{"build"}
	if len(overlay) > 0 {
		file, done, err := overlay.write(r, added)
		if err != nil {
			return 0, "", err
		}
		defer done()
		name += "-mine"
		args = append(args, "-overlay="+file)
	}
	if err := r.makeState(path.Dir(name)); err != nil {
		return 0, "", err
	}
	r.announce(status, "building the program; the first time takes a minute or two\n", func() {
		err = r.goRun(ctx, status, append(args, "-o", r.Abs(name), "./"+dir)...)
	})
	if err != nil {
		return 0, "", fmt.Errorf("building %s: %w", dir, err)
	}
	if ctx.Err() != nil {
		return 0, "", context.Cause(ctx)
	}
	return r.run(r.Abs(name))
}

// Bench measures what a chapter builds, beside the library's and the originals'; with mine, the learner's, too.
func (r *Repo) Bench(ctx context.Context, c Chapter, mine bool, status io.Writer) (exitCode int, err error) {
	args := []string{"-C", "benchmarks", "run", "./cmd/chapters", "-chapter", strconv.Itoa(c.Number)}
	return r.goRunOnMini(ctx, args, c.Number, mine, status)
}

// examined are the files that the exam is about.
var examined = []string{"mini/replicaset.go", "mini/deployment.go"}

// Exam plays bad days with mini's ReplicaSets and Deployments; with mine, with the learner's files, which must be
// at least one of these two.
func (r *Repo) Exam(ctx context.Context, flags []string, mine bool, status io.Writer) (exitCode int, err error) {
	if mine {
		if err := r.canBeExamined(); err != nil {
			return 0, err
		}
	}
	args := append([]string{"run", "./internal/simulation/cmd/simulate", "-mini"}, flags...)
	return r.goRunOnMini(ctx, args, len(r.Order), mine, status)
}

func (r *Repo) canBeExamined() error {
	exercises, err := r.allExercises()
	if err != nil {
		return err
	}
	var missing []string
	for _, e := range exercises {
		if !slices.Contains(examined, e.Replaces) {
			continue
		}
		if r.has(e.Mine()) {
			return nil
		}
		missing = append(missing, fmt.Sprintf("`make exercise-%d` begins %s", e.Number, e.Mine()))
	}
	return fmt.Errorf("the exam is about your ReplicaSet and your Deployment, and you have neither yet: %s; `make simulate MINI=1` plays mini's", strings.Join(missing, ", "))
}

// goRunOnMini runs a command that compiles mini itself. With mine, the command's flag -overlay says which of the
// files up to a chapter are the learner's.
func (r *Repo) goRunOnMini(ctx context.Context, args []string, number int, mine bool, status io.Writer) (exitCode int, err error) {
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
		args = append(args, "-overlay", file)
	}
	err = r.goRun(ctx, status, args...)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil // it has said why
	}
	return 0, err
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
		if err := r.putInPlace(e, overlay, added, status); err != nil {
			return nil, nil, err
		}
	}
	if len(overlay) == 0 {
		return nil, nil, fmt.Errorf("none of the files up to chapter %d is yours yet: `make exercise-%d` begins one", number, number)
	}
	overlay, err = overlay.underTheirNames(r)
	return overlay, added, err
}

// putInPlace puts the learner's files of an exercise in the place of mini's, and says so.
func (r *Repo) putInPlace(e Exercise, overlay Overlay, added map[string]string, status io.Writer) error {
	given, err := r.isReference(e.Mine(), e)
	if err != nil {
		return err
	}
	if given {
		fmt.Fprintf(status, "using %s: it is the reference, which was filled in\n", e.Mine())
	} else {
		fmt.Fprintf(status, "using your %s\n", e.Mine())
	}
	overlay[e.Replaces] = e.Mine()
	extra, err := r.extraFiles(myDir, e)
	if err != nil {
		return err
	}
	for to, from := range extra {
		if other, taken := added[to]; taken {
			return fmt.Errorf("%s and %s would both be %s: give one of them another name", other, from, to)
		}
		overlay[to], added[to] = from, from
	}
	return nil
}
