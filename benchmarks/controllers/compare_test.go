package controllers

import (
	"context"
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

// fewOfRest are some of the scenarios about the controllers that only mini has.
var fewOfRest = []string{
	"namespace: with two kinds that have finalizers", "namespace: with a Job, whose Pods have a finalizer", "job: the back-off limit, with others that run",
	"job: suspended while it runs", "cronjob: one Job at a time: it waits", "cronjob: a Job that a user has made of it", "daemonset: surge, and the new one is never ready",
	"daemonset: its Pods outlive it, and are adopted", "statefulset: a partition", "statefulset: claims that go with the StatefulSet", "node: a user's taint ends Pods", "node: cordoned, and not any more",
}

// Somebody who reads part V learns what the originals do, but for what the table names.
func TestAFewScenariosOfMinisOtherControllersEndAsWithTheOriginals(t *testing.T) {
	explanations, err := RestExplanations()
	require.NoError(t, err)
	worlds := openWorlds(t, OpenRest, MiniRest)
	list := slices.DeleteFunc(scenarios.Rest(), func(s scenarios.Scenario) bool { return !slices.Contains(fewOfRest, s.Name) })
	require.Len(t, list, len(fewOfRest))
	summary := NewSummary(t.Output(), len(list), explanations)
	worlds.ConvergeAll(t.Context(), list, len(list), Patience, explanations, summary.Add)
	require.NoError(t, summary.End(0, false))
}

// openWorlds brings up both clusters, until the test ends. Controllers log nothing.
func openWorlds(t *testing.T, open func(context.Context, Set) (Worlds, error), ours Set) Worlds {
	t.Helper()
	if testing.Short() {
		t.Skip("needs two clusters, which -short leaves out")
	}
	log.SetLogger(logr.Discard())
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	worlds, err := open(t.Context(), ours)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, worlds.Close()) })
	return worlds
}

func playAFew(t *testing.T, ours Set, events bool, explanations []Explanation) {
	t.Helper()
	worlds := openWorlds(t, Open, ours)
	worlds.NoEvents = !events
	list := slices.DeleteFunc(scenarios.Written(), func(s scenarios.Scenario) bool { return !slices.Contains(few, s.Name) })
	require.Len(t, list, len(few))
	summary := NewSummary(t.Output(), len(list), explanations)
	worlds.All(t.Context(), list, len(list), summary.Add)
	require.NoError(t, summary.End(0, false))
}
