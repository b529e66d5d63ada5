package course

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// Of an exercise with many functions, one is worth more than the name of a file.
func TestOfManyFunctionsTheOneThatPanicsIsNamed(t *testing.T) {
	r := &Repo{Root: t.TempDir(), Module: "example.com/x"}
	e := Exercise{Function: []string{"A", "B", "C", "D"}}
	panics := gotest.Failure{Status: gotest.Panicked, Test: "TestX", Detail: "boom", Function: "C", In: "my/a.go", Line: 3}
	assert.Contains(t, gotest.OneLine(r.explain(e, panics, "my/a.go")), "the code panics in C (my/a.go:3): boom. Change C in my/a.go.")
	panics.Function = "helper"
	assert.Contains(t, gotest.OneLine(r.explain(e, panics, "my/a.go")), "the code panics in helper (my/a.go:3): boom. Change my/a.go.")
	waits := gotest.Failure{Status: gotest.Deadlocked, Test: "TestX", Function: "C", Waits: []gotest.Waiting{{Function: "C", In: "my/a.go", Line: 3, State: "sync.Cond.Wait"}}}
	assert.Contains(t, gotest.OneLine(r.explain(e, waits, "my/a.go")), "Change my/a.go.", "the Signal may be missing anywhere")
}

// One rounding is off, and 20 of 21 tests hold: whoever hears of the first only gives up too early.
func TestALearnerHearsHowManyTestsPassAndWhichOthersFail(t *testing.T) {
	for _, c := range []struct {
		failure gotest.Failure
		want    string
	}{
		{gotest.Failure{Test: "TestB", Passed: 3, Others: []string{"TestD", "TestF"}},
			`3 of 6 tests pass. Also failing: "D" and "F".`},
		{gotest.Failure{Test: "TestA", Others: []string{"TestB", "TestC", "TestD", "TestE", "TestF"}},
			`0 of 6 tests pass. Also failing: "B", "C", "D", "E" and "F".`},
		{gotest.Failure{Test: "TestB", Passed: 1, Others: []string{"TestC"}, Ended: gotest.Deadlocked},
			`1 of 6 tests pass. The code waits forever in "C", so later tests weren't run (3). Also failing: "C".`},
		{gotest.Failure{Test: "TestC", Passed: 2, Ended: gotest.Deadlocked},
			"2 of 6 tests pass. The code waits forever in the test below, so later tests weren't run (3). "},
		{gotest.Failure{Test: "TestB", Passed: 1, Ended: gotest.Panicked},
			"1 of 6 tests pass. The code panics in the test below, so later tests weren't run (4). "},
		{gotest.Failure{Test: "TestB", Passed: 5}, "5 of 6 tests pass. "},
	} {
		assert.Equal(t, c.want, Exercise{Tests: make([]string, 6)}.count(c.failure, nil)+" "+others(c.failure))
	}
	assert.Equal(t, `Also failing: "B", "C", "D", "E", "F" and 2 more.`,
		others(gotest.Failure{Others: []string{"TestB", "TestC", "TestD", "TestE", "TestF", "TestG", "TestH"}}))
}

func TestTestNamesReadAsSentences(t *testing.T) {
	for name, want := range map[string]string{
		"TestACursorResumesAfterTheLastBookmark":       "A cursor resumes after the last bookmark",
		"TestA410GoneStartsARelist/paged_list":         "A 410 gone starts a relist (paged list)",
		"TestTheHTTPStatusIsKept":                      "The HTTP status is kept",
		"Test_a_name_with_underscores":                 "a name with underscores",
		"TestX/a/b":                                    "X (a, b)",
		"TestABookmarkOnlyMovesTheResourceVersion/RV1": "A bookmark only moves the resource version (RV1)",
	} {
		assert.Equal(t, want, sentence(name))
	}
}
