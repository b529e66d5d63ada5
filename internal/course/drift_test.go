package course

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// original is the module that chapters of the tiny course mention, in a version of testdata.
func original(t *testing.T, version string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/drift/original_" + version + ".txtar")
	require.NoError(t, err)
	return archive
}

// serve makes a module proxy of a directory: the go command asks it for lists of versions, and downloads from it.
// What has no files can only be listed.
func serve(t *testing.T, r *Repo, modules map[string]map[string]*txtar.Archive) {
	t.Helper()
	proxy := t.TempDir()
	for module, versions := range modules {
		dir := escapeModule(module) + "/@v/"
		put(t, proxy, dir+"list", strings.Join(sortedKeys(versions), "\n")+"\n")
		for version, archive := range versions {
			mod := "module " + module + "\n\ngo 1.20\n"
			put(t, proxy, dir+version+".info", `{"Version": "`+version+`", "Time": "2026-01-02T03:04:05Z"}`)
			put(t, proxy, dir+version+".mod", mod)
			if archive != nil {
				zipped(t, filepath.Join(proxy, dir, version+".zip"), module+"@"+version+"/", mod, archive)
			}
		}
	}
	r.Env = append(r.Env, "GOPROXY=file://"+filepath.ToSlash(proxy), "GOSUMDB=off", "GONOSUMDB=*", "GOFLAGS=-mod=mod -modcacherw")
}

