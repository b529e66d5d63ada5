package course

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/txtar"
)

// ClassOptions are those of `course class`.
type ClassOptions struct {
	// Timeout is for the tests of one solution, compiling not counted; 0 is what learners have.
	Timeout time.Duration
	Only    []Exercise // the exercises to look at; nil means all
	Port    int        // where ServeClass listens; 0 is a free port
}

// Class judges the solutions of all learners in a directory. A learner is a file that `course
// submit` has written, or a subdirectory that holds what the learner's my/ does, or a checkout with
// a my/ in it. Class writes a table of learners and exercises, and for each solution that is not
// right the first behaviour that does not hold.
//
// Guarantees: nothing is written into the directory: the solutions are copied first. A verdict is
// the one that the learner gets from `course exercise` with the same time limit, and is remembered
// until the solution or the tree changes. One learner's mistake, such as a file that does not
// compile or a loop that never ends, spoils nobody else's verdict. No process of a test outlives
// its run, unless it leaves the process group.
//
// Caveats: learners' code runs with the rights of the caller. And their own tests and init
// functions are run with it, so whoever wants to cheat can.
//
// Errors: a directory that cannot be read, or that has no learner.
func (r *Repo) Class(ctx context.Context, dir string, o ClassOptions, w, status io.Writer) error {
	c, err := r.judgeClass(ctx, dir, o, status)
	if err == nil {
		fmt.Fprint(w, c.report())
	}
	return err
}

func (r *Repo) judgeClass(
	ctx context.Context, dir string, o ClassOptions, status io.Writer,
) (*class, error) {
	exercises, err := r.allExercises()
	if err != nil {
		return nil, err
	}
	if o.Only != nil {
		exercises = o.Only
	}
	n, err := r.newRunner(ctx)
	if err != nil {
		return nil, err
	}
	if o.Timeout > 0 {
		n.timeout = o.Timeout
	}
	c := &class{n: n, exercises: exercises, verdicts: map[string][]verdict{}}
	done, err := c.copyFrom(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, e := range exercises {
		if err := c.judge(ctx, e, status); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// classDir holds copies of the learners' solutions while they are judged.
const classDir = stateDir + "/class"

// learnerHome is a learner, and where the copy of the solutions is.
type learnerHome struct{ name, dir string }

// copyFrom copies the solutions of all learners into the tree, because the go command compiles what
// is there.
func (c *class) copyFrom(dir string) (done func(), err error) {
	r := c.n.repo
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, noClass(dir, err)
	}
	if err := r.makeState(classDir); err != nil {
		return nil, err
	}
	top, err := os.MkdirTemp(r.Abs(classDir), "")
	if err != nil {
		return nil, fmt.Errorf("making room for copies of the solutions: %w", err)
	}
	rel := path.Join(classDir, path.Base(top))
	done = func() {
		os.RemoveAll(top)
		os.RemoveAll(r.Abs(path.Join(stateDir, rel))) // where the compiler's copies of the copies are
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		files, err := openLearner(path.Join(dir, name))
		if files == nil && err == nil {
			continue
		}
		home := learnerHome{strings.TrimSuffix(name, submitted), path.Join(rel, fmt.Sprint(len(c.homes)))}
		for _, e := range c.exercises {
			if err == nil {
				err = r.copySolution(e, files, r.Abs(path.Join(home.dir, e.Name)))
			}
		}
		if err != nil {
			c.leftOut = append(c.leftOut, fmt.Sprintf("%s is left out: %v", name, err))
			_ = os.RemoveAll(r.Abs(home.dir)) // done removes it, too
			continue
		}
		c.homes = append(c.homes, home)
	}
	if len(c.homes) == 0 {
		done()
		return nil, noLearners{dir, c.leftOut}
	}
	return done, nil
}

// noLearners is the error where a class begins: nobody has handed in yet.
type noLearners struct {
	dir     string
	leftOut []string
}

func (e noLearners) Error() string {
	why := append([]string{"it must have the file of each of them that `make submit` has written, " +
		"or a directory for each of them, which holds what their my/ does"}, e.leftOut...)
	return fmt.Sprintf("there are no learners in %s: %s", e.dir, strings.Join(why, "\n"))
}

// noClass is the error of a directory that cannot be read.
func noClass(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for learners: %w\nMake the directory: `mkdir -p %q`", err, dir)
	}
	return fmt.Errorf("looking for learners: %w", err)
}

// packed are the ends of the names of files that have to be unpacked first.
var packed = []string{".zip", ".tar", ".gz", ".tgz", ".xz", ".bz2", ".7z"}

// openLearner opens the files of a learner, and returns nil for what is no learner's.
func openLearner(file string) (fs.FS, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, ignoreMissing(err)
	case info.IsDir() && isDir(path.Join(file, myDir)):
		return os.DirFS(path.Join(file, myDir)), nil
	case info.IsDir():
		return os.DirFS(file), nil
	case slices.Contains(packed, path.Ext(file)):
		return nil, errors.New("unpack it into a directory of its own")
	case path.Ext(file) != submitted:
		return nil, nil
	case info.Size() > largestFile:
		return nil, fmt.Errorf("it has %d bytes, and solutions have fewer", info.Size())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return txtar.FS(txtar.Parse(text))
}

// largestFile is more than a solution ever has, and more than all solutions of one learner.
const largestFile = 1 << 20

func (r *Repo) copySolution(e Exercise, home fs.FS, to string) error {
	files, err := r.own(e, home)
	for _, name := range sortedKeys(files) {
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		if err == nil {
			err = os.WriteFile(path.Join(to, name), files[name], 0o644)
		}
	}
	return err
}

// own are the Go files of an exercise that the learner has written, by their names, in a directory
// that holds what my/ does.
//
// The links beside them, to the rest of the package, are for editors. Where a tool that follows
// links has copied them, they are files with the names of mini's, and perhaps those of an older
// mini. A learner cannot have a file of such a name: `course exercise` refuses it.
func (r *Repo) own(e Exercise, home fs.FS) (map[string][]byte, error) {
	entries, err := fs.ReadDir(home, e.Name)
	if err != nil { // not begun, or no directory
		return nil, ignoreMissing(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || !strings.HasSuffix(name, ".go") || r.isGiven(e, name) {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Size() > largestFile {
			return nil, fmt.Errorf("%s/%s has %d bytes; that is no solution", e.Name, name, info.Size())
		}
		if err == nil {
			files[name], err = fs.ReadFile(home, path.Join(e.Name, name))
		}
		if err := ignoreMissing(err); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isGiven reports whether a file has the name of another file of mini. Tests are given, too, but
// no link leads to them, except to the one that goes further: another that is there was put there by the learner.
func (r *Repo) isGiven(e Exercise, name string) bool {
	file := path.Join(miniDir, name)
	return name == furtherTest || file != e.Replaces && !strings.HasSuffix(name, "_test.go") && r.has(file)
}

// ignoreMissing leaves out what is not there, or is no directory.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}
