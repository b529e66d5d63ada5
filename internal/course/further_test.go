package course

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

const (
	furtherSection = "\n## Go further\n\nWrite `func Product(xs []int) int`.\n"
	furtherTests   = `package mini

import "testing"

// Whoever orders two sheets of four gets eight stamps.
func TestAProductContainsEveryNumber(t *testing.T) {
	if got := Product([]int{2, 4}); got != 8 {
		t.Errorf("the product of 2 and 4 must be 8, got %d", got)
	}
}
`
	product = "func Product(xs []int) int {\n\tp := 1\n\tfor _, x := range xs {\n\t\tp *= x\n\t}\n\treturn p\n}\n"
)

// sums is a mistake: it adds.
var sums = strings.Replace(product, "*=", "+=", 1)

// furtherArchive is a further.txtar.
func furtherArchive(test, solution, mistake string) string {
	return mistakes(map[string]string{
		"further_test.go": test,
		"solution.go":     "package mini\n\n" + solution,
		"adds.go":         "// Bug: it adds.\n// Caught by: TestAProductContainsEveryNumber\npackage mini\n\n" + mistake,
	})
}

func goFurther(t *testing.T, r *Repo) (done bool, told string) {
	t.Helper()
	var out strings.Builder
	done, err := r.GoFurther(t.Context(), theExercise(t, r), &out)
	require.NoError(t, err)
	return done, out.String()
}

func TestOnlyWhoHasSolvedAnExerciseGoesFurther(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	for _, file := range []string{"", stub, sum("return 7")} {
		if file != "" {
			put(t, r.Root, "my/01-sum/sum.go", file)
		}
		done, told := goFurther(t, r)
		assert.False(t, done)
		assert.Equal(t, "exercise 1: go further in my/01-sum/sum.go\n\nFirst solve exercise 1: `make exercise-1` tests your file,\nand `make solve-1` fills in the reference.\n", told)
		assert.NoFileExists(t, r.Abs("my/01-sum/further_test.go"))
	}
}

func TestTheFirstRunThatGoesFurtherSaysTheTaskAndTheSignature(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": correctedSum})
	done, told := goFurther(t, r)
	assert.False(t, done)
	assert.Equal(t, `exercise 1: go further in my/01-sum/sum.go

Write `+"`func Product(xs []int) int`"+`.

The test is my/01-sum/further_test.go. The exercise's own tests must still pass.

Your code doesn't compile yet:

    my/01-sum/further_test.go:7:12: undefined: Product

Your file doesn't declare Product. It needs `+"`func Product(xs []int) int`"+`,
because my/01-sum/further_test.go:7 uses it like this:
`+"`if got := Product([]int{2, 4}); got != 8 {`"+`.

Next: edit my/01-sum/sum.go and run `+"`make further-1`"+` again.
`, told)
	assert.Equal(t, furtherTests, read(t, r, "my/01-sum/further_test.go"), "the learner can read the test")
}

func TestWhoGoesFurtherKeepsWhatTheExerciseHasTested(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": correctedSum})
	goFurther(t, r)
	put(t, r.Root, "my/01-sum/sum.go", correctedSum+sums)
	done, told := goFurther(t, r)
	assert.False(t, done)
	assert.NotContains(t, told, "Write `func", "the task was said")
	assert.Contains(t, gotest.OneLine(told), `2 of 3 tests pass. "A product contains every number" isn't true yet: the product of 2 and 4 must be 8, got 7. `)
}

// Many checks have no message: the comment on the test is all that a learner gets, and it isn't in mini's directory.
func TestTheCommentOfATestThatGoesFurtherIsTold(t *testing.T) {
	t.Parallel()
	silent := strings.Replace(furtherTests, `t.Errorf("the product of 2 and 4 must be 8, got %d", got)`, "t.Fail()", 1)
	r := tinyTree(t, map[string]string{
		"my/01-sum/sum.go":               correctedSum,
		"exercises/01-sum/further.txtar": furtherArchive(silent, product, sums),
	})
	goFurther(t, r)
	put(t, r.Root, "my/01-sum/sum.go", correctedSum+sums)
	_, told := goFurther(t, r)
	assert.Contains(t, gotest.OneLine(told), `"A product contains every number" isn't true yet: Whoever orders two sheets of four gets eight stamps. Change`)
	assert.NoError(t, r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, io.Discard), "the comment is enough")
}

