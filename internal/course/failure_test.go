package course

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// asJSON makes the output of go test -json of what a failing test printed.
func asJSON(t *testing.T, test, output string) string {
	t.Helper()
	var out strings.Builder
	enc := json.NewEncoder(&out)
	write := func(e testEvent) { assert.NoError(t, enc.Encode(e)) }
	write(testEvent{Action: "run", Package: "example.com/x/lib", Test: test})
	for line := range strings.Lines(output) {
		write(testEvent{Action: "output", Package: "example.com/x/lib", Test: test, Output: line})
	}
	write(testEvent{Action: "fail", Package: "example.com/x/lib", Test: test})
	write(testEvent{Action: "fail", Package: "example.com/x/lib"})
	return out.String()
}

func judged(t *testing.T, output string) Failure {
	t.Helper()
	return judge(readTestLog(strings.NewReader(asJSON(t, "TestX", output))), []string{"./lib"}, []string{"lib/a.go"})
}

func TestAnAssertionIsTakenApartIntoExpectedActualAndMeaning(t *testing.T) {
	f := judged(t, `=== RUN   TestX
    a_test.go:41: 
        	Error Trace:	/repo/lib/a_test.go:41
        	Error:      	Not equal: 
        	            	expected: "812"
        	            	actual  : "811"
        	            	
        	            	Diff:
        	            	--- Expected
        	            	+++ Actual
        	            	@@ -1 +1 @@
        	            	-812
        	            	+811
        	Test:       	TestX
        	Messages:   	a watch that resumes too early
        	            	delivers events twice
    a_test.go:42: 
        	Error Trace:	/repo/lib/a_test.go:42
        	Error:      	Should be true
        	Test:       	TestX
--- FAIL: TestX (0.00s)
`)
	assert.Equal(t, Failure{Status: Failing, Package: "example.com/x/lib", Test: "TestX", At: "a_test.go:41",
		Expected: `"812"`, Actual: `"811"`, Message: "a watch that resumes too early delivers events twice"}, f)
	assert.Equal(t, `a watch that resumes too early delivers events twice (expected "812", but got "811").`, f.outcome("unused"))
}

func TestOtherAssertionsKeepTheirOwnWords(t *testing.T) {
	testify := func(text string) Failure {
		return judged(t, "    a_test.go:9: \n        \tError Trace:\t/x/a_test.go:9\n        \tError:      \t"+text+"\n        \tTest:       \tTestX\n")
	}
	assert.Equal(t, "expected true, but got false. Why.", testify("Should be true").outcome("why"))
	assert.Equal(t, "got nil. Why.", testify("Both arguments must be pointers").outcome("why"))
	assert.Equal(t, "expected false, but got true.", testify("Should be false").outcome(""))
	assert.Equal(t, "Received unexpected error: boom. Why.", testify("Received unexpected error:\n        \t            \tboom").outcome("why"))
	assert.Equal(t, `"[a]" should have 2 item(s), but has 1.`, testify(`"[a]" should have 2 item(s), but has 1`).outcome(""))

	assert.Equal(t, "expected [1s 2s], but got [500ms].",
		testify("Not equal: \n        \t            \texpected: []time.Duration{1000000000, 2000000000}\n        \t            \tactual  : []time.Duration{500000000}").outcome(""))

	f := judged(t, "    a_test.go:7: the second list\n        must start at 7\n    a_test.go:8: not this\n")
	assert.Equal(t, "the second list must start at 7.", f.outcome(""))
	assert.Equal(t, "a_test.go:7", f.At)
}

