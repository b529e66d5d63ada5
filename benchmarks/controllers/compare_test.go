package controllers

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/manager/log"
)

// few are scenarios that go far in a short time; `make compare-controllers` plays them all.
var few = []string{
	"replicaset: more orphans than are wanted", "replicaset: who goes first: deletion costs", "replicaset: a quota that allows none",
	"deployment: a rollout with numbers", "deployment: a bad image, and back", "deployment: changed while paused",
	"deployment: scaled down in the middle of a rollout", "endpoints: targets with names", "endpoints: to ExternalName",
}

// Somebody who changes from the originals to ours would notice it.
func TestAFewScenariosOnARealServerEndAsWithTheOriginals(t *testing.T) {
	explanations, err := Explanations()
	require.NoError(t, err)
	playAFew(t, Library, true, explanations)
}

// The course says that its controllers do what the originals do, but for what the table names.
func TestAFewScenariosOnARealServerEndAsWithTheOriginalsWithMini(t *testing.T) {
	explanations, err := MiniExplanations()
	require.NoError(t, err)
	playAFew(t, Mini, false, explanations)
}

func playAFew(t *testing.T, ours Set, events bool, explanations []Explanation) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs two clusters, which -short leaves out")
	}
	log.SetLogger(logr.Discard())
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(before)
	worlds, err := Open(t.Context(), ours)
	require.NoError(t, err)
	defer func() { require.NoError(t, worlds.Close()) }()
	worlds.NoEvents = !events
	list := slices.DeleteFunc(scenarios.Written(), func(s scenarios.Scenario) bool { return !slices.Contains(few, s.Name) })
	require.Len(t, list, len(few))
	summary := NewSummary(t.Output(), len(list), explanations)
	worlds.All(t.Context(), list, len(list), summary.Add)
	require.NoError(t, summary.End(0, false))
}
