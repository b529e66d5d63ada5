package controllers

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/controllers/mask"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
)

// A reader would be told of differences that there are not, or not of all.
func TestThePagesAreUpToDate(t *testing.T) {
	pages, err := Pages()
	require.NoError(t, err)
	for name, text := range pages {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		require.NoError(t, err)
		require.Equal(t, text, string(page), "run in benchmarks/: go run ./cmd/controllers -write")
	}
}

func TestAnExplanationExplainsItsFieldAndNothingElse(t *testing.T) {
	all, err := readExplanations([]byte("- {field: 'Pod\\.status\\.phase', scenario: quota, theirs: '', why: because}\n"))
	require.NoError(t, err)
	found := func(path, theirs string) Found {
		return Found{Difference: mask.Difference{Path: path, Theirs: theirs, Ours: "Running"}}
	}
	for _, c := range []struct {
		what, scenario string
		found          Found
		left           int
	}{
		{"what it is about", "a quota", found("Pod/a.status.phase", ""), 0},
		{"another field", "a quota", found("Pod/a.status.phases", ""), 1},
		{"another kind", "a quota", found("Node/a.status.phase", ""), 1},
		{"another value", "a quota", found("Pod/a.status.phase", "Pending"), 1},
		{"another scenario", "a rollout", found("Pod/a.status.phase", ""), 1},
	} {
		report := Report{Scenario: scenarios.Scenario{Name: c.scenario}, Found: []Found{c.found}, Explained: map[int]int{}}
		report.Explain(all)
		require.Len(t, report.Found, c.left, c.what)
	}
}

func TestAnExplanationThatDoesNotSayWhyIsRefused(t *testing.T) {
	for _, text := range []string{"- {field: a}", "- {why: a}", "- {field: a, why: b, wy: c}", "- {field: '(', why: b}"} {
		_, err := readExplanations([]byte(text))
		require.Error(t, err, text)
	}
}

// The same seed must be the same scenario on both sides, and tomorrow.
func TestASeedIsAScenario(t *testing.T) {
	names := map[string]bool{}
	for _, one := range slices.Concat(scenarios.All(Seeds), scenarios.Rest()) {
		require.False(t, names[one.Name], one.Name)
		names[one.Name] = true
		require.NotEmpty(t, one.Steps, one.Name)
	}
	texts := func(s scenarios.Scenario) (all []string) {
		for _, step := range s.Steps {
			all = append(all, step.Text)
		}
		return all
	}
	for seed := range uint64(Seeds) {
		require.Equal(t, texts(scenarios.Random(seed)), texts(scenarios.Random(seed)))
	}
	require.GreaterOrEqual(t, len(scenarios.Written()), 60)
}

// What both sides have from the start would be compared before either has done anything.
func TestEachStepOfMinisOtherScenariosSaysWhatItLeadsTo(t *testing.T) {
	about := map[string]int{}
	for _, one := range scenarios.Rest() {
		about[one.About]++
		for _, step := range one.Steps {
			require.NotEmpty(t, step.Until, "%s: %s", one.Name, step.Text)
		}
	}
	for _, controller := range []string{"namespace", "job", "cronjob", "daemonset", "statefulset", "node"} {
		require.GreaterOrEqual(t, about[controller], 10, controller)
	}
}
