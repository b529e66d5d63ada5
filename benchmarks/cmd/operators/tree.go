package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// tree is an operator's source in a directory of ours.
type tree struct {
	operator
	dir  string
	root string // of this module, whose go.mod has the versions
}

// make gets the source, and moves it to our versions.
func (t *tree) make(ctx context.Context) error {
	from, err := t.download(ctx)
	if err != nil {
		return err
	}
	if err := copyTree(from, t.dir); err != nil {
		return err
	}
	if err := dropNeighbours(filepath.Join(t.dir, "go.mod")); err != nil {
		return err
	}
	versions, err := ourVersions(filepath.Join(t.root, "go.mod"))
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: moving to %s\n", t.Name, strings.Join(versions, " "))
	_, err = t.goCommand(ctx, append(append([]string{"get"}, versions...), t.Get...)...)
	return err
}

// download returns the directory of the module, which is read-only.
func (t *tree) download(ctx context.Context) (string, error) {
	fmt.Fprintf(os.Stderr, "%s: downloading %s@%s\n", t.Name, t.Module, t.Version)
	out, err := t.goCommand(ctx, "mod", "download", "-json", t.Module+"@"+t.Version)
	var got struct{ Dir, Error string }
	if e := json.Unmarshal(out, &got); e == nil && got.Error != "" {
		return "", errors.New(got.Error)
	}
	return got.Dir, err
}

// copyTree copies files that can be changed, without a vendor directory and without .git.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			if name == ".git" || name == "vendor" {
				return filepath.SkipDir
			}
			return os.MkdirAll(target, 0o755)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return nil // a link that leads nowhere here
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm()|0o200)
	})
}

// dropNeighbours removes the replacements from a go.mod that lead out of the tree: to
// ../apis, for example, which is in the repository and not in the module. What go.mod requires of
// such a neighbour is a released version, which everybody else gets, too.
func dropNeighbours(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(file.Replace) {
		if r.New.Version == "" && !filepath.IsLocal(r.New.Path) {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	file.Cleanup()
	if text, err = file.Format(); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// moved are the modules whose versions the drop-in decides.
var moved = []string{
	"sigs.k8s.io/controller-runtime", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go",
	"k8s.io/apiextensions-apiserver",
}

// ourVersions are the versions that this module has of them.
func ourVersions(name string) (versions []string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	has := map[string]string{}
	for _, r := range file.Require {
		has[r.Mod.Path] = r.Mod.Version
	}
	for _, path := range moved {
		if has[path] == "" {
			return nil, fmt.Errorf("%s doesn't require %s", name, path)
		}
		versions = append(versions, path+"@"+has[path])
	}
	return versions, nil
}

func (t *tree) goCommand(ctx context.Context, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = t.dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, said.String())
	}
	return out, err
}
