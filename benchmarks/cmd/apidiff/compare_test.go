package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/migrate"
)

const testPackages = "github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/"

var pretended = places{
	Paths: migrate.Paths{
		Theirs: testPackages + "theirs", Ours: testPackages + "ours",
		Moved: map[string]string{testPackages + "queues/theirs": testPackages + "queues/ours"},
	},
	object:  testPackages + "theirs/client.Object",
	request: testPackages + "theirs/reconcile.Request",
}

// comparePretended compares the packages in testdata; more is added to their reasons.
func comparePretended(t *testing.T, more ...*reason) *result {
	t.Helper()
	reasons, err := readReasons(filepath.Join("testdata", "explained.yaml"))
	require.NoError(t, err)
	reasons.Differences = append(reasons.Differences, more...)
	done, err := compare(".", pretended, reasons)
	require.NoError(t, err)
	return done
}

// TestEveryKindOfDifferenceIsFound holds that a user who reads the report learns of everything that
// would keep a file from compiling, and of nothing else.
func TestEveryKindOfDifferenceIsFound(t *testing.T) {
	done := comparePretended(t)
	for _, test := range []struct {
		what, in, name string
		want           []string // "present", "missing", or one line for each difference
	}{
		{"a constant", "thing", "Same", []string{"present"}},
		{"a constant's value", "thing", "OtherValue", []string{`OtherValue: "a" there, "b" here`}},
		{"a constant's type", "thing", "OtherType", []string{"OtherType: a constant of type `thing.Level` there, and of type `untyped int` here"}},
		{"a constant that is a function", "thing", "NoConstant", []string{"NoConstant: a constant there, and none here"}},
		{"an alias of an internal type", "thing", "Thing", []string{"present"}},
		{"a result that nobody can name", "thing", "Hidden", []string{"present"}},
		{"such a result with another field", "thing", "HiddenLess", []string{"HiddenLess: `func() *hidden.Unseen` there, `func() *thing.unseenLess` here"}},
		{"a type of a package that is not here yet", "thing", "Later", []string{"present"}},
		{"nothing at all", "thing", "Missing", []string{"missing"}},
		{"a function", "thing", "SameFunc", []string{"present"}},
		{"a parameter", "thing", "OtherParameter", []string{"OtherParameter: `func(a int)` there, `func(a string)` here"}},
		{"a variadic parameter", "thing", "OtherVariadic", []string{"OtherVariadic: `func(a ...int)` there, `func(a []int)` here"}},
		{"a function in a variable", "thing", "FuncVar", []string{"present"}},
		{"a variable", "thing", "Variable", []string{"present"}},
		{"a variable that is a function", "thing", "NoVariable", []string{"NoVariable: a variable there, a function here"}},
		{"a type that is a function", "thing", "NoType", []string{"NoType: a type there, and none here"}},
		{"a struct", "thing", "Struct", []string{
			"Struct.Changed: `int` there, `string` here",
			"Struct.Embedded: embedded on one side only",
			"Struct.Lost: a field that is missing",
			"Struct.Tagged: tag `json:\"a\"` there, `json:\"b\"` here",
			"Struct.ByPointer: a method of values there, and of pointers only here",
			"Struct.ChangedMethod: `func(int)` there, `func(string)` here",
			"Struct.LostMethod: a method that is missing"}},
		{"a struct with a slice", "thing", "Comparable", []string{"Comparable: can be compared with == there, and cannot here"}},
		{"a struct that is a slice", "thing", "NoStruct", []string{"NoStruct: a struct there, and none here"}},
		{"an interface", "thing", "Interface", []string{
			"Interface.Changed: `func(a int)` there, `func(a string)` here",
			"Interface.Lost: a method that is missing",
			"Interface.Added: only our interface demands it"}},
		{"an interface with a secret method", "thing", "Sealed", []string{"Sealed: only this package can implement it"}},
		{"an interface that is a struct", "thing", "NoInterface", []string{"NoInterface: an interface there, and none here"}},
		{"a map", "thing", "Map", []string{"present"}},
		{"a channel's direction", "thing", "OtherDirection", []string{"OtherDirection: `chan<- int` there, `<-chan int` here"}},
		{"an array's length", "thing", "OtherLength", []string{"OtherLength: `[2]int` there, `[3]int` here"}},
		{"a type of another name", "thing", "OtherNamed", []string{"OtherNamed: `func(thing.Level)` there, `func(thing.Grade)` here"}},
		{"a type that refers to itself", "thing", "Tree", []string{"present"}},
		{"a method that returns its own type", "thing", "Node", []string{"present"}},
		{"a generic type", "thing", "Generic", []string{"present"}},
		{"another generic type", "thing", "GenericOther", []string{"GenericOther.Items: `[]T` there, `map[string]T` here"}},
		{"a type that is not generic", "thing", "GenericLess", []string{"GenericLess: type parameters: 1 there, 0 here"}},

		{"an interface with type arguments", "handler", "Handler", []string{"present"}},
		{"a struct with type arguments", "handler", "Funcs", []string{"present"}},
		{"a function type with type arguments", "handler", "MapFunc", []string{"present"}},
		{"a field that was the type argument", "handler", "Changed", []string{"Changed.Object: `client.Object` there, `any` here"}},
		{"a Typed name", "handler", "TypedMapFunc", []string{"present"}},
		{"a Typed name that is missing", "handler", "TypedHandler", []string{"missing"}},
		{"a generic function of Typed types", "handler", "Wrap", []string{"present"}},
		{"one that takes no type arguments here", "handler", "WrapLess", []string{"WrapLess: type parameters: 2 there, 0 here"}},
		{"one with another result", "handler", "WrapOther", []string{"WrapOther: `func[object client.Object, request comparable](h handler.TypedHandler[object, request]) handler.Funcs` there, " +
			"`func[object client.Object, request comparable](h handler.Handler) handler.Handler` here"}},
		{"a stricter type parameter", "handler", "Constrained", []string{"Constrained: type parameter 1 is `client.Object` there, `interface{client.Object; comparable}` here"}},
		{"a generic struct of Typed types", "handler", "Wrapper", []string{"present"}},
		{"a struct that embeds a Typed one", "handler", "Embeds", []string{"Embeds.TypedFuncs: a field that is missing"}},
		{"one that embeds another", "handler", "EmbedsLess", []string{"EmbedsLess.TypedFuncs: a field that is missing"}},
		{"an option whose argument is secret", "handler", "Opt", []string{"present"}},
		{"what returns such an option", "handler", "Limit", []string{"present"}},
		{"types of a third party", "handler", "Limits", []string{"Limits.Gone: `[]map[string]*queue.Gone` there, `[]map[string]*int` here"}},

		{"a third party's generic interface", "queue", "TypedInterface", []string{"present"}},
		{"one that is an alias here", "queue", "TypedLimiter", []string{"present"}},
		{"one that is missing", "queue", "Gone", []string{"missing"}},
		{"one that no signature mentions", "queue", "Config", []string{"Config.Clock: a field that is missing"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			assert.Equal(t, test.want, found(t, done, test.in, test.name))
		})
	}
}

