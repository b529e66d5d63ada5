package course

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// ClassOptions are those of `course class`.
type ClassOptions struct {
	Timeout time.Duration // for the tests of one solution, compiling not counted; 0 is what learners have
	Only    []Exercise    // the exercises to look at; nil means all
}

// Class judges the solutions of all learners in a directory, each subdirectory of which holds what the my/ of one learner
// does, or is a checkout with a my/ in it. It writes a table of learners and exercises, and for each solution that is not
// right the first behaviour that does not hold.
//
// Guarantees: nothing is written into the directory: the solutions are copied first. A verdict is the one that
// the learner gets from `course exercise` with the same time limit, and is remembered until the solution or the tree
// changes. One learner's mistake, such as a file that does not compile or a loop that never ends, spoils nobody
// else's verdict. No process of a test outlives its run, unless it leaves the process group.
//
// Caveats: learners' code runs with the rights of the caller. And their own tests and init functions are run with it, so
// whoever wants to cheat can.
//
// Errors: a directory that cannot be read, or that has no subdirectory.
func (r *Repo) Class(ctx context.Context, dir string, o ClassOptions, w, status io.Writer) error {
	exercises, err := r.allExercises()
	if err != nil {
		return err
	}
	if o.Only != nil {
		exercises = o.Only
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return err
	}
	if o.Timeout > 0 {
		n.timeout = o.Timeout
	}
	homes, done, err := r.copyClass(dir, exercises)
	if err != nil {
		return err
	}
	defer done()
	c := class{n: n, homes: homes, verdicts: map[string][]verdict{}}
	for _, e := range exercises {
		if err := c.judge(ctx, e, status); err != nil {
			return err
		}
	}
	fmt.Fprint(w, c.report(exercises))
	return nil
}

// classDir holds copies of the learners' solutions while they are judged.
const classDir = stateDir + "/class"

// learnerHome is a learner, and where the copy of the solutions is.
type learnerHome struct{ name, dir string }

// copyClass copies the solutions of all learners into the tree, because the go command compiles what is there.
func (r *Repo) copyClass(dir string, exercises []Exercise) (homes []learnerHome, done func(), err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for learners: %w", err)
	}
	if err := r.makeState(classDir); err != nil {
		return nil, nil, err
	}
	top, err := os.MkdirTemp(r.Abs(classDir), "")
	if err != nil {
		return nil, nil, fmt.Errorf("making room for copies of the solutions: %w", err)
	}
	rel := path.Join(classDir, path.Base(top))
	done = func() {
		os.RemoveAll(top)
		os.RemoveAll(r.Abs(path.Join(stateDir, rel))) // where the compiler's copies of the copies are
	}
	for _, entry := range entries {
		name := entry.Name()
		from := path.Join(dir, name)
		if strings.HasPrefix(name, ".") || !isDir(from) {
			continue
		}
		if isDir(path.Join(from, myDir)) {
			from = path.Join(from, myDir)
		}
		home := learnerHome{name, path.Join(rel, fmt.Sprint(len(homes)))}
		for _, e := range exercises {
			if err := r.copySolution(e, path.Join(from, e.Name), r.Abs(path.Join(home.dir, e.Name))); err != nil {
				done()
				return nil, nil, fmt.Errorf("copying the solution of %s for exercise %s: %w", name, e.ID(), err)
			}
		}
		homes = append(homes, home)
	}
	if len(homes) == 0 {
		done()
		return nil, nil, fmt.Errorf("there are no learners in %s: it must have a directory for each of them, which holds what their my/ does", dir)
	}
	return homes, done, nil
}

// largestFile is more than a solution ever has.
const largestFile = 1 << 20

// copySolution copies a learner's own Go files. The links next to them, to the rest of the package, are for editors. They
// are files if the directory was copied by a tool that follows links.
func (r *Repo) copySolution(e Exercise, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil { // not begun, or no directory
		return ignoreMissing(err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		if info.Size() > largestFile {
			return fmt.Errorf("%s has %d bytes; that is no solution", entry.Name(), info.Size())
		}
		text, err := os.ReadFile(path.Join(from, entry.Name()))
		if err == nil && r.isCopy(e, entry.Name(), text) {
			continue
		}
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		if err == nil {
			err = os.WriteFile(path.Join(to, entry.Name()), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isCopy reports whether a file is a copy of another file of mini, for an editor.
func (r *Repo) isCopy(e Exercise, name string, text []byte) bool {
	file := path.Join(miniDir, name)
	if file == e.Replaces || !r.has(file) {
		return false
	}
	reference, err1 := r.read(file)
	copied, err2 := r.editorText(file)
	return err1 == nil && bytes.Equal(text, reference) || err2 == nil && bytes.Equal(text, copied)
}

// ignoreMissing leaves out what is not there, or is no directory.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "not a directory") {
		return nil
	}
	return err
}
