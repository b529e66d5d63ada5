package splice

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const reference = `// Package main counts.
package main

import (
	"fmt"
	"strings"
)

// stack is generic.
type stack[T any] struct{ items []T }

// push puts an item on top.
func (s *stack[T]) push(items ...T) int { // not a pop
	s.items = append(s.items, items...)
	return len(s.items)
}

// limit is a constant.
const limit = 3

// join has two results.
func join(words []string) (text string, _ error) {
	// region join
	return strings.Join(words, "+"), nil
	// endregion join
}

func first[T any](items []T, otherwise T) T {
	if len(items) == 0 {
		return otherwise
	}
	return items[0]
}

func main() {
	s := &stack[int]{}
	s.push(1)
	text, _ := join([]string{"a", "b"})
	fmt.Println(s.push(2, 3), text, first(s.items, 9), limit)
}
`

func parse(t *testing.T, name, text string) *File {
	t.Helper()
	f, err := Parse(name, []byte(text))
	require.NoError(t, err)
	return f
}

// patch is a bug as an author writes it.
const patch = `// It joins the wrong way round.
package main

import "slices"

func join(words []string) (string, error) {
	return reverse(words), nil
}

func reverse(words []string) string {
	slices.Reverse(words)
	return words[0]
}
`

func TestAFileWithABugIsTheReferenceButForTheBug(t *testing.T) {
	text, err := Render(parse(t, "", reference), parse(t, "", patch))
	require.NoError(t, err)
	formatted, err := format.Source(text)
	require.NoError(t, err)
	assert.Equal(t, string(formatted), string(text))
	assert.Contains(t, string(text), "import (\n\t\"fmt\"\n\t\"slices\"\n)\n", "strings is no longer used, slices is new")
	assert.Contains(t, string(text), "const limit = 3\n\n// join has two results.\nfunc join(words []string) (string, error) {\n\treturn reverse(words), nil\n}\n\nfunc first[T any]")
	assert.NotContains(t, string(text), "region")
	assert.Equal(t, "3 b 1 3\n", run(t, text, ""))
}

func TestEveryVersionRunsFromOneBinary(t *testing.T) {
	base := parse(t, "/src/reference.go", reference)
	patches := []*File{
		parse(t, "/src/one.go", patch),
		parse(t, "/src/two.go", "package main\n\nfunc (all *stack[T]) push(more ...T) int {\n\treturn -1\n}\n"),
		parse(t, "/src/three.go", "package main\n\nconst limit = 4\n"),
		parse(t, "/src/four.go", "package main\n\nfunc first[T any](items []T, otherwise T) T {\n\treturn otherwise\n}\n"),
		parse(t, "/src/five.go", "package main\n\nfunc first(items []int, otherwise int) int {\n\treturn 5\n}\n"),
		parse(t, "/src/six.go", "package main\n\nfunc join(words []string) (string, error) { return reverse(), nil }\n\nfunc reverse() string { return \"\" }\n"),
		parse(t, "/src/seven.go", "package main\n\nfunc (s stack[T]) push(more ...T) int { return 7 }\n"),
		parse(t, "/src/eight.go", "package main\n\nimport strings \"bytes\"\n\nfunc join([]string) (string, error) { return string(strings.ToUpper(nil)), nil }\n"),
	}
	text, apart, err := Dispatch(base, patches, "VERSION")
	require.NoError(t, err)
	assert.Equal(t, map[int]string{
		2: "limit is no function",
		4: "first has another signature",
		5: "reverse is a helper of another patch, too",
		6: "stack.push has another signature",
		7: "strings is an import of strings and of bytes",
	}, apart)
	binary := build(t, text)
	for version, want := range map[string]string{
		"": "3 a+b 1 3\n", "0": "3 a+b 1 3\n", "1": "3 b 1 3\n", "2": "-1 a+b 9 3\n", "4": "3 a+b 9 3\n",
	} {
		assert.Equal(t, want, output(t, binary, "VERSION="+version), "version %q", version)
	}
}

// A compiler error or a stack trace that named a line of the file that was put
// together would send its reader nowhere.
// The base calls what it gets from the type that it embeds, and must go on doing so when a patch is in the same binary.
func TestAMethodThatMayHideAPromotedOneIsCompiledOnItsOwn(t *testing.T) {
	base, err := Parse("", []byte("package p\n\nfunc (o *Outer) Ring() int { return o.value() }\n"))
	require.NoError(t, err)
	var patches []*File
	for _, text := range []string{"value() int { return 1 }", "helper() int { return 2 }", "Exported() int { return 3 }"} {
		patch, err := Parse("", []byte("package p\n\nfunc (o *Outer) "+text+"\n"))
		require.NoError(t, err)
		patches = append(patches, patch)
	}
	_, apart, err := Dispatch(base, patches, "VERSION")
	require.NoError(t, err)
	require.Equal(t, map[int]string{
		0: "Outer.value may hide a method that is promoted",
		2: "Outer.Exported may hide a method that is promoted",
	}, apart)
}

