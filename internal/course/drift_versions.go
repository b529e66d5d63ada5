package course

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// driftTarget is a module, the version that the chapters mention, and the one to compare it with.
type driftTarget struct {
	module, from, to string
	isNamed          bool // by the caller, with its version
}

// driftTargets chooses the versions: those that the caller names, or else the newest release of each module.
func (r *Repo) driftTargets(ctx context.Context, chapters []Chapter, named []string) ([]driftTarget, error) {
	from := map[string]string{}
	for _, c := range chapters {
		for _, u := range c.Upstream {
			from[u.Module] = u.Version
		}
	}
	if len(from) == 0 {
		return nil, errors.New("no chapter mentions an original: there is nothing to compare")
	}
	if len(named) == 0 {
		return r.newestTargets(ctx, from)
	}
	var targets []driftTarget
	for _, argument := range named {
		name, query, hasVersion := strings.Cut(argument, "@")
		if from[name] == "" {
			return nil, fmt.Errorf("no chapter mentions the module %q; they mention %s", name, strings.Join(sortedKeys(from), ", "))
		}
		if !hasVersion {
			newest, err := r.newestTargets(ctx, map[string]string{name: from[name]})
			if err != nil {
				return nil, err
			}
			targets = append(targets, newest...)
			continue
		}
		version, err := r.exactVersion(ctx, name, query)
		if err != nil {
			return nil, err
		}
		targets = append(targets, driftTarget{name, from[name], version, true})
	}
	return targets, nil
}

// newestTargets compares each module with its newest release, but those of one Kubernetes release with one release:
// the newest that all of them have. Nobody uses client-go v0.38.1 with an apimachinery v0.38.0, and a proxy may know of
// one before the other.
func (r *Repo) newestTargets(ctx context.Context, from map[string]string) ([]driftTarget, error) {
	versions, err := r.versionsOf(ctx, sortedKeys(from), false)
	if err != nil {
		return nil, err
	}
	common := map[string][]string{} // by the release that the chapters mention: those that all of its modules have
	for m, version := range from {
		release, ok := kubernetesRelease(m, version)
		if !ok {
			continue
		}
		var releases []string
		for _, v := range versions[m] {
			if other, ok := kubernetesRelease(m, v); ok {
				releases = append(releases, other)
			}
		}
		if others, known := common[release]; known {
			releases = slices.DeleteFunc(releases, func(v string) bool { return !slices.Contains(others, v) })
		}
		common[release] = releases
	}
	var targets []driftTarget
	for _, m := range sortedKeys(from) {
		version := from[m]
		choice := versions[m]
		if release, ok := kubernetesRelease(m, version); ok {
			choice = slices.DeleteFunc(slices.Clone(choice), func(v string) bool {
				other, ok := kubernetesRelease(m, v)
				return !ok || !slices.Contains(common[release], other)
			})
		}
		targets = append(targets, driftTarget{m, version, newestRelease(version, choice), false})
	}
	return targets, nil
}

// kubernetesRelease is the release of Kubernetes that a module's version belongs to, as v0.37.2. Kubernetes' own
// module says v1.37.2. A version of another kind, such as those of k8s.io/utils, belongs to none.
func kubernetesRelease(name, version string) (release string, ok bool) {
	rest, isKubernetes := strings.CutPrefix(name, "k8s.io/")
	if !isKubernetes || strings.Contains(rest, "/") || semver.Prerelease(version) != "" || semver.Build(version) != "" {
		return "", false
	}
	if rest == "kubernetes" {
		minor, isOne := strings.CutPrefix(version, "v1.")
		return "v0." + minor, isOne
	}
	return version, strings.HasPrefix(version, "v0.")
}

// newestRelease is the highest version that is no pre-release, and none from before modules such as v12.0.0+incompatible.
// It is from if there is none above it.
func newestRelease(from string, versions []string) string {
	newest := from
	for _, v := range versions {
		if semver.Prerelease(v) == "" && semver.Build(v) == "" && semver.Compare(v, newest) > 0 {
			newest = v
		}
	}
	return newest
}

// exactVersion turns what a user may type, such as v0.38 or latest, into a version that is in the module cache then. It says
// clearly that there is none.
func (r *Repo) exactVersion(ctx context.Context, name, query string) (string, error) {
	if query == "" {
		return "", fmt.Errorf("%s@ lacks the version, as in %s@latest", name, name)
	}
	if dir, err := r.cachedDir(ctx, name, query); err != nil {
		return "", err
	} else if semver.Canonical(query) == query && isDir(dir) { // which needs no network
		return query, nil
	}
	version, _, err := r.download(ctx, name, query)
	if err == nil {
		return version, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	// A proxy need not list all that it has, so its list is only asked for the reason of a failure.
	if known, listErr := r.versionsOf(ctx, []string{name}, true); listErr == nil && !slices.Contains(known[name], query) {
		return "", fmt.Errorf("%s has no version %s; %s", name, query, lastOf(known[name]))
	}
	return "", fmt.Errorf("%s@%s is not in the module cache and could not be downloaded (%w): go online and try again", name, query, err)
}

func lastOf(versions []string) string {
	const most = 5
	if len(versions) == 0 {
		return "it has none"
	}
	return "the last ones are " + strings.Join(versions[max(0, len(versions)-most):], ", ")
}

// versionsOf lists the versions of modules, in ascending order. Retracted ones exist, but nobody should move to them.
func (r *Repo) versionsOf(ctx context.Context, modules []string, retracted bool) (map[string][]string, error) {
	args := []string{"list", "-m", "-versions", "-json"}
	if retracted {
		args = append(args, "-retracted")
	}
	fmt.Fprintln(os.Stderr, "asking for the versions of", strings.Join(modules, ", "))
	out, err := r.goOutside(ctx, append(args, modules...)...)
	if err != nil {
		return nil, fmt.Errorf("the versions of the originals could not be listed. Go online and try again, or name versions that are in the module cache, as in `course drift %s@v1.2.3`. The go command says:\n%w", modules[0], err)
	}
	versions := map[string][]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct {
			Path     string
			Versions []string
		}
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return versions, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what `go list -m -versions` says: %w", err)
		}
		versions[m.Path] = m.Versions
	}
}

// goOutside runs the go command in no module. In ours, it would insist on the checksums of what nobody here requires.
func (r *Repo) goOutside(ctx context.Context, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "course-drift-")
	if err != nil {
		return nil, fmt.Errorf("making room for the go command: %w", err)
	}
	defer os.RemoveAll(dir)
	outside := *r
	outside.Root, outside.Env = dir, append(slices.Clone(r.Env), "GOWORK=off")
	return outside.goOutput(ctx, args...)
}