func zipped(t *testing.T, file, prefix, mod string, archive *txtar.Archive) {
	t.Helper()
	out, err := os.Create(file)
	require.NoError(t, err)
	w := zip.NewWriter(out)
	files := append([]txtar.File{{Name: "go.mod", Data: []byte(mod)}}, archive.Files...)
	for _, f := range files {
		entry, err := w.Create(prefix + f.Name)
		require.NoError(t, err)
		_, err = entry.Write(f.Data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, out.Close())
}

// tinyDrift is a course that mentions an original, of which there is a newer version.
func tinyDrift(t *testing.T) *Repo {
	t.Helper()
	files := changed(t, "chapters/01-sum/chapter.yaml", "  - {module: example.org/Replaced, version: v0.3.0, file: x.go}\n",
		"  - {module: example.org/original, version: v1.2.0, file: gone.go}\n")
	files["chapters/01-sum/library.md"] = "# The library\n\nThe original has `pkg.Changed(ints)` and\n[`T.Moved`](x.md); `Same` is ours.\nIts `pkg/Added.go` and\n`Removed` are not, nor\n`Changed`.\n\n```go\nArrives()\n```\n"
	files["chapters/02-mean/chapter.yaml"] = tiny["chapters/02-mean/chapter.yaml"] + "upstream:\n  - {module: example.org/original, version: v1.2.0, file: pkg/more.go}\n"
	for _, f := range original(t, "v1.2.0").Files {
		files[".modcache/example.org/original@v1.2.0/"+f.Name] = string(f.Data)
	}
	r := tinyTree(t, files)
	serve(t, r, map[string]map[string]*txtar.Archive{"example.org/original": {
		"v0.9.0": nil, "v1.2.0": original(t, "v1.2.0"), "v1.3.0": original(t, "v1.3.0"), "v1.4.0-rc.1": nil,
	}})
	return r
}

func driftOf(t *testing.T, r *Repo, options DriftOptions) (string, bool) {
	t.Helper()
	var out strings.Builder
	drifted, err := r.Drift(t.Context(), options, &out)
	require.NoError(t, err)
	return out.String(), drifted
}

// A maintainer reads a handful of sentences again, and not nineteen chapters.
func TestDriftListsTheChaptersToReadAgain(t *testing.T) {
	t.Parallel()
	out, drifted := driftOf(t, tinyDrift(t), DriftOptions{})
	assert.True(t, drifted)
	assert.Equal(t, `module                chapters  compared with
example.org/original  v1.2.0    v1.3.0

chapter to read again  original        declarations                               of these, the text mentions
 1 Sum                 pkg/sum.go      7: 2 changed, 1 removed, 2 moved, 2 added  Changed, Removed, T.Moved
                       gone.go (gone)  1: 1 removed                               none
 2 Mean                pkg/more.go     2: 1 moved, 1 added                        none

chapters/01-sum: pkg/sum.go in example.org/original v1.2.0 -> v1.3.0
  changed  Changed (mentioned in library.md:3, library.md:7)
  removed  Removed (mentioned in library.md:6)
  moved    T.Moved, to pkg/more.go (mentioned in library.md:4)
  changed  changedUnmentioned
  moved    MovedFar, to other/far.go
  added    Arrives, from pkg/more.go
  added    Added

chapters/01-sum: gone.go (gone) in example.org/original v1.2.0 -> v1.3.0
  removed  Left

chapters/02-mean: pkg/more.go in example.org/original v1.2.0 -> v1.3.0
  moved    Arrives, to pkg/sum.go
  added    T.Moved, from pkg/sum.go
`, out)
}

func TestDriftShowsWhatChangedInADeclaration(t *testing.T) {
	t.Parallel()
	out, _ := driftOf(t, tinyDrift(t), DriftOptions{Diff: true})
	assert.Contains(t, out, "  changed  Changed (mentioned in library.md:3, library.md:7)\n"+
		"      --- Changed v1.2.0\n      +++ Changed v1.3.0\n      @@ -1,1 +1,3 @@\n      -func Changed() int { return 1 }\n      +func Changed() int {\n      +\treturn 2\n      +}\n")
	assert.Contains(t, out, "  moved    T.Moved, to pkg/more.go (mentioned in library.md:4)\n  changed  changedUnmentioned\n      --- ", "it is the same in another file")
	assert.NotContains(t, out, "+func Added")
}

func TestAnOlderVersionAPreReleaseAndTheSameOneAreComparedIfTheyAreNamed(t *testing.T) {
	t.Parallel()
	r := tinyDrift(t)
	// The chapters move on, and somebody asks what has changed since.
	for _, file := range []string{"chapters/01-sum/chapter.yaml", "chapters/02-mean/chapter.yaml"} {
		put(t, r.Root, file, strings.ReplaceAll(read(t, r, file), "v1.2.0, file: pkg", "v1.3.0, file: pkg"))
	}
	put(t, r.Root, "chapters/01-sum/chapter.yaml", strings.Replace(read(t, r, "chapters/01-sum/chapter.yaml"), "  - {module: example.org/original, version: v1.2.0, file: gone.go}\n", "", 1))
	out, drifted := driftOf(t, r, DriftOptions{Modules: []string{"example.org/original@v1.2.0"}})
	assert.True(t, drifted)
	assert.Contains(t, out, "example.org/original  v1.3.0    v1.2.0\n")
	assert.Contains(t, out, "  added    Removed (mentioned in library.md:6)\n")

	for _, version := range []string{"", "@v1.3.0", "@v1.3", "@latest"} {
		out, drifted = driftOf(t, r, DriftOptions{Modules: []string{"example.org/original" + version}})
		assert.False(t, drifted)
		assert.Contains(t, out, "example.org/original  v1.3.0    the same")
		assert.Contains(t, out, "Nothing that the chapters mention has drifted.")
	}
	_, err := r.Drift(t.Context(), DriftOptions{Modules: []string{"example.org/original@v1.4.0-rc.1"}}, &strings.Builder{})
	assert.ErrorContains(t, err, "example.org/original@v1.4.0-rc.1 is not in the module cache and could not be downloaded", "it is there, but this proxy has no files of it")
}

func TestWhatCannotBeComparedIsSaidClearly(t *testing.T) {
	t.Parallel()
	r := tinyDrift(t)
	for _, c := range []struct{ module, want string }{
		{"example.org/original@v1.9.0", "example.org/original has no version v1.9.0; the last ones are v0.9.0, v1.2.0, v1.3.0, v1.4.0-rc.1"},
		{"example.org/original@v7", "example.org/original has no version v7; the last ones are v0.9.0,"},
		{"example.org/original@", "lacks the version, as in example.org/original@latest"},
		{"example.org/other@v1.0.0", `no chapter mentions the module "example.org/other"; they mention example.org/original`},
		{"std", `no chapter mentions the module "std"`},
	} {
		_, err := r.Drift(t.Context(), DriftOptions{Modules: []string{c.module}}, &strings.Builder{})
		assert.ErrorContains(t, err, c.want)
	}
	r.Env = append(r.Env, "GOPROXY=off")
	_, err := r.Drift(t.Context(), DriftOptions{}, &strings.Builder{})
	require.ErrorContains(t, err, "the versions of the originals could not be listed. Go online and try again")
	assert.ErrorContains(t, err, "module lookup disabled by GOPROXY=off")
}

// Without a network, what is in the module cache can be compared all the same.
func TestAVersionInTheModuleCacheNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	r := tinyDrift(t)
	for _, f := range original(t, "v1.3.0").Files {
		put(t, r.Root, ".modcache/example.org/original@v1.3.0/"+f.Name, string(f.Data))
	}
	r.Env = append(r.Env, "GOPROXY=off")
	out, drifted := driftOf(t, r, DriftOptions{Modules: []string{"example.org/original@v1.3.0"}})
	assert.True(t, drifted)
	assert.Contains(t, out, "  changed  Changed (mentioned in library.md:3, library.md:7)\n")
	_, err := r.Drift(t.Context(), DriftOptions{Modules: []string{"example.org/original@v1.3.1"}}, &strings.Builder{})
	assert.ErrorContains(t, err, "example.org/original@v1.3.1 is not in the module cache and could not be downloaded")
}

