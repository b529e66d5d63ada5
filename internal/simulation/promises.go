package simulation

// This file is the specification: what must hold in every World, for any controllers of these kinds.
// It knows what's written in the API, and nothing about who wrote the controllers. The judges are in
// pods.go, rollouts.go and garbage.go, and those of Endpoints, electors and shards in package stories. A
// judge goes through the changes in the order in which the server made them.
//
// Two things are never a controller's fault. It learns of other clients' writes from watches that are
// late and break, so for Memory it may act on what was true before them. And some mishaps take away
// what a promise is built on: these bend it (Mishap.Bends), while they last and for Memory afterwards.
// What holds all the same, even then: the end is right.

// Promise is something that must hold.
type Promise string

const (
	// NeverMore: when a Pod is created for a ReplicaSet, the ReplicaSet has no more active Pods than
	// it wants. When a Deployment's ReplicaSet grows, all its ReplicaSets together want no more Pods
	// than replicas + maxSurge.
	//
	// Bent if a second process works beside the first, and if a new process starts with an old list:
	// a controller knows its own writes at once, but not those of another process. Kubernetes'
	// documentation of leader election says so, too. Also bent if a proxy forges a refusal: it lets the
	// server carry out a write, and then answers with a Status of 401 or 403.
	NeverMore Promise = "never more Pods than allowed"
	// NeverFewer: when a ReplicaSet's Pod is deleted, enough are left. When a Deployment's ReplicaSet
	// shrinks, at least replicas - maxUnavailable Pods stay available.
	//
	// Bent like NeverMore. Not promised to a Deployment with Recreate, nor while a user scales a
	// rollout, which keeps the proportions first.
	NeverFewer Promise = "never fewer ready than allowed"
	// NoStranger: only the Pods that a ReplicaSet controls are deleted for it, and a Pod is adopted
	// only if it has no owner, and after the server was asked whether the ReplicaSet is still there.
	// The garbage collector deletes nothing that has an owner that lives, or that has no owner, and
	// removes no owner that waits for a dependent. No mishap bends this.
	NoStranger Promise = "nothing of another owner is deleted"
	// StaysReleased: a Pod that a ReplicaSet has released isn't deleted for it, as if it were still its
	// own. Users relabel a Pod to look at it in peace.
	//
	// Bent if a second process works beside the first, and if a new process starts with an old list: it
	// doesn't know that the other one has released the Pod.
	StaysReleased Promise = "a Pod that was released is left alone"
	// NotTwice: no ReplicaSet is created for a template for which the Deployment has one. Pods have
	// random names, so for them, NeverMore says it.
	//
	// Bent like NeverMore: a process with an old list doesn't find its ReplicaSet, takes its name for
	// a collision of hashes, and chooses another one.
	NotTwice Promise = "nothing is created twice that has one name"
	// ActedOn: when all is over, the last spec is observed, and what it says is so: each ReplicaSet
	// has its Pods; the Deployment has its template's Pods, and no others; Endpoints and slices are
	// what Services and Pods say; nothing is left that has only absent owners.
	ActedOn Promise = "every change of the spec is acted on in the end"
	// Mended: what users do to Endpoints and slices, which are the controllers' own, is undone in the
	// end, even if no Service and no Pod changes afterwards. A slice that a user has taken over is the
	// user's.
	Mended Promise = "what users do to the controllers' objects is undone"
	// SameEnd: what users see in the end is what they see when nothing goes wrong.
	SameEnd Promise = "the end is that of a run without mishaps"
	// OneLeader: of the electors of one lock, no two lead at the same time, by the true time, which
	// none of them knows. It holds from OnStartedLeading to its return, and with WaitForMissing even
	// if the Lease is deleted. No mishap bends this.
	OneLeader Promise = "never two leaders at a time"
	// OneWorker: of the replicas that share their work, no two reconcile one object at the same time.
	// No mishap bends this.
	OneWorker Promise = "never two replicas inside one object"
	// NothingLost: a replica that takes over sees in its cache what the replica before it has written,
	// and nobody hears of a deletion because an object has moved. No mishap bends this.
	NothingLost Promise = "what moves to another replica is whole, and not deleted"
	// Quiet: once the end is reached, nothing is written any more for half an hour. Electors don't
	// change the leader then, and shards begin no reconcile, for some minutes.
	Quiet Promise = "nothing is written once the end is reached"
)

// Promises are all promises, in the order of a table.
var Promises = []Promise{NeverMore, NeverFewer, NoStranger, StaysReleased, NotTwice, OneLeader,
	OneWorker, NothingLost, ActedOn, Mended, SameEnd, Quiet}
