package course

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// goMods are where the versions of the originals are pinned: the nested modules hold what the main one
// may not import. The first that requires a module directly decides, and then the first that does so at
// all. The control plane is what a reader's cluster runs, so it comes before the peers.
var goMods = []string{"go.mod", "cluster/controlplane/go.mod", "benchmarks/go.mod"}

// goMod is what `go mod edit -json` prints, as far as it is needed here.
type goMod struct {
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
	Ignore []struct{ Path string }
}

// checkUpstream proves that each original that a chapter names exists, at the
// version that the tree is pinned to: a reader who looks it up will find it.
func (r *Repo) checkUpstream(ctx context.Context, chapters []Chapter) (Problems, error) {
	mods, err := r.goMods(ctx)
	if err != nil {
		return nil, err
	}
	var problems Problems
	for _, c := range chapters {
		for _, u := range c.Upstream {
			if err := r.checkUpstreamFile(ctx, mods, u); err != nil {
				problems.add("%s/chapter.yaml, upstream %s: %v", c.Dir, u.File, err)
			}
		}
	}
	return problems, nil
}

func (r *Repo) checkUpstreamFile(ctx context.Context, mods map[string]goMod, u Upstream) error {
	version, where := pinned(mods, u.Module)
	if where == "" {
		return fmt.Errorf("no go.mod requires %s (looked in %s): name a module that is pinned there", u.Module, strings.Join(goMods, ", "))
	}
	if version != u.Version {
		return fmt.Errorf("it names %s %s, but %s has %s: change the version and read the file again", u.Module, u.Version, where, version)
	}
	dir, err := r.moduleDir(ctx, u.Module, u.Version)
	if err != nil {
		return err
	}
	if !isFile(filepath.Join(dir, filepath.FromSlash(u.File))) {
		return fmt.Errorf("%s %s has no such file (looked in %s): correct the path", u.Module, u.Version, dir)
	}
	return nil
}

func (r *Repo) goMods(ctx context.Context) (map[string]goMod, error) {
	mods := map[string]goMod{}
	for _, name := range goMods {
		if !r.has(name) {
			continue
		}
		out, err := r.goOutput(ctx, "mod", "edit", "-json", name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		var mod goMod
		if err := json.Unmarshal(out, &mod); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		mods[name] = mod
	}
	return mods, nil
}

// pinned returns the version of a module and the go.mod that says so.
func pinned(mods map[string]goMod, module string) (version, where string) {
	for _, indirect := range []bool{false, true} {
		for _, name := range goMods {
			if version, found := mods[name].version(module, indirect); found {
				return version, name
			}
		}
	}
	return "", ""
}

// version returns that of a module which is required directly, or else of one that is not.
func (m goMod) version(module string, indirect bool) (version string, found bool) {
	for _, req := range m.Require {
		if req.Path != module || req.Indirect != indirect {
			continue
		}
		for _, rep := range m.Replace {
			if rep.Old.Path == module && rep.New.Path == module {
				return rep.New.Version, true
			}
		}
		return req.Version, true
	}
	return "", false
}

// moduleDir returns where a module is in the module cache, and puts it there
// if it is missing.
func (r *Repo) moduleDir(ctx context.Context, module, version string) (string, error) {
	dir, err := r.cachedDir(ctx, module, version)
	if err != nil || isDir(dir) {
		return dir, err
	}
	_, dir, err = r.download(ctx, module, version)
	if err != nil {
		return "", fmt.Errorf("%s %s is not in the module cache and could not be downloaded (%w): go online and try again", module, version, err)
	}
	return dir, nil
}

// cachedDir is where a module is in the module cache, if it is there.
func (r *Repo) cachedDir(ctx context.Context, module, version string) (string, error) {
	cache, err := r.goOutput(ctx, "env", "GOMODCACHE")
	if err != nil {
		return "", fmt.Errorf("finding the module cache: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(escapeModule(module))+"@"+version), nil
}

// download puts a module into the module cache. The version may be anything that `go get` understands.
func (r *Repo) download(ctx context.Context, module, query string) (version, dir string, err error) {
	fmt.Fprintf(os.Stderr, "downloading %s %s\n", module, query)
	out, err := r.goOutput(ctx, "mod", "download", "-json", module+"@"+query)
	var info struct{ Version, Dir, Error string }
	if jsonErr := json.Unmarshal(out, &info); jsonErr == nil && info.Dir != "" {
		return info.Version, info.Dir, nil
	}
	if info.Error == "" && err != nil {
		info.Error = err.Error()
	}
	return "", "", errors.New(strings.TrimSpace(info.Error))
}

// escapeModule is the module cache's way to keep upper case on file systems
// that do not: a letter becomes ! and its lower case.
func escapeModule(module string) string {
	var b strings.Builder
	for _, c := range module {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('!')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