// found looks up what was found about a name.
func found(t *testing.T, done *result, in, name string) []string {
	t.Helper()
	for _, p := range slices.Concat(done.packages, done.borrowed) {
		if p.name != in && !(in == "queue" && strings.HasSuffix(p.name, "queues/theirs")) {
			continue
		}
		for _, f := range p.missing {
			if f.name == name {
				return []string{"missing"}
			}
		}
		for _, f := range p.differ {
			if f.name != name {
				continue
			}
			var lines []string
			for _, e := range f.how {
				lines = append(lines, difference{member: e.member}.named(name)+": "+e.text)
			}
			return lines
		}
		return []string{"present"}
	}
	t.Fatalf("package %s was not compared", in)
	return nil
}

// TestAThirdPartysPackagesAreComparedAndNotPorted holds that a program keeps them: the port command must not
// decide about their names.
func TestAThirdPartysPackagesAreComparedAndNotPorted(t *testing.T) {
	done := comparePretended(t)
	require.NotEmpty(t, done.borrowed)
	for _, p := range done.names.Packages {
		assert.False(t, strings.HasSuffix(p.Theirs, "queues/theirs"), p.Theirs)
	}
	assert.NotContains(t, strings.Join(done.complaints, "\n"), "theirs.Other")

	theirs := "github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/queues/theirs"
	done, err := compare(".", pretended, &reasons{Unrelated: []unrelated{{Package: theirs, Names: []string{"Gone"}}}})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(done.complaints, "\n"), "queues/theirs.Gone means something else here, and it does not exist on both sides")
}

// TestTheNumbersAddUp holds that no name is left out.
func TestTheNumbersAddUp(t *testing.T) {
	var handlers *packageResult
	for _, p := range comparePretended(t).packages {
		if p.name == "handler" {
			handlers = p
		}
	}
	require.NotNil(t, handlers)
	assert.Equal(t, 19, handlers.present+len(handlers.differ)+len(handlers.missing), "their package has 19 names")
	assert.Equal(t, 8, handlers.present)
}

