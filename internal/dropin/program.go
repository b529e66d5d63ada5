package dropin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Program is a program that was written for controller-runtime.
type Program struct {
	Dir      string // absolute; its go.mod is there
	checkout *Checkout
	mod, sum []byte // go.mod and go.sum
	file     *modfile.File
	uses     bool // go.mod has our lines
}

// OpenProgram reads the go.mod in a directory. Its errors say what to do before the program can run
// on the drop-in.
func OpenProgram(dir string, checkout *Checkout) (*Program, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	p := &Program{Dir: dir, checkout: checkout}
	p.mod, err = os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no go.mod: name the directory of a module", dir)
	} else if err != nil {
		return nil, err
	}
	if p.sum, err = os.ReadFile(filepath.Join(dir, "go.sum")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.file, err = modfile.Parse(filepath.Join(dir, "go.mod"), p.mod, nil); err != nil {
		return nil, err
	}
	return p, p.check()
}

// leadsToUs reports whether a replace line is one of our two, perhaps with a path that somebody has
// written in another way.
func (p *Program) leadsToUs(r *modfile.Replace) bool {
	if r.New.Version != "" || r.Old.Path != original && r.Old.Path != loopwright {
		return false
	}
	to, err := os.Stat(p.path(r.New.Path))
	ours, other := os.Stat(p.checkout.replacement(r.Old.Path))
	return err == nil && other == nil && os.SameFile(to, ours)
}

// path is a path of go.mod, which begins where go.mod is.
func (p *Program) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// check refuses a program that doesn't use controller-runtime, one that uses a version that the
// drop-in doesn't stand for, and one that has replaced it by something else.
func (p *Program) check() error {
	for _, r := range p.file.Replace {
		if r.Old.Path != original {
			continue
		}
		p.uses = p.leadsToUs(r)
		if _, err := os.Stat(filepath.Join(p.path(r.New.Path), "version.txt")); !p.uses && err == nil {
			return fmt.Errorf("%s replaces controller-runtime by the drop-in of another checkout, %s: run "+
				"`loopwright unuse` there first", p.file.Syntax.Name, r.New.Path)
		}
		if !p.uses {
			return fmt.Errorf("%s replaces controller-runtime by %s already: remove that line first",
				p.file.Syntax.Name, r.New)
		}
	}
	if p.uses {
		return nil // it can always go back
	}
	i := slices.IndexFunc(p.file.Require, func(r *modfile.Require) bool { return r.Mod.Path == original })
	if i < 0 {
		return fmt.Errorf("%s doesn't require controller-runtime, neither itself nor for a library that uses it: "+
			"there is nothing to replace (if `go mod tidy` adds it, run that first)", p.file.Syntax.Name)
	}
	has, stands := p.file.Require[i].Mod.Version, p.checkout.Stands.Version
	if semver.MajorMinor(has) != semver.MajorMinor(stands) {
		return fmt.Errorf("%s requires controller-runtime %s, and the drop-in stands for %s. Move the program first, "+
			"and its own tests should pass then:\n  go get %s && go mod tidy", p.file.Syntax.Name, has, semver.MajorMinor(stands),
			strings.Join(p.toMove(), " "))
	}
	return nil
}

// toMove are the modules that a program has to move together: controller-runtime brings the libraries
// that it requires itself, and of Kubernetes' other ones, an older version may not compile with those.
func (p *Program) toMove() []string {
	modules := []string{p.checkout.Stands.String()}
	to := p.checkout.kubernetes
	for _, r := range p.file.Require {
		path, has := r.Mod.Path, r.Mod.Version
		inStep := strings.HasPrefix(path, "k8s.io/") && semver.Major(has) == "v0" && semver.MajorMinor(has) != "v0.0"
		if inStep && semver.Compare(semver.MajorMinor(has), semver.MajorMinor(to)) < 0 {
			modules = append(modules, path+"@"+to)
		}
	}
	return modules
}
