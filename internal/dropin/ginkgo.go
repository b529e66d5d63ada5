package dropin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A Ginkgo suite is one test to `go test`, and if it fails on both sides, that says nothing about its
// hundred specs. So we have it write its report, and read each spec as a subtest of the suite's test.

const ginkgo = "github.com/onsi/ginkgo/v2"

// ginkgoFlags have a suite write its report, and run its specs in the same order on both sides.
func ginkgoFlags(report string) []string {
	return []string{"-ginkgo.json-report=" + report, "-ginkgo.seed=1"}
}

// ginkgoReport is what we read of a report: one entry for each suite.
type ginkgoReport []struct {
	SuiteDescription string
	SpecReports      []ginkgoSpec
}

type ginkgoSpec struct {
	ContainerHierarchyTexts    []string
	LeafNodeType, LeafNodeText string
	State                      string
	CapturedGinkgoWriterOutput string
	CapturedStdOutErr          string
	Failure                    struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

// addSpecs adds the specs of a report to the log. A suite that was killed has written none.
func (l *testLog) addSpecs(report string) error {
	text, err := os.ReadFile(report)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var suites ginkgoReport
	if err := json.Unmarshal(text, &suites); err != nil {
		return fmt.Errorf("the report that Ginkgo wrote: %w", err)
	}
	for _, suite := range suites {
		prefix := l.testOf(suite.SuiteDescription)
		notSetUp := slices.ContainsFunc(suite.SpecReports, ginkgoSpec.brokeTheSuite)
		for _, spec := range suite.SpecReports {
			if notSetUp && spec.state() == "skip" {
				continue // it's the set-up that differs, and not each spec after it
			}
			t := l.add(prefix + spec.name())
			t.state, t.output = spec.state(), spec.said()
		}
	}
	return nil
}

// testOf is the beginning of the names of a suite's specs: the test that ran it, which printed its
// title and its directory.
func (l *testLog) testOf(suite string) string {
	for _, t := range l.tests {
		if strings.Contains(t.output, "Running Suite: "+suite+" - ") {
			return t.name + "/"
		}
	}
	return suite + "/"
}

// add adds a test under its name, or under the name and a number if there's one already: Ginkgo lets
// two specs have the same text.
func (l *testLog) add(name string) *test {
	unique := name
	for n := 2; l.get(unique) != nil; n++ {
		unique = fmt.Sprintf("%s #%d", name, n)
	}
	return l.start(unique)
}

// name is the texts around a spec and its own, or the kind of a node that isn't a spec: [BeforeSuite].
func (s ginkgoSpec) name() string {
	texts := slices.Clone(s.ContainerHierarchyTexts)
	if s.LeafNodeType != "It" {
		texts = append(texts, "["+s.LeafNodeType+"]")
	}
	text := strings.Join(strings.Fields(strings.Join(append(texts, s.LeafNodeText), " ")), " ")
	return address.ReplaceAllLiteralString(text, "0x...")
}

// address is that of a pointer. An entry of a table without a description is called by its parameters,
// and a pointer among them is another one in each process.
var address = regexp.MustCompile(`\b0x[0-9a-f]{6,16}\b`)

func (s ginkgoSpec) state() string {
	switch s.State {
	case "passed":
		return "pass"
	case "skipped", "pending", "":
		return "skip"
	}
	return "fail" // panicked, timed out, interrupted, aborted
}

// brokeTheSuite reports whether no spec ran, or ran to its end, because of this one.
func (s ginkgoSpec) brokeTheSuite() bool {
	setUp := strings.HasSuffix(s.LeafNodeType, "BeforeSuite")
	return s.state() == "fail" && (setUp || s.State == "interrupted" || s.State == "aborted")
}

func (s ginkgoSpec) said() string {
	text := s.CapturedStdOutErr + s.CapturedGinkgoWriterOutput
	if s.Failure.Message != "" {
		text += fmt.Sprintf("%s\nat %s:%d\n", s.Failure.Message, s.Failure.Location.FileName, s.Failure.Location.LineNumber)
	}
	return address.ReplaceAllLiteralString(text, "0x...")
}
