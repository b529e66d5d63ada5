package controllers

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/controllers/mask"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// A reader would be told of differences that there are not, or not of all.
func TestThePagesAreUpToDate(t *testing.T) {
	pages, err := Pages()
	require.NoError(t, err)
	for name, text := range pages {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "generated", name))
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

// A step that ends too early compares what nobody has done yet, and one that overlooks a side proves nothing about it.
func TestAStepIsOverWhenBothSidesHaveWhatItLeadsTo(t *testing.T) {
	step := scenarios.Step{Until: []string{"Pod=1"}, Theirs: []string{"Pod/a.status.phase=Running"}, Ours: []string{"Pod/a.status.phase=Failed"}}
	running, failed := mask.State{"Pod/a.status.phase": "Running"}, mask.State{"Pod/a.status.phase": "Failed"}
	for _, c := range []struct {
		theirs, ours mask.State
		missing      []string
	}{
		{running, failed, nil},
		{mask.State{}, failed, []string{"the original: want Pod=1, have 0", "the original: want Pod/a.status.phase=Running, have (none)"}},
		{running, mask.State{}, []string{"ours: want Pod=1, have 0", "ours: want Pod/a.status.phase=Failed, have (none)"}},
		{running, running, []string{"ours: want Pod/a.status.phase=Failed, have Running"}},
	} {
		require.Equal(t, c.missing, missing(step, []mask.State{c.theirs, c.ours}))
	}
}

func TestSidesAreTheSameIfEachDifferenceIsExplained(t *testing.T) {
	explained, err := readExplanations([]byte("- {field: 'Pod\\.status\\.phase', scenario: quota, why: because}\n- {field: 'Job\\.a', why: because}\n"))
	require.NoError(t, err)
	phase, job, other := mask.Difference{Path: "Pod/a.status.phase"}, mask.Difference{Path: "Job/a.a"}, mask.Difference{Path: "Pod/a.spec"}
	require.True(t, allExplained("a quota", nil, nil))
	require.True(t, allExplained("a quota", []mask.Difference{phase, job}, explained))
	require.False(t, allExplained("a rollout", []mask.Difference{phase, job}, explained))
	require.False(t, allExplained("a quota", []mask.Difference{phase, other, job}, explained))
}

func TestWhatWasCreatedTooOftenIsAFieldOfItsOwn(t *testing.T) {
	found := compareCounts(stage.Judgement{Counts: map[string]int{"Pod created": 1, "Job created": 1}}, stage.Judgement{Counts: map[string]int{"Pod created": 2, "Job created": 1}})
	require.Len(t, found, 1)
	require.Equal(t, "Count.Pod created", found[0].Field())
}
