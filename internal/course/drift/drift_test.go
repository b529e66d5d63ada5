package drift

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func declarations(t *testing.T, source string) []declaration {
	t.Helper()
	found, err := read("p.go", []byte("package p\n"+source))
	require.NoError(t, err)
	return found
}

func names(declarations []declaration) (names []string) {
	for _, d := range declarations {
		names = append(names, d.Name)
	}
	return names
}

func TestEveryDeclarationIsFoundByTheNameThatATextGivesIt(t *testing.T) {
	assert.Equal(t, []string{"T", "A", "B", "C", "V", "W", "F", "G.M", "P.M", "H.M", "init", "init (2)"}, names(declarations(t, `
type T struct{}
const (
	A = iota
	B
)
const C, _ = 1, 2
var V, W = F()
var _ = T{}
func F() (int, int) { return 1, 2 }
func (g G) M() {}
func (p *P[K]) M() {}
func (h *H[K, V]) M() {}
func init() {}
func init() { F() }
`)))
	_, err := read("p.go", []byte("package p\nfunc {"))
	assert.ErrorContains(t, err, "reading p.go: ")
}

// Only what the compiler reads can make a sentence about the original wrong.
func TestCommentsAndFormattingAreNoChange(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"a doc comment", "// Old.\nfunc F() {}", "// New,\n// and longer.\nfunc F() {}"},
		{"a comment in the code", "func F() { g() /* old */ }", "func F() {\n\t// new\n\tg()\n}"},
		{"line breaks between arguments", "func F() { g(1, 2) }", "func F() {\n\tg(\n\t\t1,\n\t\t2,\n\t)\n}"},
		{"line breaks in a literal", "var F = []int{1, 2}", "var F = []int{\n\t1,\n\n\t2,\n}"},
		{"alignment of fields", "type F struct {\n\ta int // a\n\tbcd string `x`\n}", "type F struct {\n\ta int\n\n\tbcd    string `x`\n}"},
		{"a group of one", "const F = 1", "const (\n\tF = 1\n)"},
		{"a neighbour without iota", "const (\n\tF = 1\n\tG = 2\n)", "const (\n\tE = 0\n\tF = 1\n)"},
	} {
		before, after := declarations(t, c.before), declarations(t, c.after)
		old, _ := find(before, "F")
		now, ok := find(after, "F")
		require.True(t, ok, c.name)
		assert.Equal(t, old.tokens, now.tokens, c.name)
	}
}

func TestWhatTheCompilerReadsIsAChange(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"a literal", `func F() { g("a  b") }`, `func F() { g("a b") }`},
		{"a result", "func F() {}", "func F() error { return nil }"},
		{"a receiver", "func (f F) F() {}", "func (f *F) F() {}"},
		{"a field", "type F struct{ a int }", "type F struct{ a, b int }"},
		{"an alias", "type F = G", "type F G"},
		{"a value", "const F = 1", "const F = 2"},
		{"a constant that became a variable", "const F = 1", "var F = 1"},
		{"a place that iota counts", "const (\n\tE = iota\n\tF\n)", "const (\n\tE = iota\n\tD\n\tF\n)"},
		{"a repeated type", "const (\n\tE G = iota\n\tF\n)", "const (\n\tE H = iota\n\tF\n)"},
	} {
		before, after := declarations(t, c.before), declarations(t, c.after)
		assert.NotEqual(t, before[len(before)-1].tokens, after[len(after)-1].tokens, c.name)
	}
}

func TestEachKindOfChangeIsFoundOnce(t *testing.T) {
	before := goPackage{
		"a/old.go":   declarations(t, "func Same() {}\nfunc Changed() {}\nfunc Gone() {}\nfunc Near() {}\nfunc NearChanged() {}\nfunc Far() {}\nfunc FarChanged() {}"),
		"a/other.go": declarations(t, "func Comes() {}\nfunc ComesChanged() {}"),
	}
	after := goPackage{
		"a/old.go":   declarations(t, "func New() {}\nfunc ComesChanged() { New() }\nfunc Comes() {}\nfunc Changed() { New() }\nfunc Same() {}"),
		"a/third.go": declarations(t, "func NearChanged() { New() }\nfunc Near() {}"),
		"a/z.go":     declarations(t, "func Near() {}"), // another platform's
	}
	elsewhere := map[string][]declaration{
		"b/b.go":   declarations(t, "func Gone(int) {}\nfunc FarChanged() { New() }\nfunc Far() {}"),
		"c/old.go": declarations(t, "func FarChanged() { New() }"),
	}
	far := func(old declaration) (string, declaration, bool) {
		for _, file := range []string{"b/b.go", "c/old.go"} {
			for _, d := range elsewhere[file] {
				if isSame(old, "a/old.go", d, file) {
					return file, d, true
				}
			}
		}
		return "", declaration{}, false
	}
	type seen struct {
		name    string
		kind    string
		file    string
		differs bool
	}
	var got []seen
	for _, c := range compare("a/old.go", before, after, far) {
		got = append(got, seen{c.Name, c.Kind.String(), c.File, c.Differs()})
	}
	assert.Equal(t, []seen{
		{"Changed", "changed", "", true},
		{"Gone", "removed", "", true},
		{"Near", "moved", "a/third.go", false},
		{"NearChanged", "moved", "a/third.go", true},
		{"Far", "moved", "b/b.go", false},
		{"FarChanged", "moved", "c/old.go", true},
		{"New", "added", "", true},
		{"ComesChanged", "added", "a/other.go", true},
		{"Comes", "added", "a/other.go", false},
	}, got)
	assert.Empty(t, compare("a/old.go", before, before, nil))
}

// The text says `q.AddAfter` and means the method of a type that it has just named.
func TestANameInATextMayLeaveTheTypeOut(t *testing.T) {
	for _, c := range []struct {
		text, declaration string
		want              bool
	}{
		{"NewReflector", "NewReflector", true},
		{"cache.NewReflector", "NewReflector", true},
		{"Reflector.Run", "Reflector.Run", true},
		{"cache.Reflector.Run", "Reflector.Run", true},
		{"Run", "Reflector.Run", true},
		{"r.Run", "Reflector.Run", true},
		{"Queue.Run", "Reflector.Run", false},
		{"Reflector.Run", "Run", false},
		{"Reflector", "Reflector.Run", false},
		{"Run.Reflector", "Reflector", false},
	} {
		assert.Equal(t, c.want, means(c.text, c.declaration), "%s, %s", c.text, c.declaration)
	}
	m := Mentions{}
	m.Read("x.md", "One `a.B(c.D)` and\n`tools/cache/E.go`.\n\n- `F`\n  and `F\n  G`\n\n    H\n\n```\n`I`\n```\n")
	in := func(line int) Place { return Place{"x.md", line} }
	assert.Equal(t, Mentions{"a.B": {in(1)}, "c.D": {in(1)}, "F": {in(4), in(5)}, "G": {in(6)}}, m)
}
