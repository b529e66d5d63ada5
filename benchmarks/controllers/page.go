package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
)

const introduction = `# Our controllers beside Kubernetes' own

Written by ` + "`go run ./cmd/controllers -write`" + ` in benchmarks/. ` + "`make compare-controllers`" + ` plays %d scenarios, and %d that are
drawn from seeds, with the originals of Kubernetes v1.36.3 and with ours, each on an embedded cluster. The nodes and Pods
are played by the comparison, so that a scenario can say which Pod fails, is never ready, or takes its time to end.

After each step, when all have done their work, every field of every Deployment, ReplicaSet, Pod, Service and Endpoints
object of the namespace is compared: metadata, spec, status, and which fields the controllers own (managedFields); in the
end the Events, and how many objects were created and deleted. Left out or replaced are what is new in each run (UIDs,
versions, times, addresses, generated names and hashes), how often an Event came, and what depends on the number of steps
in which a rollout went on (the generation of its ReplicaSets, the numbers in its Events). The order of a list with keys,
and of ports, has no meaning.

At each moment, as the watches have shown them in the order of their versions:

- no Pod is created for a ReplicaSet that has as many as it is to have, and none is deleted that is needed;
- the ReplicaSets of a Deployment are never asked for more Pods than its replicas and its surge, and no ready Pod is
  deleted if fewer are left than are promised;
- Recreate makes no new Pod while an old one is there.

EndpointSlices, which ours write only if somebody asks for it, are compared apart, by a test in benchmarks/controllers: after each step
of the scenarios about Endpoints, the slices have to be the same as with the original: how many there are, labels, owner, ports
and endpoints. They are.

Garbage collection, which ours do only if somebody asks for it, is compared apart, too: by TestGarbageOnARealServerIsAsWithTheOriginal in
benchmarks/controllers. Users make owners and dependents, adopt, disown, and delete with every policy; what is left has to be the same
with the original: which objects there are, which wait, their owners and finalizers, and the Events about owners in other namespaces. An
owner in another namespace counts as absent in both: the dependent is deleted. Seven things differ:

- Owners that wait for each other. The original takes a dependent that was ever deleted in the foreground for a sign of a circle
  (kubernetes v1.36.3, pkg/controller/garbagecollector/garbagecollector.go, attemptToDeleteItem). Then an owner does not wait for what
  blocks it. And it does not look for circles in which all are being deleted: an object that owns itself, deleted in the foreground,
  waits forever. Ours looks for real circles of blocking references, at every step.
- An object without a change costs no request in ours. Before the original keeps or deletes an object, it asks the API server for it and
  for each of its owners; ours asks for what its informers do not show.
- A kind that is proven gone is forgotten with its objects in ours, so that no owner waits for them. The original keeps them.
- While a group is unknown (discovery fails, or leaves it out, be it for one answer) or a kind isn't listed and watched, owners that
  orphan or are deleted in the foreground keep their finalizers in ours, and go by themselves afterwards. The original stops the monitors
  that one answer leaves out (pkg/controller/garbagecollector/graph_builder.go, syncMonitors), and workers don't wait for informers
  (garbagecollector.go, Sync). The dependents that it hasn't seen are deleted after their owner, even those that
  ` + "`--cascade=orphan`" + ` was to keep. The price of ours: an aggregated API that's down keeps such owners, as it keeps namespaces in both.
- The original lets an owner that orphans go when its patches are answered, and takes any 404 for the end of a dependent
  (garbagecollector.go, orphanDependents). Ours waits until the watches show that no dependent is left.
- After a conflict, the original compares the owners and then deletes whatever version there is (operations.go, deleteObject), so what
  another process adopts in between is deleted. Ours deletes the version that it has read again.
- References are removed by a merge patch with a resourceVersion in ours, so an object that changes at the same moment is read again. The
  original sends strategic merge patches to kinds that know them.

Two things differ everywhere. In managedFields, the originals are called ` + "`kube-controller-manager`" + `, and ours ` + "`controllers`" + `,
as the program: whoever looks for the process that has written a field has to find the right one. And ours have no
feature gates: they do what the originals do by default, and learn from the answers of the API server whether it keeps
` + "`terminatingReplicas`" + `.

## What differs, and why

| field | in | why |
|---|---|---|
`

// libraryPage is docs/controllers-compared.md.
func libraryPage(explanations []Explanation, seeds int) string {
	var b strings.Builder
	written := scenarios.Written()
	fmt.Fprintf(&b, introduction, len(written), seeds)
	writeTable(&b, explanations)
	writeList(&b, written)
	return b.String()
}

const miniIntroduction = `# mini's controllers beside Kubernetes' own

Written by ` + "`go run ./cmd/controllers -write`" + ` in benchmarks/. mini's controllers of Deployments, ReplicaSets and Endpoints play the
scenarios of [the library's](controllers-compared.md): ` + "`go run ./cmd/controllers -mini -seeds 0`" + ` in benchmarks/. The others, which
the library does not have, play the %d scenarios at the end of this page, with the originals of Kubernetes v1.36.3 and with mini's, each
on an embedded cluster: ` + "`go run ./cmd/controllers -rest`" + `, which is a part of ` + "`make compare-controllers`" + `, too.

The nodes and Pods are played by the comparison. After each step, both clusters must reach what the step leads to, and agree in every field
of every object, but for those in the table: Jobs, CronJobs, DaemonSets, StatefulSets, ControllerRevisions, claims, ConfigMaps, Pods, the namespace, and
the nodes of the scenario: metadata, spec, status, and which fields the controllers own. In the end, as many objects must have been created
and deleted. What is new in each run is replaced: UIDs, versions, times, generated names, hashes and starts. mini writes no Events, so
these are not compared. The garbage collector has [a comparison of its own](controllers-compared.md) in the library, and mini's is held to
the walk-throughs of Kubernetes' documentation ([walkthroughs.md](walkthroughs.md)).

## What differs, and why

The rows about Deployments, ReplicaSets and Endpoints come from the library's scenarios, the others from those below.

| field | in | why |
|---|---|---|
`

// miniPage is docs/mini-compared.md: what differs in the controllers that the library has, too, and in the others.
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
