// Package trace is the flight recorder: a bounded ring of small typed events
// that answers "why was this object reconciled?".
//
// Every layer records what it did in the Recorder that it was given. You get the events as a slice,
// through a live Cursor, as a narrated Timeline or as JSON lines.
//
// Neighbours: below it is only the standard library. Above it are all the layers: the informer, the
// workqueue and the manager each take a *Recorder; nil is off.
package trace

import "time"

// Event is one thing that one layer did. The layer fills in what it knows and
// leaves the rest zero; Seq and At belong to the Recorder.
//
// An Event holds no pointer to an object, only strings that the object already
// has, so recording one copies nothing from the heap and allocates nothing.
// The price is that a string stays alive until the ring overwrites it.
type Event struct {
	Seq uint64        // 1, 2, 3, ... in the order of recording
	At  time.Duration // since Recorder.Started

	Kind    Kind
	Outcome Outcome
	Layer   string // that recorded it: "listwatch", "queue", a controller's name

	Object    string // the object's kind: "Pod"; empty if the layer doesn't know it
	Namespace string // empty for a cluster-scoped object
	Name      string // empty when the event is about a whole collection
	Version   string // the resourceVersion

	// ToObject, ToNamespace and ToName are the request that a Handler made from the object, and the
	// kind that the request is for. They tie a Pod's event to its owner's reconcile. ToObject is
	// empty if the handler doesn't know the kind. For a Write, they're the request in whose
	// reconcile it was written.
	ToObject    string
	ToNamespace string
	ToName      string

	Op     string        // which one of its Kind: "ADDED", "Updated", "create", "update status"
	Reason string        // why, or the text of the error
	Count  int           // how many: items, objects, attempts, merged causes
	Took   time.Duration // how long it took, or will wait
}

// Kind says what happened.
type Kind uint8

// The kinds, in the order in which an event passes through the layers. The comments name the fields
// that a kind uses besides Layer, Object, Namespace and Name.
const (
	// What a ListerWatcher and the reflector do.
	List       Kind = iota + 1 // a list returned: Count items, Version, Took; Failed with a Reason
	WatchStart                 // a watch was opened from Version; or Op WatchList, no older than it
	WatchEvent                 // Op ADDED, MODIFIED or DELETED, Version; Reason: what blocks its deletion
	Bookmark                   // the server said that nothing else happened up to Version
	WatchEnd                   // the watch ended: Reason
	Expired                    // 410 Gone: Version is too old to watch from, a relist follows
	Error                      // something failed: Reason
	Backoff                    // a pause of Took before attempt Count: Reason

	// What the informer does.
	Delta  // a list showed that an object was deleted, which no watch reported: Op is tombstone
	Left   // an object exists, and is dropped because another replica has its shard now
	Index  // the store and its indices were changed: Op, Count objects now held
	Synced // the first list has reached the store: Count objects
	Resync // every handler gets every object again: Count objects
	// Condition: an object's status says that it doesn't make progress. Op is the condition's type,
	// Reason; Took is how long it has been so. Without a Reason, that's over.
	Condition
	Notified // a listener got the event: Op

	// What decides whether there's work, and for which request.
	Predicate // a verdict on an event: Op, Reason is the predicate, Passed or Filtered
	Handler   // an event became a request: Op, ToObject, ToNamespace, ToName; Reason is the handler

	// What the queue does.
	Enqueue // a key was added: Reason; Deduplicated or Deferred if it didn't grow the queue
	Delay   // a key will be added after Took: Reason, Count earlier failures; Replaced if it moved
	Dequeue // a worker took the key after Took in the queue
	Done    // the worker has finished with the key

	// What the controller and its client do.
	ReconcileStart // Reason, Count causes that were merged into this one
	ReconcileEnd   // Took; Succeeded, Requeued, Waiting, Failed or GivenUp, Reason
	Write          // a write to the API server: Op, Version it produced; Conflict or Failed, Reason
	Admission      // a webhook's answer: Op, Passed or Refused, Reason

	// What the manager does.
	Start // a runnable started; or a group of them: Op is its phase
	Stop  // a runnable stopped: Reason; or a group of them: Op is its phase
	Lease // leader election: Op acquired, renewed or lost, Reason
	// Shard says which replica has the Namespace in Name. Op held: the table says that it's the one in
	// Reason, or nobody. Op begins, stops or ended is about this replica's own work there.
	Shard

	// Note is free text in Reason, for demos and for anything that fits no kind.
	Note
)

var kindNames = [...]string{
	List: "list", WatchStart: "watch start", WatchEvent: "watch event", Bookmark: "bookmark",
	WatchEnd: "watch end", Expired: "expired", Error: "error", Backoff: "backoff",
	Delta: "delta", Left: "left", Index: "index", Synced: "synced", Resync: "resync", Condition: "condition",
	Notified:  "notified",
	Predicate: "predicate", Handler: "handler",
	Enqueue: "enqueue", Delay: "delay", Dequeue: "dequeue", Done: "done",
	ReconcileStart: "reconcile start", ReconcileEnd: "reconcile end",
	Write: "write", Admission: "admission",
	Start: "start", Stop: "stop", Lease: "lease", Shard: "shard",
	Note: "note",
}

// WatchList is the Op of a WatchStart that begins with all objects. Its Version isn't a position
// in the history, but a lower bound: the objects are no older.
const WatchList = "WatchList"

// String returns the kind's name in a timeline and in JSON.
func (k Kind) String() string { return nameIn(kindNames[:], int(k)) }

// Outcome says how an event ended whose kind can end in more than one way.
type Outcome uint8

const (
	Succeeded    Outcome = iota + 1
	Failed               // Reason holds the error
	Requeued             // a reconcile that wants to be called again; Reason may say when
	Conflict             // a write that lost against another writer
	Deduplicated         // an enqueue of a key that was already waiting
	Deferred             // an enqueue of a key that a worker holds: it waits for Done
	Replaced             // a delay that moved an earlier one of the same key
	Passed               // a predicate or webhook that said yes
	Filtered             // a predicate that said no
	Refused              // a webhook that said no
	GivenUp              // a reconcile that failed and isn't tried again; Reason holds the error
	Waiting              // a reconcile that waits for the object in Reason
)

var outcomeNames = [...]string{
	Succeeded: "succeeded", Failed: "failed", Requeued: "requeued", Conflict: "conflict",
	Deduplicated: "deduplicated", Deferred: "deferred", Replaced: "replaced",
	Passed: "passed", Filtered: "filtered", Refused: "refused",
	GivenUp: "given up", Waiting: "waiting",
}

// String returns the outcome's name in JSON; "" for no outcome.
func (o Outcome) String() string {
	if o == 0 {
		return ""
	}
	return nameIn(outcomeNames[:], int(o))
}

// nameIn tolerates a number without a name, because a recording may be newer than the program that
// prints it.
func nameIn(names []string, i int) string {
	if i >= len(names) || names[i] == "" {
		return "unknown"
	}
	return names[i]
}
