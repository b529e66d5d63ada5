package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
)

const introduction = `# Our controllers beside Kubernetes' own

Does kubectl notice which controllers run? ` + "`make compare-controllers`" + ` plays %d scenarios, and %d more that it
draws from seeds, with the originals of Kubernetes v1.36.3 and with ours, each on an embedded cluster. The comparison
plays the nodes and Pods itself, so a scenario can say which Pod fails, is never ready, or takes its time to end.
(` + "`go run ./cmd/controllers -write`" + ` in benchmarks/ writes this page.)

After each step, when all controllers have finished, we compare every field of every Deployment, ReplicaSet, Pod, Service and
Endpoints object in the namespace: metadata, spec, status, and which fields the controllers own (managedFields). In the
end we compare the Events, and how many objects were created and deleted. We leave out what's new in each run (UIDs,
versions, times, addresses, generated names and hashes), how often an Event came, and everything that depends on the number of
steps that a rollout took (the generation of its ReplicaSets, the numbers in its Events). The order of ports, and of a list with
keys, has no meaning.

At each moment, in the order in which the watches have shown it:

- the controllers create no Pod for a ReplicaSet that has enough, and delete none that it needs;
- a Deployment's ReplicaSets never want more Pods than its replicas and its surge, and a ready Pod is
  deleted only if enough are left;
- Recreate makes no new Pod while an old one exists.

**EndpointSlices** are off in ours unless you ask for them, so a test in benchmarks/controllers compares them on its own. After each
step of the scenarios about Endpoints, the slices must be the same as the original's: their number, labels, owner, ports
and endpoints. They are.

**Garbage collection** is off as well unless you ask for it. TestGarbageOnARealServerIsAsWithTheOriginal in
benchmarks/controllers compares it. Users make owners and dependents, adopt, disown, and delete with every policy. The rest must be the same
as with the original: which objects exist, which wait, their owners and finalizers, and the Events about owners in other namespaces. (An
owner in another namespace counts as absent in both, and its dependent is deleted.) Seven things differ:

- Owners that wait for each other. If a dependent was ever deleted in the foreground, the original takes that for a sign of a circle
  (kubernetes v1.36.3, pkg/controller/garbagecollector/garbagecollector.go, attemptToDeleteItem), and its owner doesn't wait for the objects
  that block it. But it doesn't look for circles in which all objects are being deleted: an object that owns itself, deleted in the
  foreground, waits forever. Ours looks for real circles of blocking references, at every step.
- An object without a change costs us no request. Before the original keeps or deletes an object, it asks the API server for it and
  for each of its owners; ours asks only for objects that its informers don't show.
- If a kind is proven gone, ours forgets it with its objects, so no owner waits for them. The original keeps them.
- Suppose a group is unknown (discovery fails, or leaves it out in one answer), or a kind isn't listed and watched yet. Then in ours, owners
  that orphan or are deleted in the foreground keep their finalizers, until the collector knows better. The original stops the monitors
  that one answer leaves out (pkg/controller/garbagecollector/graph_builder.go, syncMonitors), and its workers don't wait for informers
  (garbagecollector.go, Sync). It deletes dependents that it hasn't seen after their owner, even those that
  ` + "`--cascade=orphan`" + ` should keep. We pay a price: an aggregated API that's down keeps these owners, as it keeps namespaces in both.
- The original lets an orphaning owner go when its patches are answered, and takes any 404 as proof that a dependent is gone
  (garbagecollector.go, orphanDependents). Ours waits until the watches show that no dependent is left.
- After a conflict, the original compares the owners and then deletes whatever version there is (operations.go, deleteObject), even if
  another process has adopted it in between. Ours deletes the version that it has read again.
- We remove references with a merge patch that has a resourceVersion, so an object that changes at the same moment is read again. The
  original sends strategic merge patches to kinds that know them.

Two things differ everywhere. In managedFields, the originals are called ` + "`kube-controller-manager`" + `, and ours ` + "`controllers`" + `,
like the program, so you find the process that wrote a field. And ours have no feature gates. They do what the originals do by
default, and learn from the API server's answers whether it keeps ` + "`terminatingReplicas`" + `.

## What differs, and why

| field | in | why |
|---|---|---|
`

// libraryPage is docs/generated/controllers-compared.md.
func libraryPage(explanations []Explanation, seeds int) string {
	var b strings.Builder
	written := scenarios.Written()
	fmt.Fprintf(&b, introduction, len(written), seeds)
	writeTable(&b, explanations)
	writeList(&b, written)
	return b.String()
}

const miniIntroduction = `# mini's controllers beside Kubernetes' own

mini's controllers of Deployments, ReplicaSets and Endpoints play the
scenarios of [the library's](controllers-compared.md): ` + "`go run ./cmd/controllers -mini -seeds 0`" + ` in benchmarks/. The library doesn't have
the others. They play the %d scenarios at the end of this page, with the originals of Kubernetes v1.36.3 and with mini's, each
on an embedded cluster: ` + "`go run ./cmd/controllers -rest`" + `, which is part of ` + "`make compare-controllers`" + `.
(` + "`go run ./cmd/controllers -write`" + ` in benchmarks/ writes this page.)

The comparison plays the nodes and Pods. After each step, both clusters must get where the step leads, and agree in every field of every object,
except for those in the table: Jobs, CronJobs, DaemonSets, StatefulSets, ControllerRevisions, claims, ConfigMaps, Pods, the namespace, and
the scenario's nodes, with metadata, spec, status, and which fields the controllers own. In the end they must have created and deleted the same
number of objects. We replace what's new in each run: UIDs, versions, times, generated names, hashes and starts. mini writes no Events, so
we don't compare those. The library's garbage collector has [its own comparison](controllers-compared.md), and mini's is held to
the walk-throughs in Kubernetes' documentation ([walkthroughs.md](../walkthroughs.md)).

## What differs, and why

The rows about Deployments, ReplicaSets and Endpoints come from the library's scenarios, the others from those below.

| field | in | why |
|---|---|---|
`

// miniPage is docs/generated/mini-compared.md: what differs in the controllers that the library has, too, and in the others.
func miniPage(shared, others []Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, miniIntroduction, len(scenarios.Rest()))
	writeTable(&b, slices.Concat(shared, others))
	writeList(&b, scenarios.Rest())
	return b.String()
}

func writeTable(b *strings.Builder, explanations []Explanation) {
	for _, e := range explanations {
		in := "all scenarios"
		if e.Scenario != "" {
			in = "`" + cell(e.Scenario) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", cell(e.Field), in, cell(e.Why))
	}
}

func writeList(b *strings.Builder, list []scenarios.Scenario) {
	b.WriteString("\n## The scenarios\n")
	controller := ""
	for _, s := range list {
		if s.About != controller {
			controller = s.About
			fmt.Fprintf(b, "\n### %s\n\n", controller)
		}
		fmt.Fprintf(b, "- %s%s\n", strings.TrimPrefix(s.Name, s.About+": "), map[bool]string{true: " (the final states are compared, and not the numbers)"}[s.Loose])
	}
}

// cell is a text that may stand in a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// Pages are the pages of docs/ that are written from the scenarios and the explanations, by their names.
func Pages() (map[string]string, error) {
	library, err1 := Explanations()
	shared, err2 := MiniExplanations()
	others, err3 := RestExplanations()
	return map[string]string{"controllers-compared.md": libraryPage(library, Seeds), "mini-compared.md": miniPage(shared, others)}, errors.Join(err1, err2, err3)
}