func TestGoingFurtherIsDoneWhenAllTestsPass(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": correctedSum, "my/01-sum/product.go": "package mini\n\n" + product})
	done, told := goFurther(t, r)
	assert.True(t, done, "a file beside the learner's counts, too")
	assert.Contains(t, told, "Done: all tests pass on my/01-sum/sum.go, those of the exercise and those that go further.\n")

	_, told = try(t, r)
	assert.Contains(t, told, "Solved: all tests pass")
	assert.Contains(t, told, "Time left? `make further-1` goes further.\n")
	var out strings.Builder
	require.NoError(t, r.Progress(t.Context(), &out, io.Discard))
	assert.Contains(t, out.String(), "done         went further\n")
	assert.Contains(t, out.String(), "1 of 1 exercises done\nwent further: 1\n")

	put(t, r.Root, "my/01-sum/sum.go", correctedSum+"\nfunc init() { Sum(nil) }\n\nfunc spare() { panic(1) }\n")
	put(t, r.Root, "my/01-sum/product.go", "package mini\n\nfunc Product([]int) int { return 5 }\n")
	out.Reset()
	require.NoError(t, r.Progress(t.Context(), &out, io.Discard))
	assert.NotContains(t, out.String(), "went further")
	require.NoError(t, os.Remove(r.Abs("my/01-sum/product.go")))
	put(t, r.Root, "my/01-sum/sum.go", "package mini\n\nfunc Sum([]int) int { return 7 }\n\n"+product)
	done, told = goFurther(t, r)
	assert.False(t, done)
	assert.Contains(t, told, `"A sum contains every number" isn't true yet`, "and not: first solve the exercise")
}

// A teacher judges the exercise: the link is no work of the learner's, even where a tool has made a file of it.
func TestTheTestThatGoesFurtherIsNotHandedIn(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": correctedSum})
	goFurther(t, r)
	require.NoError(t, r.Submit(t.Context(), "ada", io.Discard))
	assert.NotContains(t, read(t, r, "my/ada.txtar"), "further")
	dir := aClass(t, map[string]string{"ben/01-sum/sum.go": correctedSum, "ben/01-sum/further_test.go": furtherTests})
	text, _ := classTable(t, r, dir, ClassOptions{})
	assert.Contains(t, text, "ben      solved", "it would not compile with that test")

	require.NoError(t, os.Remove(r.Abs("my/01-sum/further_test.go")))
	put(t, r.Root, "my/01-sum/further_test.go", furtherTests)
	_, err := r.Try(t.Context(), theExercise(t, r), false, io.Discard)
	assert.ErrorContains(t, err, "Give your file another name")
}

func TestVerifyProvesTheTaskThatGoesFurther(t *testing.T) {
	t.Parallel()
	wrong := sums
	for name, c := range map[string]struct{ test, solution, mistake, want string }{
		"a task that can be done":        {furtherTests, product, wrong, ""},
		"a solution that fails":          {strings.ReplaceAll(furtherTests, "8", "9"), product, wrong, "the solution in exercises/01-sum/further.txtar fails a test"},
		"a task that is done already":    {strings.ReplaceAll(furtherTests, "Product([]int{2, 4})", "Sum([]int{4, 4})"), product, "func Sum([]int) int { return 7 }\n", "the reference passes further_test.go"},
		"a mistake that no test notices": {furtherTests, product, strings.Replace(product, "p := 1", "p := 2 - 1", 1), "passes all tests"},
		"a mistake that another catches": {furtherTests, product, "func Sum([]int) int { return 7 }\n", `says that it is caught by "TestAProductContainsEveryNumber"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tinyTree(t, map[string]string{"exercises/01-sum/further.txtar": furtherArchive(c.test, c.solution, c.mistake)})
			err := r.Verify(t.Context(), []Exercise{theExercise(t, r)}, false, io.Discard)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestATaskThatGoesFurtherIsWhole(t *testing.T) {
	t.Parallel()
	const task, archive = "exercises/01-sum/README.md", "exercises/01-sum/further.txtar"
	loop := strings.Replace(furtherTests, "\tif got", "\tfor range map[int]int{1: 2, 3: 4} {\n\t}\n\tif got", 1)
	for name, c := range map[string]struct {
		tree map[string]string
		want string
	}{
		"no section":              {changed(t, task, furtherSection, ""), `exercises/01-sum/README.md needs a section "## Go further"`},
		"no archive":              {map[string]string{archive: ""}, "exercise 1 has no task that goes further"},
		"no test":                 {changed(t, archive, "further_test.go", "test.go"), "needs further_test.go, solution.go, and at least one mistake"},
		"no solution":             {changed(t, archive, "solution.go", "sum.go"), "needs further_test.go, solution.go, and at least one mistake"},
		"no mistake":              {map[string]string{archive: mistakes(map[string]string{"further_test.go": furtherTests, "solution.go": product})}, "needs further_test.go, solution.go, and at least one mistake"},
		"a mistake that is right": {map[string]string{archive: furtherArchive(furtherTests, product, product)}, "adds.go declares Product as the reference does"},
		"no such test":            {changed(t, archive, "Caught by: TestAProduct", "Caught by: TestTheProduct"), "adds.go of exercises/01-sum/further.txtar names no test that catches it"},
		"no comment":              {map[string]string{archive: furtherArchive(strings.Replace(furtherTests, "// Whoever orders two sheets of four gets eight stamps.\n", "", 1), product, sums)}, "further.txtar: TestAProductContainsEveryNumber needs a comment"},
		"a random order":          {map[string]string{archive: furtherArchive(loop, product, sums)}, "goes through its cases in a random order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tinyTree(t, c.tree)
			problems, err := r.CheckStructure(t.Context())
			require.NoError(t, err)
			assert.Contains(t, strings.Join(problems, "\n"), c.want)
		})
	}
}