// client-go v0.38.1 is of no use next to an apimachinery that the proxy knows only as v0.38.0.
func TestTheModulesOfAKubernetesReleaseMoveTogether(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	releases := func(versions ...string) map[string]*txtar.Archive {
		all := map[string]*txtar.Archive{}
		for _, v := range versions {
			all[v] = nil
		}
		return all
	}
	serve(t, r, map[string]map[string]*txtar.Archive{
		"k8s.io/client-go":                   releases("v0.37.2", "v0.38.0", "v0.38.1", "v0.39.0-beta.0", "v1.5.2", "v12.0.0+incompatible"),
		"k8s.io/apimachinery":                releases("v0.37.2", "v0.38.0"),
		"k8s.io/apiserver":                   releases("v0.36.3", "v0.36.4", "v0.37.2"),
		"k8s.io/kubernetes":                  releases("v1.36.3", "v1.36.4", "v1.37.2", "v1.38.0"),
		"k8s.io/utils":                       releases("v0.0.1"),
		"sigs.k8s.io/controller-runtime":     releases("v0.25.2", "v0.26.0", "v0.27.0-alpha.0", "v9.0.0+incompatible"),
		"example.org/only-pre-releases-left": releases("v1.0.0-rc.1", "v1.0.0-rc.2"),
	})
	targets, err := r.newestTargets(t.Context(), map[string]string{
		"k8s.io/client-go": "v0.37.2", "k8s.io/apimachinery": "v0.37.2", "k8s.io/apiserver": "v0.36.3", "k8s.io/kubernetes": "v1.36.3",
		"k8s.io/utils": "v0.0.0-20260626114624-be93311217bd", "sigs.k8s.io/controller-runtime": "v0.25.2", "example.org/only-pre-releases-left": "v1.0.0-rc.1",
	})
	require.NoError(t, err)
	assert.Equal(t, []driftTarget{
		{"example.org/only-pre-releases-left", "v1.0.0-rc.1", "v1.0.0-rc.1", false},
		{"k8s.io/apimachinery", "v0.37.2", "v0.38.0", false},
		{"k8s.io/apiserver", "v0.36.3", "v0.37.2", false},
		{"k8s.io/client-go", "v0.37.2", "v0.38.0", false},
		{"k8s.io/kubernetes", "v1.36.3", "v1.37.2", false},
		{"k8s.io/utils", "v0.0.0-20260626114624-be93311217bd", "v0.0.1", false},
		{"sigs.k8s.io/controller-runtime", "v0.25.2", "v0.26.0", false},
	}, targets)
}
