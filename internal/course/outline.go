// Package course is the course tool: it knows what a chapter, a milestone and
// an exercise are, checks that the tree agrees, and runs them.
//
// The front matter of chapters/NN-name/README.md and exercises/NN-name/README.md
// goes in; overlays for the go command, test results in plain words, and
// Markdown with code cut from the real files come out.
//
// Neighbours: below it are the go command and the file system. Above it is
// internal/course/cmd/course, the command line that the Makefile calls.
// Nothing of the library is imported: the tool must work at every milestone.
package course

import "fmt"

// Planned is one chapter of the outline, written or not.
type Planned struct {
	Number int
	Slug   string
	Title  string
	Part   int
}

// Dir is where the chapter is, or will be: "chapters/01-list-watch".
func (p Planned) Dir() string { return fmt.Sprintf("chapters/%02d-%s", p.Number, p.Slug) }

// Parts names the parts of the course; part 1 is Parts[1].
var Parts = []string{1: "Watching", 2: "Queueing", 3: "Reconciling", 4: "Controllers"}

// Outline is the plan. A chapter that is written must agree with it in number,
// name, title and part, so that the plan that readers see is never wrong.
var Outline = []Planned{
	{1, "list-watch", "List, then watch", 1},
	{2, "store-index", "Store and index", 1},
	{3, "reflector", "The reflector", 1},
	{4, "delta-queue", "The delta queue and tombstones", 1},
	{5, "shared-informer", "The shared informer", 1},
	{6, "dedup-queue", "The deduplicating queue", 2},
	{7, "delaying-queue", "The delaying queue", 2},
	{8, "rate-limiters", "Rate limiters and the retrying queue", 2},
	{9, "priority-fairness", "Priority and fairness", 2},
	{10, "controller", "Reconciler and controller", 3},
	{11, "events", "Events, predicates, handlers, sources", 3},
	{12, "client-cache", "Client and cache", 3},
	{13, "leader-election", "Leader election", 3},
	{14, "manager", "The manager", 3},
	{15, "ownership-finalizers", "Ownership and finalizers", 3},
	{16, "webhooks", "Webhooks", 3},
	{17, "replicaset", "ReplicaSet", 4},
	{18, "deployment", "Deployment", 4},
	{19, "endpoints", "Endpoints", 4},
	{20, "garbage-collector", "The garbage collector", 4},
}
