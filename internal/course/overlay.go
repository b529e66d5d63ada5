package course

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Overlay is the go command's -overlay: which file stands in for which. Both
// ends are relative paths; an empty right end means that the file is hidden.
type Overlay map[string]string

// hide makes an overlay in which files are not there.
func hide(files []string) Overlay {
	o := Overlay{}
	for _, f := range files {
		o[f] = ""
	}
	return o
}

// check proves that both ends of every entry exist. The go command would
// silently ignore a left end that does not, and the reader would then test the
// reference instead of their own file. Only the learners' additional files
// replace nothing.
func (o Overlay) check(r *Repo, added map[string]string) error {
	var problems Problems
	for _, from := range sortedKeys(o) {
		if _, isNew := added[from]; !isNew && !r.has(from) {
			problems.add("the overlay replaces %s, which does not exist: the go command would ignore that silently; correct the name", from)
		}
		if to := o[from]; to != "" && !r.has(to) {
			problems.add("the overlay replaces %s by %s, which does not exist", from, to)
		}
	}
	return problems.Err()
}

// write checks the overlay and writes it where the go command can read it.
// The caller removes the file by calling done. added has the keys that need not
// exist, because they add a file.
func (o Overlay) write(r *Repo, added map[string]string) (file string, done func(), err error) {
	if err := o.check(r, added); err != nil {
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

// underTheirNames replaces every file by a copy that has the original's name
// for the compiler. So a compile error, or the stack of a panic, shows learners
// their own file, and not the reference that it stands in for.
func (o Overlay) underTheirNames(r *Repo) (Overlay, error) {
	named := Overlay{}
	for _, from := range sortedKeys(o) {
		to := o[from]
		text, err := r.read(to)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", to, err)
		}
		if err := r.checkClause(o, from, text); err != nil {
			return nil, err
		}
		named[from] = path.Join(stateDir, to)
		text = append(fmt.Appendf(nil, "//line %s:1:1\n", r.Abs(to)), text...)
		if err := r.writeState(named[from], text); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// clauseError says where a learner's file does not begin as it must.
type clauseError string

func (e clauseError) Error() string { return string(e) }

// checkClause insists that the file which stands in for from belongs to the package of
// from. The go command reports the files of two packages in one directory without a
// place, and an empty file under the name of the reference.
func (r *Repo) checkClause(o Overlay, from string, text []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, o[from], text, parser.PackageClauseOnly)
	if err != nil {
		var list scanner.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			err = list[0]
		}
		return clauseError(err.Error())
	}
	for other := range o {
		if path.Dir(other) != path.Dir(from) || !r.has(other) {
			continue
		}
		reference, err := parser.ParseFile(fset, r.Abs(other), nil, parser.PackageClauseOnly)
		if err != nil {
			return fmt.Errorf("reading %s: %w", other, err)
		}
		want, got := reference.Name.Name, f.Name.Name
		if got == want || strings.HasSuffix(from, "_test.go") && got == want+"_test" {
			return nil
		}
		return clauseError(fmt.Sprintf("%s: package %s: it must be package %s", fset.Position(f.Name.Pos()), got, want))
	}
	return nil
}
