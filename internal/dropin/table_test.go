package dropin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ran is what a package's tests did, as "name state" or "name" for one that never ended.
func ran(failed bool, tests ...string) *Outcome {
	log := &testLog{output: "the output"}
	for _, each := range tests {
		name, state, _ := strings.Cut(each, " ")
		log.tests = append(log.tests, &test{name: name, state: state})
	}
	return &Outcome{Log: log, Failed: failed}
}

// TestWhatDiffers holds that a user hears of each test that he'd lose, and of none twice.
func TestWhatDiffers(t *testing.T) {
	for _, test := range []struct {
		what           string
		original, ours *Outcome
		want           []string // package or test, and its states
	}{
		{"nothing", ran(false, "A pass", "B skip"), ran(false, "A pass", "B skip"), nil},
		{"a test that fails on both", ran(true, "A fail"), ran(true, "A fail"), nil},
		{"a test", ran(false, "A pass", "B pass"), ran(true, "A pass", "B fail"), []string{"B pass fail"}},
		{"a test that fails there", ran(true, "A fail"), ran(false, "A pass"), []string{"A fail pass"}},
		{"a subtest, and so its parent", ran(false, "A pass", "A/b pass", "A/c pass"), ran(true, "A fail", "A/b pass", "A/c fail"), []string{"A/c pass fail"}},
		{"a parent that fails itself", ran(false, "A pass", "A/b skip"), ran(true, "A fail", "A/b pass"), []string{"A pass fail", "A/b skip pass"}},
		{"a parent and a subtest, in two ways", ran(false, "A pass", "A/b skip"), ran(true, "A fail", "A/b fail"), []string{"A pass fail", "A/b skip fail"}},
		{"a test whose name begins as another's", ran(false, "A pass", "AB pass"), ran(true, "A fail", "AB fail"), []string{"A pass fail", "AB pass fail"}},
		{"a test that is skipped", ran(false, "A pass"), ran(false, "A skip"), []string{"A pass skip"}},
		{"a test that only one side has", ran(false, "A pass"), ran(false, "A pass", "B pass"), []string{"B not run pass"}},
		{"a test that never ended, and those after it", ran(false, "A pass", "B pass"), ran(true, "A"), []string{"A pass never ended"}},
		{"an end before the first test", ran(false, "A pass", "B pass"), ran(true), []string{" ok FAIL"}},
		{"an end before the first test, of a package that fails there", ran(true, "A fail", "B pass"), ran(true), []string{" FAIL FAIL"}},
		{"a failure after the last test", ran(false, "A pass"), ran(true, "A pass"), []string{" ok FAIL"}},
		{"what compiles there", ran(true, "A fail"), &Outcome{Refused: "no"}, []string{" FAIL doesn't compile"}},
		{"what compiles here", &Outcome{Refused: "no"}, ran(false, "A pass"), []string{" doesn't compile ok"}},
		{"what compiles nowhere", &Outcome{Refused: "no"}, &Outcome{Refused: "nor this"}, nil},
		{"no tests", &Outcome{NoTests: true}, &Outcome{NoTests: true}, nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			result := &Result{Packages: []*PackageResult{{Name: "p", Original: test.original, Ours: test.ours}}}
			var got []string
			for _, d := range result.Differences() {
				got = append(got, d.Test+" "+d.Original+" "+d.Ours)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestATestThatNeverEndedIsNotAmongThosePassed holds that the table shows a suite that hung.
func TestATestThatNeverEndedIsNotAmongThosePassed(t *testing.T) {
	assert.Equal(t, "FAIL 2 of 4, 1 skipped", ran(true, "A pass", "B skip", "C fail", "D").cell())
	assert.Equal(t, "FAIL", ran(true, "A pass").cell(), "it failed after the last test")
}

// TestWhatFailsOnBothSidesIsNamed holds that nobody takes a suite that never began for one that does the
// same on both sides.
func TestWhatFailsOnBothSidesIsNamed(t *testing.T) {
	result := &Result{Packages: []*PackageResult{
		{Name: "p", Original: ran(true, "A fail", "A/b fail", "A/c pass", "AB fail", "D fail"),
			Ours: ran(true, "A fail", "A/b fail", "A/c pass", "AB fail", "D pass")},
		{Name: "q", Original: ran(false, "A pass"), Ours: ran(true, "A fail")},
		{Name: "s", Original: ran(true), Ours: ran(true)},
		{Name: "t", Original: ran(true, "A pass", "B"), Ours: ran(true, "A pass", "B fail")},
		{Name: "r", Original: &Outcome{Refused: "no"}, Ours: &Outcome{Refused: "no"}},
	}}
	assert.Equal(t, []string{"p A/b", "p AB", "s", "t B"}, result.failOnBoth())
	var out strings.Builder
	result.Print(&out)
	assert.Contains(t, out.String(), "\n  p A/b\n  p AB\n")
}

// TestALongOutputKeepsItsBeginningAndItsEnd holds that the reason of a failure is shown: a panic is at the
// beginning, and what a suite sums up is at the end.
func TestALongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, strings.Repeat("x", i))
	}
	var out strings.Builder
	section(&out, "ours", strings.Join(lines, "\n")+"\n")
	printed := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	require.Len(t, printed, 1+first+1+last)
	assert.Equal(t, "    "+lines[first-1], printed[first])
	assert.Equal(t, "    (40 lines left out)", printed[first+1])
	assert.Equal(t, "    "+lines[99], printed[len(printed)-1])
}