func TestPositionsAreThoseOfTheFileThatAPersonEdits(t *testing.T) {
	base := parse(t, "/src/reference.go", reference)
	bug := parse(t, "/src/bug.go", "// It does not compile.\npackage main\n\nfunc join(words []string) (string, error) {\n\treturn nothing, nil\n}\n")
	broken := parse(t, "/src/reference.go", reference+"\nfunc last() { return 1 }\n")
	for name, make := range map[string]func() ([]byte, error){
		"replaced": func() ([]byte, error) { return Replace(broken, bug) },
		"dispatched": func() ([]byte, error) {
			text, _, err := Dispatch(broken, []*File{bug}, "VERSION")
			return text, err
		},
	} {
		text, err := make()
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, text, 0o600))
		out, err := exec.Command("go", "build", "-o", os.DevNull, file).CombinedOutput()
		assert.Error(t, err)
		assert.Contains(t, string(out), "/src/bug.go:5:9: undefined: nothing", name)
		assert.Contains(t, string(out), "/src/reference.go:42:22: too many return values", name)
	}
	_, err := Replace(base, bug)
	require.NoError(t, err)
}

func TestAPatchThatChangesNothingIsReported(t *testing.T) {
	base := parse(t, "", reference)
	assert.Empty(t, Check(base, parse(t, "", patch)))
	assert.Equal(t, []string{
		"is in package other and not in main",
		"declares limit as the reference does: leave it out",
		"declares joyn, which the reference does not have and nothing in the file uses",
		"declares first twice",
	}, Check(base, parse(t, "", `package other

const limit = 3 // still

func joyn() { joyn() }

func first() {}

func first() {}
`)))
	assert.Equal(t, []string{"declares nothing"}, Check(base, parse(t, "", "package main\n")))
}

func TestAStubKeepsTheCommentsAndReturnsNothing(t *testing.T) {
	base := parse(t, "", `package stub

import (
	"strings"
	"time"
)

type state int

// a is the first.
//
// It has two paragraphs.
func a(x int) (when time.Duration, ok bool) {
	return time.Second, true
}

// b is the second.
func b() (state, error, *state, [2]int, []int) { return 1, nil, nil, [2]int{}, nil }

func c() { println(strings.ToUpper("")) }

func d() state { return 1 }
`)
	stub, err := Stub(base, []string{"a", "b", "c", "d"})
	require.NoError(t, err)
	text, err := Render(base, stub)
	require.NoError(t, err)
	assert.Equal(t, `package stub

import "time"

type state int

// a is the first.
//
// It has two paragraphs.
func a(x int) (when time.Duration, ok bool) {
	// Yours to write.
	return when, ok
}

// b is the second.
func b() (state, error, *state, [2]int, []int) {
	// Yours to write.
	var result1 state
	var result2 [2]int
	return result1, nil, nil, result2, nil
}

func c() {
	// Yours to write.
}

func d() state {
	// Yours to write.
	var result state
	return result
}
`, string(text))
	assert.Equal(t, []string{`"strings"`}, Missing(base, parse(t, "", string(text))))
	_, err = Stub(base, []string{"f"})
	assert.ErrorContains(t, err, "there is no function f")
}

// The stub would not compile, and a learner would begin with somebody else's mistake.
func TestAStubsResultHasNoParametersName(t *testing.T) {
	stub, err := Stub(parse(t, "", "package stub\n\ntype state int\n\nfunc a(_, result int) state { return 1 }\n"), []string{"a"})
	require.NoError(t, err)
	assert.Contains(t, string(stub.Bytes()), "var result1 state\n\treturn result1\n")
}

// k8s.io/api/core/v1 is package v1, and yaml.v3 is package yaml. An import that
// is dropped by mistake breaks the build of a correct file.
func TestAnImportIsKeptUnderAnyNameThatItsPathMayMean(t *testing.T) {
	for _, c := range []struct {
		path, use string
		kept      bool
	}{
		{"k8s.io/api/core/v1", "v1.Pod{}", true},
		{"example.com/yaml/v3", "yaml.Parse()", true},
		{"gopkg.in/yaml.v3", "yaml.Parse()", true},
		{"example.com/go-cmp", "cmp.Diff()", true},
		{"time", "time.Now()", true},
		{"time", "other.Now()", false},
		{"time", "func(time struct{ Now int }) int { return time.Now }", false},
	} {
		kept, err := used([]imported{{path: c.path}}, "\nvar x = "+c.use+"\n")
		require.NoError(t, err)
		assert.Equal(t, c.kept, len(kept) == 1, "%s %s", c.path, c.use)
	}
}

func build(t *testing.T, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), text, 0o600))
	binary := filepath.Join(dir, "program")
	out, err := exec.Command("go", "build", "-o", binary, filepath.Join(dir, "main.go")).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, text)
	return binary
}

func run(t *testing.T, text []byte, env string) string {
	t.Helper()
	return output(t, build(t, text), env)
}

func output(t *testing.T, binary, env string) string {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func TestTheDifferencesAreWhatOtherFilesMayMiss(t *testing.T) {
	base, err := Parse("", []byte("package a\n\ntype T struct{ n int }\n\nconst Most = 3\n\nfunc F(a, b int) error { return nil }\n\nfunc (t *T) G() int { return 1 }\n\nfunc H() {}\n"))
	require.NoError(t, err)
	file, err := Parse("", []byte("package a\n\ntype T struct{}\n\nfunc F(x int, y int) error { return err }\n\nfunc (u T) G() int { return 2 }\n\nfunc more() {}\n"))
	require.NoError(t, err)
	require.Equal(t, []Difference{
		{"T", "type T", "type T"},
		{"Most", "const Most", ""},
		{"T.G", "func (t *T) G() int", "func (u T) G() int"},
		{"H", "func H()", ""},
	}, Differences(base, file), "names of parameters, bodies and additions are the learner's own")
}