// TestWhatIsOnlyHereIsListed holds that a reader finds what this library has beyond the original.
func TestWhatIsOnlyHereIsListed(t *testing.T) {
	done := comparePretended(t)
	i := slices.IndexFunc(done.packages, func(p *packageResult) bool { return p.name == "thing" })
	assert.Equal(t, []string{"Added", "Grade", "Struct.Added", "Struct.AddedMethod"}, done.packages[i].added)
	assert.Equal(t, []string{"ours/extra"}, done.added)
	assert.Empty(t, done.borrowed[0].added, "what our queues have beyond client-go's is not the report's subject")
}

// TestADifferenceNeedsAReason holds that nobody breaks users' programs by accident.
func TestADifferenceNeedsAReason(t *testing.T) {
	all := strings.Join(comparePretended(t).complaints, "\n")
	assert.Contains(t, all, "thing.OtherParameter differs, and nobody has said why: `func(a int)` there, `func(a string)` here")
	assert.Contains(t, all, "thing.Struct.Changed differs")
	assert.Contains(t, all, "queues/theirs.Gone is missing, and nobody has said why")
	assert.NotContains(t, all, "Struct.Lost differs", "it is explained as a member")
	assert.NotContains(t, all, "thing.Missing is missing", "it is explained as a name")

	all = strings.Join(comparePretended(t, &reason{Package: "thing", Name: "Struct", Why: "We like it so."}).complaints, "\n")
	assert.NotContains(t, all, "thing.Struct.Changed differs", "the reason is for all members")
}

// TestAReasonThatIsNotNeededIsAnError holds that the report does not apologise for what has been
// mended.
func TestAReasonThatIsNotNeededIsAnError(t *testing.T) {
	all := strings.Join(comparePretended(t,
		&reason{Package: "thing", Name: "SameFunc", Why: "x"},
		&reason{Package: "thing", Name: "Struct.Kept", Why: "x"}).complaints, "\n")
	assert.Contains(t, all, "explained.yaml explains SameFunc in thing, which is not different (any more)")
	assert.Contains(t, all, "explained.yaml explains Struct.Kept in thing, which is not different (any more)")
	assert.NotContains(t, all, "Struct.Lost in")
}

// TestPackagesAreAccountedFor holds that a package is compared, or that somebody says which
// chapter brings it, or why none does.
func TestPackagesAreAccountedFor(t *testing.T) {
	reasons := &reasons{Packages: []*packageReason{{Package: "later", Chapter: 20}, {Package: "thing", Chapter: 3}, {Package: "client", Chapter: 4}}}
	done, err := compare(".", pretended, reasons)
	require.NoError(t, err)
	all := strings.Join(done.complaints, "\n")
	assert.Contains(t, all, "package never is not here, and explained.yaml does not say which chapter brings it")
	assert.NotContains(t, all, "package later")
	assert.NotContains(t, all, "thing.Missing is missing", "a later chapter brings it")
	assert.Contains(t, all, "explained.yaml has an entry for package client, which exists and lacks no name (any more)")
	i := slices.IndexFunc(done.packages, func(p *packageResult) bool { return p.name == "thing" })
	assert.Equal(t, []string{"Missing"}, done.packages[i].coming)
	assert.Equal(t, 3, done.packages[i].chapter)
}

// TestTheReportShowsWhatWasFound compares a whole report with the one in testdata, which a reader
// should look at when it changes: UPDATE=1 writes it.
func TestTheReportShowsWhatWasFound(t *testing.T) {
	var text bytes.Buffer
	writeReport(&text, "the original", comparePretended(t))
	file := filepath.Join("testdata", "report.md")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String())
}

// TestABrokenListOfReasonsIsRefused holds that a typing error does not silence the comparison.
func TestABrokenListOfReasonsIsRefused(t *testing.T) {
	for _, test := range []struct{ what, text, want string }{
		{"an unknown field", "differences: [{package: a, name: b, whi: c}]", "field whi not found"},
		{"no reason", "differences: [{package: a, name: b}]", `"a", "b" and ""`},
		{"neither chapter nor reason", "packages: [{package: a}]", `package "a" needs a chapter`},
		{"chapter and reason", "packages: [{package: a, chapter: 3, why: b}]", `package "a" needs a chapter`},
	} {
		t.Run(test.what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "explained.yaml")
			require.NoError(t, os.WriteFile(file, []byte(test.text), 0o600))
			_, err := readReasons(file)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestTheReportIsUpToDate holds that docs/generated/api.md says what is true now.
func TestTheReportIsUpToDate(t *testing.T) {
	assert.NoError(t, run(true))
}
