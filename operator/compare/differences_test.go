package compare

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// difference is one that is wanted: lines that only one of the two runs leaves in a part of the record.
type difference struct {
	part         string
	theirs, ours []string
	// sometimes says that it need not be there: it depends on who is faster.
	sometimes bool
	why       string
}

const lease = "coordination.k8s.io/v1 Lease/site-operator.web.example.com"

// differences are all that there are. One that is not found any more fails the test, like one that is not here.
// README.md shows them to users, and a test holds that it does.
var differences = []difference{
	{
		part: "events", sometimes: true,
		ours: []string{"Normal LeaderElection  of " + lease + " by HOLDER: HOLDER stopped leading"},
		why:  "When we're told to stop, we write the remaining events first. controller-runtime usually loses them.",
	},
	{
		part: "events", sometimes: true,
		theirs: []string{"Normal LeaderElection  of " + lease + " by HOLDER: HOLDER stopped leading"},
		why:    "now and then the original writes that event in time.",
	},
	{
		part: "metrics",
		ours: []string{"loopwright_reconcile_given_up_total counter"},
		why:  "It counts requests that were given up after MaxRetries, an option that only we have.",
	},
	{
		part: "metrics",
		ours: []string{"leader_election_slowpath_total counter"},
		why:  "client-go's election counts renewals that take two requests, and controller-runtime doesn't pass the count on.",
	},
}

// unexplained lists how two records differ, where nobody has said why, and explanations that explain nothing.
func unexplained(theirs, ours *record, explained []difference) (complaints []string) {
	used := make([]bool, len(explained))
	for i, part := range theirs.parts {
		left, right := onlyIn(part.lines, ours.parts[i].lines), onlyIn(ours.parts[i].lines, part.lines)
		for n, d := range explained {
			if d.part == part.title && len(onlyIn(d.theirs, left))+len(onlyIn(d.ours, right)) == 0 {
				left, right, used[n] = onlyIn(left, d.theirs), onlyIn(right, d.ours), true
			}
		}
		if len(left)+len(right) > 0 {
			complaints = append(complaints, fmt.Sprintf("%s differ\nonly with controller-runtime:\n  %s\nonly with this library:\n  %s",
				part.title, strings.Join(left, "\n  "), strings.Join(right, "\n  ")))
		}
	}
	for n, d := range explained {
		if !used[n] && !d.sometimes {
			complaints = append(complaints, fmt.Sprintf("%s: this difference is explained, and there is none any more: %s", d.part, d.why))
		}
	}
	return complaints
}

func titles(r *record) (titles []string) {
	for _, p := range r.parts {
		titles = append(titles, p.title)
	}
	return titles
}

// onlyIn lists the lines that are in one list more often than in another one.
func onlyIn(lines, others []string) (only []string) {
	others = slices.Clone(others)
	for _, line := range lines {
		if i := slices.Index(others, line); i >= 0 {
			others = slices.Delete(others, i, i+1)
			continue
		}
		only = append(only, line)
	}
	return only
}

// A comparison that overlooks something would let an operator change its behaviour unnoticed.
func TestADifferenceIsExplainedOrReported(t *testing.T) {
	of := func(lines ...string) *record { return &record{parts: []part{{"events", lines}}} }
	known := difference{part: "events", theirs: []string{"b"}, ours: []string{"c"}, why: "because"}
	for _, test := range []struct {
		what         string
		theirs, ours *record
		explained    []difference
		want         string // in the only complaint
	}{
		{"the same", of("a", "b"), of("a", "b"), nil, ""},
		{"one line less", of("a", "b"), of("a"), nil, "only with controller-runtime:\n  b\n"},
		{"one line more", of("a"), of("a", "b"), nil, "only with this library:\n  b"},
		{"a line twice", of("a", "a"), of("a"), nil, "only with controller-runtime:\n  a\n"},
		{"explained", of("a", "b"), of("a", "c"), []difference{known}, ""},
		{"half of what is explained", of("a", "b"), of("a", "d"), []difference{known, {part: "events", ours: []string{"d"}, theirs: []string{"b"}}}, "because"},
		{"explained, and no difference", of("a"), of("a"), []difference{known}, "there is none any more: because"},
		{"sometimes, and not this time", of("a"), of("a"), []difference{{part: "events", ours: []string{"b"}, sometimes: true}}, ""},
		{"of another part", of("a"), of("a", "b"), []difference{{part: "metrics", ours: []string{"b"}, sometimes: true}}, "events differ"},
	} {
		complaints := unexplained(test.theirs, test.ours, test.explained)
		if test.want == "" {
			assert.Empty(t, complaints, test.what)
		} else if assert.Len(t, complaints, 1, test.what) {
			assert.Contains(t, complaints[0], test.want, test.what)
		}
	}
}

// A user who ports an operator is told what will look different.
func TestTheReadmeShowsAllDifferences(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(readme)), " ")
	for _, d := range differences {
		assert.Contains(t, text, d.why)
	}
}
