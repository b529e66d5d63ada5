package dropin

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestASuiteThatIsNotSetUpDiffersOnce holds that a set-up which fails is one difference: the specs after
// it didn't run, and a hundred of them would hide the reason.
func TestASuiteThatIsNotSetUpDiffersOnce(t *testing.T) {
	original := specs(t, `[{"SuiteDescription": "Specs", "SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "passed"},
		{"ContainerHierarchyTexts": ["a"], "LeafNodeType": "It", "LeafNodeText": "b", "State": "passed"},
		{"ContainerHierarchyTexts": ["a"], "LeafNodeType": "It", "LeafNodeText": "c", "State": "passed"}]}]`, "pass")
	ours := specs(t, `[{"SuiteDescription": "Specs", "SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "panicked", "Failure": {"Message": "no server"}},
		{"ContainerHierarchyTexts": ["a"], "LeafNodeType": "It", "LeafNodeText": "b", "State": "skipped"},
		{"ContainerHierarchyTexts": ["a"], "LeafNodeType": "It", "LeafNodeText": "c", "State": "skipped"}]}]`, "fail")
	result := &Result{Packages: []*PackageResult{{Name: "p", Original: original, Ours: ours}}}
	differences := result.Differences()
	require.Len(t, differences, 1)
	assert.Equal(t, "TestSuite/[BeforeSuite]", differences[0].Test)
	assert.Contains(t, differences[0].OurOutput, "no server")
}

// TestASpecThatFailsInAnotherWayFails holds that each of Ginkgo's ways to fail is a failure.
func TestASpecThatFailsInAnotherWayFails(t *testing.T) {
	for state, want := range map[string]string{
		"passed": "pass", "failed": "fail", "panicked": "fail", "timedout": "fail", "interrupted": "fail",
		"aborted": "fail", "skipped": "skip", "pending": "skip",
	} {
		assert.Equal(t, want, ginkgoSpec{State: state}.state(), state)
	}
}

// TestABrokenReportIsAnError holds that specs which couldn't be read aren't taken for none.
func TestABrokenReportIsAnError(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, (&testLog{}).addSpecs(report), "a suite that was killed has written none")
	require.NoError(t, os.WriteFile(report, []byte("[{"), 0o600))
	require.ErrorContains(t, (&testLog{}).addSpecs(report), "the report that Ginkgo wrote")
}

// TestASpecWithAnAddressInItsNameIsTheSameOnBothSides holds that a table whose entries are named by
// their parameters doesn't differ because a pointer does.
func TestASpecWithAnAddressInItsNameIsTheSameOnBothSides(t *testing.T) {
	side := func(first, second string) *Outcome {
		entry := `{"LeafNodeType": "It", "LeafNodeText": "mqtt, 8883, %s", "State": "passed"}`
		return specs(t, `[{"SuiteDescription": "Specs", "SpecReports": [`+
			fmt.Sprintf(entry, first)+","+fmt.Sprintf(entry, second)+"]}]", "pass")
	}
	original, ours := side("0xc000123450", "0xc000123460"), side("0x302723bd4248", "0x302723bd4250")
	result := &Result{Packages: []*PackageResult{{Name: "p", Original: original, Ours: ours}}}
	require.Empty(t, result.Differences())
	passed, _, _ := ours.Tests()
	assert.Equal(t, 3, passed, "the suite's test and both entries")
}

// specs is what a package with one suite did.
func specs(t *testing.T, report, state string) *Outcome {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(name, []byte(report), 0o600))
	suite := &test{name: "TestSuite", state: state, output: "Running Suite: Specs - /src\n"}
	log := &testLog{tests: []*test{suite}}
	require.NoError(t, log.addSpecs(name))
	return &Outcome{Log: log, Failed: state == "fail"}
}

// TestASuiteWhoseTitleBeginsAsAnothersIsItself holds that a spec is found under the test that ran it.
func TestASuiteWhoseTitleBeginsAsAnothersIsItself(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(report, []byte(`[{"SuiteDescription": "Pod", "SpecReports": [
		{"LeafNodeType": "It", "LeafNodeText": "runs", "State": "passed"}]}]`), 0o600))
	log := &testLog{tests: []*test{
		{name: "TestPods", output: "Running Suite: Pod groups - /src\n"}, {name: "TestPod", output: "Running Suite: Pod - /src\n"},
	}}
	require.NoError(t, log.addSpecs(report))
	assert.Equal(t, "TestPod/runs", log.tests[2].name)
}

// TestASuiteThatWasInterruptedDiffersOnce holds that the specs which it didn't come to are no differences.
func TestASuiteThatWasInterruptedDiffersOnce(t *testing.T) {
	report := func(first, second string) string {
		return fmt.Sprintf(`[{"SuiteDescription": "Specs", "SpecReports": [
			{"LeafNodeType": "It", "LeafNodeText": "hangs", "State": %q},
			{"LeafNodeType": "It", "LeafNodeText": "is left out", "State": %q}]}]`, first, second)
	}
	original := specs(t, report("passed", "passed"), "pass")
	for _, end := range []string{"interrupted", "aborted"} {
		result := &Result{Packages: []*PackageResult{
			{Name: "p", Original: original, Ours: specs(t, report(end, "skipped"), "fail")}}}
		var tests []string
		for _, d := range result.Differences() {
			tests = append(tests, d.Test)
		}
		assert.Equal(t, []string{"TestSuite/hangs"}, tests, end)
	}
}

// TestASpecSaysAllThatItPrinted holds that the reason of a failure is shown, and the log before it: a
// controller's log is in Ginkgo's writer.
func TestASpecSaysAllThatItPrinted(t *testing.T) {
	spec := ginkgoSpec{CapturedStdOutErr: "printed\n", CapturedGinkgoWriterOutput: "logged at 0xc000123450\n"}
	assert.Equal(t, "printed\nlogged at 0x...\n", spec.said())
	spec.Failure.Message = "no Pod"
	spec.Failure.Location.FileName, spec.Failure.Location.LineNumber = "pod_test.go", 7
	assert.Equal(t, "printed\nlogged at 0x...\nno Pod\nat pod_test.go:7\n", spec.said())
}
