package course

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

// submitted is how the name of the file ends that a learner submits.
const submitted = ".txtar"

// Submit is `course submit`: it writes all that the learner has written into one file, for
// `course class`, and says what is in it. What the course has put there is left out: the links for
// editors, the stub, and the reference. An empty name stands for that of git or of the user.
//
// Errors: a name that no file should have, and nothing to submit.
func (r *Repo) Submit(ctx context.Context, name string, w io.Writer) error {
	if name == "" {
		name = r.learnersName(ctx)
	}
	name, err := fileName(name)
	if err != nil {
		return err
	}
	exercises, err := r.allExercises()
	if err != nil {
		return err
	}
	archive := &txtar.Archive{Comment: []byte("The solutions of " + name + ", for `make class`.\n")}
	t := table{header: []string{"exercise", "files"}}
	next := "`make exercise-1` begins"
	var leftOut []string
	for _, e := range exercises {
		files, given, err := r.toSubmit(e)
		if err != nil {
			return fmt.Errorf("submitting exercise %s: %w", e.ID(), err)
		}
		if given == stillStub {
			next = fmt.Sprintf("exercise %s is open, write %s", e.ID(), e.Mine())
		}
		if given != "" {
			leftOut = append(leftOut, fmt.Sprintf("Exercise %s is left out: it is %s.\n", e.ID(), given))
		}
		if len(files) == 0 {
			continue
		}
		t.add(e.ID(), strings.Join(sortedKeys(files), ", "))
		for _, base := range sortedKeys(files) {
			file := txtar.File{Name: path.Join(e.Name, base), Data: files[base]}
			if len(txtar.Parse(file.Data).Files) > 0 {
				return fmt.Errorf("%s has a line such as \"-- name --\", which separates files in "+
					"what you submit: indent it", path.Join(myDir, file.Name))
			}
			archive.Files = append(archive.Files, file)
		}
	}
	if len(t.rows) == 0 {
		return fmt.Errorf("there is nothing of yours in %s/ yet: %s\n%s", myDir, next,
			strings.Join(leftOut, ""))
	}
	to := path.Join(myDir, name+submitted)
	if err := os.WriteFile(r.Abs(to), txtar.Format(archive), 0o644); err != nil {
		return fmt.Errorf("writing what you submit: %w", err)
	}
	fmt.Fprintln(w, t)
	if len(leftOut) > 0 {
		fmt.Fprintln(w, strings.Join(leftOut, ""))
	}
	fmt.Fprintln(w, "Give your teacher the file", to)
	return nil
}

const stillStub = "still the stub"

// toSubmit are the files of an exercise that are the learner's own. If the solution is not, given
// says what it is.
func (r *Repo) toSubmit(e Exercise) (files map[string][]byte, given string, err error) {
	if !r.has(e.Mine()) {
		return nil, "", nil
	}
	if stub, err := r.untouched(e); err != nil || stub {
		return nil, stillStub, err
	}
	if reference, err := r.isReference(e.Mine(), e); err != nil || reference {
		return nil, "the reference", err
	}
	files, err = r.own(e, os.DirFS(r.Abs(myDir)))
	return files, "", err
}

// learnersName is the name that git knows, or else that of the user.
func (r *Repo) learnersName(ctx context.Context) string {
	cmd := r.command(ctx, "git", "config", "user.name")
	if name, err := cmd.Output(); err == nil && strings.TrimSpace(string(name)) != "" {
		return string(name)
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// safeName is what every file system can have.
var safeName = regexp.MustCompile(`^[\pL\pN][\pL\pN\pM+._-]{0,59}$`)

// fileName makes a file's name of a learner's: spaces become hyphens.
func fileName(name string) (string, error) {
	joined := strings.Join(strings.Fields(name), "-")
	if joined == "" {
		return "", errors.New("who are you? Say so, as in `make submit NAME=ada`")
	}
	if !safeName.MatchString(joined) || !fs.ValidPath(joined) {
		return "", fmt.Errorf("%q cannot be the name of your file: it must begin with a letter or a "+
			"digit, and have only letters, digits and + - . _, 60 at most. "+
			"Give another one, as in `make submit NAME=ada`", strings.TrimSpace(name))
	}
	return joined, nil
}