func TestCrashesAreToldApart(t *testing.T) {
	for _, c := range []struct {
		output string
		status Status
		want   string
	}{
		{"panic: deadlock: all goroutines in bubble are blocked [recovered, repanicked]\n\ngoroutine 7 [running]:\n", Deadlocked,
			"every goroutine waits for another"},
		{"panic: deadlock: main bubble goroutine has exited but blocked goroutines remain\n", Deadlocked,
			"a goroutine that the code started still waits"},
		{"==================\nWARNING: DATA RACE\nRead at 0x1 by goroutine 10:\n  lib.F()\n      /x/lib/a.go:6 +0x2e\n", Raced,
			"(a data race) (lib/a.go:6)"},
		{"fatal error: concurrent map writes\n", Panicked, "the same map without a lock"},
		{"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n", Panicked, "a function calls itself without end"},
		{"panic: assignment to entry in nil map\n", Panicked, "make it first"},
		{"panic: test timed out after 30s\n\trunning tests:\n\t\tTestX (30s)\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\ngoroutine 8 [sync.Mutex.Lock, 2 minutes]:\nlib.F()\n\t/x/lib/a.go:12 +0x4\n", TimedOut,
			"after 30s and was stopped (lib/a.go:12): it waits for a lock that is not released"},
		{"panic: test timed out after 30s\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\ngoroutine 8 [running]:\n\tgoroutine running on other thread; stack unavailable\ncreated by testing.y() in goroutine 1\n\t/go/testing.go:2 +0x1\n", TimedOut,
			"after 30s and was stopped: a loop never ends"},
		{"panic: test timed out after 30s\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\ngoroutine 8 [runnable, 1 minutes]:\ntesting.y()\n\t/go/testing.go:2 +0x1\n", TimedOut,
			"after 30s and was stopped: a loop never ends"},
	} {
		f := judged(t, c.output)
		assert.Equal(t, c.status, f.Status, c.output)
		r := &Repo{Root: t.TempDir(), Module: "example.com/x"}
		assert.Contains(t, r.happened(f, ""), c.want)
		assert.NotContains(t, r.happened(f, ""), "or something is waited for", "each of these can be told")
	}
}

// test2json takes the words of a panic for those of the test around the subtest that panicked.
func TestAPanicInASubtestIsExplainedAsAPanic(t *testing.T) {
	around := strings.ReplaceAll(asJSON(t, "TestX", "--- FAIL: TestX (0.00s)\npanic: runtime error: invalid memory address or nil pointer dereference [recovered, repanicked]\n\nlib.F()\n\t/x/lib/a.go:12 +0x4\n"), `{"Action":"run"`, `{"Action":"start"`)
	run := `{"Action":"run","Package":"example.com/x/lib","Test":"TestX"}` + "\n"
	f := judge(readTestLog(strings.NewReader(run+asJSON(t, "TestX/case", "--- FAIL: TestX/case (0.00s)\n")+around)), []string{"./lib"}, []string{"lib/a.go"})
	assert.Equal(t, Failure{Status: Panicked, Package: "example.com/x/lib", Test: "TestX/case", In: "lib/a.go", Line: 12,
		Detail: "runtime error: invalid memory address or nil pointer dereference"}, f)

	f = judge(readTestLog(strings.NewReader(run+asJSON(t, "TestX/case", "    a_test.go:1: wrong\n")+asJSON(t, "TestX/later", "")+around)), []string{"./lib"}, []string{"lib/a.go"})
	assert.Equal(t, Failing, f.Status, "the panic is that of a later case")
	assert.Equal(t, "wrong", f.Message)
}

func TestAProgramThatEndsItselfIsNotTakenForAPass(t *testing.T) {
	log := readTestLog(strings.NewReader(`{"Action":"run","Package":"x/lib","Test":"TestX"}
{"Action":"output","Package":"x/lib","Output":"exit status 2\n"}
{"Action":"fail","Package":"x/lib"}
`))
	f := judge(log, []string{"./lib"}, []string{"lib/a.go"})
	assert.Equal(t, Panicked, f.Status)
	assert.Contains(t, f.Detail, "os.Exit")
}

func TestTheInnermostFirstFailureCountsInTheOrderOfTheExercise(t *testing.T) {
	log := readTestLog(strings.NewReader(
		strings.ReplaceAll(asJSON(t, "TestLater", "    b_test.go:1: other\n"), "x/lib", "x/chapters/01-a") +
			asJSON(t, "TestX", "") + asJSON(t, "TestX/first_case", "    a_test.go:1: inner\n") + asJSON(t, "TestZ", "")))
	f := judge(log, []string{"./lib", "./chapters/01-a"}, nil)
	assert.Equal(t, "TestX/first_case", f.Test)
	assert.Equal(t, "inner", f.Message)
	f = judge(log, []string{"./chapters/01-a", "./lib"}, nil)
	assert.Equal(t, "TestLater", f.Test)
}

func TestAGoCommandThatCannotStartIsReportedInItsOwnWords(t *testing.T) {
	f := judge(readTestLog(strings.NewReader("go: no such tool \"compile\"\n")), nil, nil)
	assert.Equal(t, Failure{Status: Broken, Detail: `go: no such tool "compile"`}, f)
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
