package course

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// tiny is a whole course in a few files, without a dependency, so that the go
// command is quick on it and needs no network.
var tiny = map[string]string{
	"go.mod": "module example.com/tiny\n\ngo 1.26\n\nignore ./my\n",
	"benchmarks/go.mod": `module example.com/tiny/benchmarks

require (
	example.org/original v1.2.0
	example.org/Replaced v0.0.0
)

replace example.org/Replaced => example.org/Replaced v0.3.0
`,
	"README.md": "# Tiny\n\n<!-- course:chapters -->\n<!-- /course:chapters -->\n",
	"mini/sum.go": `package mini

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
	"mini/sum_test.go": `package mini

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
	"mini/mean.go": `package mini

type Mean struct{}

// Of divides.
func (*Mean) Of(xs []int) int { return Sum(xs) / len(xs) }
`,
	"internal/floor/floor.go": "package floor\n",
	"docs/glossary.md":        "# Glossary\n\n- **mean, sum**: What adding gives.\n",
	"mini/cmd/mini/main.go":   tinyProgram("mini.Sum([]int{50, 3})"),
	"chapters/01-sum/README.md": "# 1. Sum\n\nA **sum** is what adding gives.\n\n<!-- snippet file=mini/sum.go symbol=imports -->\n\n" +
		tinyContract + tinySolution + "<!-- output file=testdata/output.txt -->\n\n" + costs + "\n",
	"chapters/01-sum/chapter.yaml": `title: Sum
part: 1
minutes: 5
needs: [Go]
after: add numbers
file: mini/sum.go
names: [sum]
exercise: {write: [Sum]}
` + tinyPoll + `upstream:
  - {module: example.org/original, version: v1.2.0, file: pkg/sum.go}
  - {module: example.org/Replaced, version: v0.3.0, file: x.go}
`,
	"chapters/01-sum/testdata/output.txt": "6\n",
	"chapters/01-sum/testdata/bench.txt":  "a sum\n        mini\n   n=1   1ns\n",
	"chapters/02-mean/testdata/bench.txt": "a mean\n        mini\n   n=1   2ns\n",
	"chapters/01-sum/main.go":             tinyProgram("mini.Sum([]int{20, 3})"),
	"chapters/01-sum/naive/main.go":       tinyProgram("40"),
	"exercises/01-sum/README.md":          "# Write Sum\n\nWrite Sum.\n\n" + tinyHint + "<details>\n<summary>Hint 2</summary>\n\nUse a loop.\n</details>\n" + furtherSection,
	"exercises/01-sum/further.txtar":      furtherArchive(furtherTests, product, sums),
	"exercises/01-sum/wrong.txtar": mistakes(map[string]string{
		"first.go":  "// It skips the first number.\n// Caught by: TestASumContainsEveryNumber\npackage mini\n\nfunc Sum(xs []int) int {\n\tt := 0\n\tfor i := 1; i < len(xs); i++ {\n\t\tt += xs[i]\n\t}\n\treturn t\n}\n",
		"beyond.go": "// It reads one too many.\n// Caught by: TestASumContainsEveryNumber\npackage mini\n\nfunc Sum(xs []int) int {\n\tt := 0\n\tfor i := 0; i <= len(xs); i++ {\n\t\tt += xs[i]\n\t}\n\treturn t\n}\n",
	}),
	"chapters/02-mean/README.md": "# 2. Mean\n\nDivide.\n\n<!-- snippet file=mini/mean.go symbol=imports -->\n\n<!-- snippet file=mini/mean.go symbol=Mean -->\n\n" +
		"<!-- snippet file=mini/mean.go symbol=Mean.Of title=false -->\n\n" + costs + "\n",
	"chapters/02-mean/chapter.yaml": "title: Mean\npart: 1\nminutes: 7\nneeds: [chapter 1]\nafter: divide\nfile: mini/mean.go\n" + tinyPoll,

	// What the module cache would hold.
	".modcache/example.org/original@v1.2.0/pkg/sum.go": "package pkg\n",
	".modcache/example.org/!replaced@v0.3.0/x.go":      "package x\n",
}

// How a chapter prints what its exercise asks for.
const (
	tinyContract = "<!-- snippet file=mini/sum.go symbol=Sum body=false -->\n\n"
	tinyBody     = "<!-- snippet file=mini/sum.go symbol=Sum doc=false title=false -->\n\n"
	tinySolution = "<details>\n<summary>One way to write it</summary>\n\n" + tinyBody + "</details>\n\n"
)

const tinyHint = "<details>\n<summary>Hint 1</summary>\n\nStart at zero.\n</details>\n\n"

// tinyPoll is the question of each chapter.
const tinyPoll = `poll:
  question: What is the sum of 20 and 3?
  answers:
    - {text: "17", why: That is the difference.}
    - {text: "23", right: true}
    - {text: "60", why: That is the product.}
`

// tinyProgram ends with an exit code.
func tinyProgram(code string) string {
	return "package main\n\nimport (\n\t\"os\"\n\n\t\"example.com/tiny/mini\"\n)\n\nvar _ = mini.Sum\n\nfunc main() { os.Exit(" + code + ") }\n"
}

// mistakes is a wrong.txtar.
func mistakes(files map[string]string) string {
	var archive txtar.Archive
	for _, name := range sortedKeys(files) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(files[name])})
	}
	return string(txtar.Format(&archive))
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
	r.Order, r.patience = []string{"sum", "mean"}, time.Hour
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
