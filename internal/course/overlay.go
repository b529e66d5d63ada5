package course

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// Overlay is the go command's -overlay: which file stands in for which. Both
// ends are relative paths; an empty right end means that the file is hidden.
type Overlay map[string]string

// hide makes the overlay of a milestone.
func hide(files []string) Overlay {
	o := Overlay{}
	for _, f := range files {
		o[f] = ""
	}
	return o
}

// check proves that both ends of every entry exist. The go command would
// silently ignore a left end that does not, and the reader would then test the
// reference instead of their own file.
func (o Overlay) check(r *Repo) error {
	var problems Problems
	for _, from := range sortedKeys(o) {
		if !r.has(from) {
			problems.add("the overlay replaces %s, which does not exist: the go command would ignore that silently; correct the name", from)
		}
		if to := o[from]; to != "" && !r.has(to) {
			problems.add("the overlay replaces %s by %s, which does not exist", from, to)
		}
	}
	return problems.Err()
}

// write checks the overlay and writes it where the go command can read it.
// The caller removes the file by calling done.
func (o Overlay) write(r *Repo) (file string, done func(), err error) {
	if err := o.check(r); err != nil {
		return "", nil, err
	}
	// The go command matches keys by their absolute path.
	abs := map[string]string{}
	for from, to := range o {
		if to != "" {
			to = r.Abs(to)
		}
		abs[r.Abs(from)] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": abs})
	if err != nil {
		return "", nil, fmt.Errorf("writing an overlay: %w", err)
	}
	dir, err := os.MkdirTemp("", "loopwright-overlay-")
	if err != nil {
		return "", nil, fmt.Errorf("writing an overlay: %w", err)
	}
	file = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", nil, fmt.Errorf("writing an overlay: %w", err)
	}
	return file, func() { os.RemoveAll(dir) }, nil
}

// underTheirNames replaces every file by a copy that bears the original's name
// for the compiler. So a compile error, or the stack of a panic, shows learners
// their own file, and not the reference that it stands in for.
func (o Overlay) underTheirNames(r *Repo) (Overlay, error) {
	named := Overlay{}
	for from, to := range o {
		text, err := r.read(to)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", to, err)
		}
		named[from] = path.Join(stateDir, to)
		text = append(fmt.Appendf(nil, "//line %s:1:1\n", r.Abs(to)), text...)
		if err := r.writeState(named[from], text); err != nil {
			return nil, err
		}
	}
	return named, nil
}
