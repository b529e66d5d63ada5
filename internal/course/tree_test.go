package course

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tiny is a whole course in a few files, without a dependency, so that the go
// command is quick on it and needs no network.
var tiny = map[string]string{
	"go.mod": "module example.com/tiny\n\ngo 1.26\n\nignore (\n\t./exercises\n\t./my\n)\n",
	"benchmarks/go.mod": `module example.com/tiny/benchmarks

require (
	example.org/original v1.2.0
	example.org/Replaced v0.0.0
)

replace example.org/Replaced => example.org/Replaced v0.3.0
`,
	"README.md": "# Tiny\n\n<!-- course:chapters -->\n<!-- /course:chapters -->\n",
	"sum/sum.go": `package sum

// Sum adds up.
func Sum(xs []int) int {
	total := 0
	// region loop
	for _, x := range xs {
		total += x
	}
	// endregion loop
	return total
}
`,
	"sum/sum_test.go": `package sum

import "testing"

// Without it every mean is wrong.
func TestASumContainsEveryNumber(t *testing.T) {
	if got := Sum([]int{1, 2, 3}); got != 6 {
		t.Errorf("the sum of 1, 2 and 3 must be 6, got %d", got)
	}
}

func TestTheSumOfNothingIsZero(t *testing.T) {
	if got := Sum(nil); got != 0 {
		t.Errorf("the sum of nothing must be 0, got %d", got)
	}
}
`,
	"mean/mean.go": `package mean

import "example.com/tiny/sum"

type Mean struct{}

// Of divides.
func (*Mean) Of(xs []int) int { return sum.Sum(xs) / len(xs) }
`,
	"internal/floor/floor.go": "package floor\n",
	"chapters/01-sum/README.md": `---
title: Sum
part: 1
minutes: 5
files: [sum/*.go]
exercises: [01-sum]
upstream:
  - {module: example.org/original, version: v1.2.0, file: pkg/sum.go}
  - {module: example.org/Replaced, version: v0.3.0, file: x.go}
---
<!-- snippet file=sum/sum.go symbol=Sum -->

<!-- output file=testdata/output.txt -->
`,
	"chapters/01-sum/testdata/output.txt": "6\n",
	"chapters/01-sum/main.go": `package main

import (
	"fmt"
	"os"

	"example.com/tiny/sum"
)

func main() {
	fmt.Println(sum.Sum([]int{1, 2, 3}), os.Getenv("GREETING"))
	os.Exit(3)
}
`,
	"chapters/02-mean/README.md": `---
title: Mean
part: 1
minutes: 7
files:
  - mean/mean.go
---
<!-- snippet file=mean/mean.go symbol=Mean.Of doc=false title=false -->
`,
	"exercises/01-sum/README.md": `---
title: Add up
chapter: 1
replaces: sum/sum.go
function: Sum
run: Sum
reads: chapters/01-sum/README.md
---
# Add up

Write Sum.

## Hint 1

Start at zero.

## Hint 2

Use a loop.
`,
	"exercises/01-sum/testdata/wrong/first.go":  "// It skips the first number.\npackage sum\n\nfunc Sum(xs []int) int {\n\tt := 0\n\tfor i := 1; i < len(xs); i++ {\n\t\tt += xs[i]\n\t}\n\treturn t\n}\n",
	"exercises/01-sum/testdata/wrong/beyond.go": "// It reads one too many.\npackage sum\n\nfunc Sum(xs []int) int {\n\tt := 0\n\tfor i := 0; i <= len(xs); i++ {\n\t\tt += xs[i]\n\t}\n\treturn t\n}\n",

	// What the module cache would hold.
	".modcache/example.org/original@v1.2.0/pkg/sum.go": "package pkg\n",
	".modcache/example.org/!replaced@v0.3.0/x.go":      "package x\n",
}

var tinyOutline = []Planned{
	{1, "sum", "Sum", 1},
	{2, "mean", "Mean", 1},
	{3, "median", "Median", 2},
}

// tinyTree writes the tiny course with changes: a path with "" is left out.
func tinyTree(t *testing.T, changes map[string]string) *Repo {
	t.Helper()
	root := t.TempDir()
	files := maps.Clone(tiny)
	maps.Copy(files, changes)
	for name, text := range files {
		if text != "" {
			put(t, root, name, text)
		}
	}
	r, err := Open(root)
	require.NoError(t, err)
	r.Outline = tinyOutline
	r.Env = []string{"GOFLAGS=-mod=mod -vet=off -ldflags=-w", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOMODCACHE=" + filepath.Join(root, ".modcache")}
	return r
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

// changed is a file of the tiny course with one piece of text replaced.
func changed(t *testing.T, name, old, text string) map[string]string {
	t.Helper()
	require.Contains(t, tiny[name], old)
	return map[string]string{name: strings.Replace(tiny[name], old, text, 1)}
}

func read(t *testing.T, r *Repo, name string) string {
	t.Helper()
	text, err := r.read(name)
	require.NoError(t, err)
	return string(text)
}
