package gotest

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
	return Judge(ReadLog(strings.NewReader(asJSON(t, "TestX", output))), []string{"./lib"}, []string{"lib/a.go"})
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
	assert.Equal(t, `a watch that resumes too early delivers events twice (expected "812", but got "811").`, f.Outcome("unused"))
}

func TestOtherAssertionsKeepTheirOwnWords(t *testing.T) {
	testify := func(text string) Failure {
		return judged(t, "    a_test.go:9: \n        \tError Trace:\t/x/a_test.go:9\n        \tError:      \t"+text+"\n        \tTest:       \tTestX\n")
	}
	assert.Equal(t, "expected true, but got false. Why.", testify("Should be true").Outcome("why"))
	assert.Equal(t, "got nil. Why.", testify("Both arguments must be pointers").Outcome("why"))
	assert.Equal(t, "expected false, but got true.", testify("Should be false").Outcome(""))
	assert.Equal(t, "Received unexpected error: boom. Why.", testify("Received unexpected error:\n        \t            \tboom").Outcome("why"))
	assert.Equal(t, `"[a]" should have 2 item(s), but has 1.`, testify(`"[a]" should have 2 item(s), but has 1`).Outcome(""))

	assert.Equal(t, "expected [1s 2s], but got [500ms].",
		testify("Not equal: \n        \t            \texpected: []time.Duration{1000000000, 2000000000}\n        \t            \tactual  : []time.Duration{500000000}").Outcome(""))

	f := judged(t, "    a_test.go:7: the second list\n        must start at 7\n    a_test.go:8: not this\n")
	assert.Equal(t, "the second list must start at 7.", f.Outcome(""))
	assert.Equal(t, "a_test.go:7", f.At)
}

// bubble is a goroutine as a stack trace shows it.
func bubble(state, call, place string) string {
	return "goroutine 7 [" + state + ", synctest bubble 1]:\nsync.x(0x1)\n\t/go/sync/x.go:1 +0x1\n" + call + "\n\t/x/lib/" + place +
		" +0x4\ncreated by x/lib.Start in goroutine 6\n\t/x/lib/a.go:1 +0x1\n\n"
}

func TestCrashesAreToldApart(t *testing.T) {
	for _, c := range []struct {
		output string
		status Status
		want   string
	}{
		{"panic: deadlock: all goroutines in bubble are blocked [recovered, repanicked]\n\ngoroutine 7 [running]:\n", Deadlocked,
			"nothing can go on: the test waits for something that never happens. Look for a channel that no goroutine sends to or closes, a Cond without Signal or Broadcast"},
		{"panic: deadlock: main bubble goroutine has exited but blocked goroutines remain\n", Deadlocked,
			"the test is over, but a goroutine is still waiting"},
		{"panic: deadlock: all goroutines in bubble are blocked [recovered, repanicked]\n\ngoroutine 5 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\n" +
			bubble("chan receive (durable)", "x/lib.later(0x1)", "b_test.go:3") + bubble("sync.WaitGroup.Wait (durable)", "x/lib.(*Pool[...]).Run(0x1)", "a.go:24") +
			bubble("sync.Cond.Wait (durable)", "x/lib.(*Pool[...]).Get.func1()", "a.go:15") + bubble("sync.Cond.Wait (durable)", "x/lib.(*Pool[...]).Get.func1()", "a.go:15"), Deadlocked,
			"nothing can go on: Pool.Run (lib/a.go:24) waits in WaitGroup.Wait: a Done is missing, or a goroutine doesn't end; " +
				"Pool.Get (lib/a.go:15) waits in Cond.Wait: a Signal or Broadcast is missing, or its condition never becomes true"},
		{"panic: deadlock: main bubble goroutine has exited but blocked goroutines remain\n\ngoroutine 5 [running]:\n\n" +
			bubble("chan receive (durable)", "x/lib.Follow.func1()", "a.go:9"), Deadlocked,
			"still waiting: Follow (lib/a.go:9) waits to receive from a channel; no goroutine sends to it or closes it. If your code started it"},
		{"panic: test timed out after 30s\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\n" +
			bubble("sync.Cond.Wait (durable)", "x/lib.Wait()", "a.go:15") + bubble("runnable", "x/lib.Spin()", "a.go:33"), TimedOut,
			"after 30s and was stopped: Spin (lib/a.go:33) does not end: a loop never ends"},
		{"==================\nWARNING: DATA RACE\nRead at 0x1 by goroutine 10:\n  lib.F()\n      /x/lib/a.go:6 +0x2e\n", Raced,
			"(a data race) in F (lib/a.go:6)"},
		{"fatal error: concurrent map writes\n", Panicked, "the same map without a lock"},
		{"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n", Panicked, "a function calls itself without end"},
		{"panic: assignment to entry in nil map\n", Panicked, "make it first"},
		{"panic: test timed out after 30s\n\trunning tests:\n\t\tTestX (30s)\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\ngoroutine 8 [sync.Mutex.Lock, 2 minutes]:\nlib.F()\n\t/x/lib/a.go:12 +0x4\n", TimedOut,
			"after 30s and was stopped: F (lib/a.go:12) waits for a mutex that stays locked: an Unlock is missing, or this goroutine holds it already"},
		{"panic: test timed out after 30s\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\ngoroutine 8 [running]:\n\tgoroutine running on other thread; stack unavailable\ncreated by testing.y() in goroutine 1\n\t/go/testing.go:2 +0x1\n", TimedOut,
			"after 30s and was stopped: a loop never ends"},
		{"panic: test timed out after 30s\n\ngoroutine 9 [running]:\ntesting.x()\n\t/go/testing.go:1 +0x1\n\ngoroutine 8 [runnable, 1 minutes]:\ntesting.y()\n\t/go/testing.go:2 +0x1\n", TimedOut,
			"after 30s and was stopped: a loop never ends"},
	} {
		f := judged(t, c.output)
		assert.Equal(t, c.status, f.Status, c.output)
		assert.Contains(t, f.PlainCrash(), c.want)
	}
}

