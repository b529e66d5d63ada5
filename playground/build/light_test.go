package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A new version of a module may have moved what is replaced. Then the page would get the heavy one, or
// another program, and nobody would know.
func TestALighterModuleThatFitsNothingIsAnError(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	from := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n", "a/a.go": "package a\n\nimport _ \"heavy\"\n", "a/a_test.go": "package a\n",
		"b/b.go": "package b\n", "a/x.pb.go": "package a\n",
	} {
		file := filepath.Join(from, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	fits := module{
		path: "m", without: []string{"x.pb.go"},
		files:   map[string]string{"b": "tls/tls.go"},
		imports: map[string][]light{"a/a.go": {{"heavy", "light"}}},
	}
	to := t.TempDir()
	require.NoError(t, fits.write(root, from, to))
	text, err := os.ReadFile(filepath.Join(to, "a", "a.go"))
	require.NoError(t, err)
	require.Equal(t, "package a\n\nimport _ \"light\"\n", string(text))
	require.FileExists(t, filepath.Join(to, "b", "tls.go"))
	for _, gone := range []string{"b/b.go", "a/a_test.go", "a/x.pb.go"} {
		require.NoFileExists(t, filepath.Join(to, filepath.FromSlash(gone)))
	}

	for want, m := range map[string]module{
		"m/a/a.go doesn't import other": {path: "m", imports: map[string][]light{"a/a.go": {{"other", "light"}}}},
		"m has no file c/c.go":          {path: "m", imports: map[string][]light{"c/c.go": {{"heavy", "light"}}}},
		"m has no package c":            {path: "m", files: map[string]string{"c": "tls/tls.go"}},
		"m has no file gone.pb.go":      {path: "m", without: []string{"gone.pb.go"}},
	} {
		require.ErrorContains(t, m.write(root, from, t.TempDir()), want)
	}
	require.Error(t, noTLS(root, from, map[string]string{}))
}

// A chapter whose test says nothing that the playground understands would be missing in the page.
func TestAChapterThatCannotBeUnderstoodStopsTheBuild(t *testing.T) {
	const main = "// Command x.\npackage main\n\nfunc main() {\n}\n"
	for want, files := range map[string]map[string]string{
		"there is no main_test.go": {"main.go": main},
		"want one test": {
			"main.go": main, "main_test.go": "package main\n\nimport (\n\t\"testing\"\n)\n\nfunc helper() {}\n",
		},
	} {
		from := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(text), 0o644))
		}
		_, err := program(from, "p", "/virtual", t.TempDir(), map[string]string{})
		require.ErrorContains(t, err, want)
	}
}