// One rounding is off, and 20 of 21 tests hold: whoever hears of the first only gives up too early.
func TestAllTestsAreCountedUpToTheOneThatEndsTheRun(t *testing.T) {
	passes := func(test string) string {
		return strings.ReplaceAll(strings.SplitN(asJSON(t, test, ""), "\n{\"Action\":\"fail\",\"Package\":\"example.com/x/lib\"}", 2)[0], `"fail"`, `"pass"`)
	}
	fails := func(test, output string) string { return asJSON(t, test, output) }
	count := func(all ...string) Failure {
		return Judge(ReadLog(strings.NewReader(strings.Join(all, ""))), []string{"./lib"}, []string{"lib/a.go"})
	}

	f := count(passes("TestA"), fails("TestB", "    a_test.go:1: wrong\n"), passes("TestC"), fails("TestD", "    a_test.go:2: too\n"), passes("TestE"), fails("TestF", ""))
	assert.Equal(t, "wrong", f.Message)
	assert.Equal(t, 3, f.Passed)
	assert.Equal(t, []string{"TestD", "TestF"}, f.Others)
	assert.Empty(t, f.Ended)

	f = count(fails("TestA", ""), fails("TestB", ""), fails("TestC", ""))
	assert.Equal(t, "TestA", f.Test)
	assert.Zero(t, f.Passed)
	assert.Equal(t, []string{"TestB", "TestC"}, f.Others)

	deadlock := "--- FAIL: TestC (0.00s)\npanic: deadlock: all goroutines in bubble are blocked [recovered, repanicked]\n\n" + bubble("select", "x/lib.Run()", "a.go:7")
	f = count(passes("TestA"), fails("TestB", "    a_test.go:1: wrong\n"), fails("TestC", deadlock))
	assert.Equal(t, Failing, f.Status, "what comes later is not the reason")
	assert.Equal(t, "wrong", f.Message)
	assert.Equal(t, 1, f.Passed)
	assert.Equal(t, []string{"TestC"}, f.Others)
	assert.Equal(t, Deadlocked, f.Ended)

	f = count(passes("TestA"), passes("TestB"), fails("TestC", deadlock))
	assert.Equal(t, Deadlocked, f.Status)
	assert.Equal(t, 2, f.Passed)
	assert.Equal(t, Deadlocked, f.Ended)

	// A check that fails leaves the test's goroutines behind.
	left := "    a_test.go:9: Done woke no worker\n--- FAIL: TestC (0.00s)\npanic: deadlock: main bubble goroutine has exited but blocked goroutines remain\n\n" + bubble("sync.Cond.Wait", "x/lib.Get()", "a.go:7")
	f = count(passes("TestA"), passes("TestB"), fails("TestC", left))
	assert.Equal(t, Failing, f.Status)
	assert.Equal(t, "Done woke no worker", f.Message)
	assert.Equal(t, Deadlocked, f.Ended)

	f = count(passes("TestA"), fails("TestB", "WARNING: DATA RACE\n"), passes("TestC"))
	assert.Equal(t, Raced, f.Status)
	assert.Empty(t, f.Ended, "the tests after a data race are run")
	f = count(passes("TestA"), fails("TestB", "WARNING: DATA RACE\npanic: boom\n"))
	assert.Equal(t, Raced, f.Status)
	assert.Equal(t, 1, f.Passed)
	assert.Equal(t, Panicked, f.Ended)
}

// test2json takes the words of a panic for those of the test around the subtest that panicked.
func TestAPanicInASubtestIsExplainedAsAPanic(t *testing.T) {
	around := strings.ReplaceAll(asJSON(t, "TestX", "--- FAIL: TestX (0.00s)\npanic: runtime error: invalid memory address or nil pointer dereference [recovered, repanicked]\n\nlib.F()\n\t/x/lib/a.go:12 +0x4\n"), `{"Action":"run"`, `{"Action":"start"`)
	run := `{"Action":"run","Package":"example.com/x/lib","Test":"TestX"}` + "\n"
	f := Judge(ReadLog(strings.NewReader(run+asJSON(t, "TestX/case", "--- FAIL: TestX/case (0.00s)\n")+around)), []string{"./lib"}, []string{"lib/a.go"})
	assert.Equal(t, Failure{Status: Panicked, Package: "example.com/x/lib", Test: "TestX/case", In: "lib/a.go", Line: 12, Function: "F",
		Detail: "runtime error: invalid memory address or nil pointer dereference", Ended: Panicked}, f)

	f = Judge(ReadLog(strings.NewReader(run+asJSON(t, "TestX/case", "    a_test.go:1: wrong\n")+asJSON(t, "TestX/later", "")+around)), []string{"./lib"}, []string{"lib/a.go"})
	assert.Equal(t, Failing, f.Status, "the panic is that of a later case")
	assert.Equal(t, "wrong", f.Message)
}

func TestAProgramThatEndsItselfIsNotTakenForAPass(t *testing.T) {
	log := ReadLog(strings.NewReader(`{"Action":"run","Package":"x/lib","Test":"TestX"}
{"Action":"output","Package":"x/lib","Output":"exit status 2\n"}
{"Action":"fail","Package":"x/lib"}
`))
	f := Judge(log, []string{"./lib"}, []string{"lib/a.go"})
	assert.Equal(t, Panicked, f.Status)
	assert.Contains(t, f.Detail, "os.Exit")
}

func TestTheInnermostFirstFailureCountsInTheOrderOfTheExercise(t *testing.T) {
	log := ReadLog(strings.NewReader(
		strings.ReplaceAll(asJSON(t, "TestLater", "    b_test.go:1: other\n"), "x/lib", "x/chapters/01-a") +
			asJSON(t, "TestX", "") + asJSON(t, "TestX/first_case", "    a_test.go:1: inner\n") + asJSON(t, "TestZ", "")))
	f := Judge(log, []string{"./lib", "./chapters/01-a"}, nil)
	assert.Equal(t, "TestX/first_case", f.Test)
	assert.Equal(t, "inner", f.Message)
	f = Judge(log, []string{"./chapters/01-a", "./lib"}, nil)
	assert.Equal(t, "TestLater", f.Test)
}

func TestAGoCommandThatCannotStartIsReportedInItsOwnWords(t *testing.T) {
	f := Judge(ReadLog(strings.NewReader("go: no such tool \"compile\"\n")), nil, nil)
	assert.Equal(t, Failure{Status: Broken, Detail: `go: no such tool "compile"`}, f)
}

func TestOnlyWhatTheCodePrintsCountsAsPrinted(t *testing.T) {
	assert.Equal(t, "hello\n  indented\nby hand", printed(`=== RUN   TestX
hello
  indented
    x_test.go:12: 
        	Error Trace:	/x/x_test.go:12
        	Error:      	Not equal
by hand
--- FAIL: TestX (0.00s)
panic: no

goroutine 7 [running]:
lib.F()
	/x/lib/a.go:12 +0x4
`))
}
