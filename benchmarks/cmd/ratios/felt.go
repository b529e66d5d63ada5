package main

import (
	"cmp"
	"slices"
)

// felt is a row that a user feels, and what it means for the user.
type felt struct {
	workload, beside, unit string
	variant                string // of ours: "ours" if it is not set
	What, Means            string
	row
}

// whatIsFelt has the rows of the page. One page has room for twenty.
var whatIsFelt = []felt{
	{workload: "start Start/objects=50000", beside: controllerRuntime, unit: "sec/op",
		What:  "start of a manager, 50,000 objects",
		Means: "After a restart or a failover, nothing is reconciled for this long."},
	{workload: "start Start/objects=50000", beside: controllerRuntime, unit: "cpu-sec/op",
		What:  "processor time of a start, 50,000 objects",
		Means: "What a container with a CPU limit waits for."},
	{workload: "start Start/objects=50000", beside: controllerRuntime, unit: "heap-B",
		What:  "heap of a manager with 50,000 objects",
		Means: "Most of the container's memory request: the objects, which are the same for both."},
	{workload: "informer ColdSync/list/protobuf", beside: clientGo, unit: "peak-B",
		What:  "peak memory while a cache of 50,000 Pods is filled",
		Means: "A container whose memory limit is lower is killed as it starts."},
	{workload: "manager CacheSync/objects=20000", beside: controllerRuntime, unit: "heap-B",
		What:  "heap of a cache of 20,000 Pods",
		Means: "What one more kind in the cache costs."},
	{workload: "start Binary", beside: controllerRuntime, unit: "binary-B",
		What:  "size of a controller's binary",
		Means: "What each node downloads."},
	{workload: "manager Idle/priority-queue", beside: controllerRuntime, unit: "B/op",
		What:  "memory allocated to start and stop 10 controllers",
		Means: "Paid once in the life of a process, and too little to see."},
	{workload: "manager CachedGet", beside: controllerRuntime, unit: "sec/op",
		What:  "cached Get of a Pod",
		Means: "Each reconcile begins with one."},
	{workload: "manager CachedList", beside: controllerRuntime, unit: "sec/op",
		What:  "cached List of 1,000 Pods",
		Means: "Nearly all of it is the copying, which keeps the cache safe."},
	{workload: "manager CachedListZeroCopy", beside: controllerRuntime, unit: "sec/op",
		What:  "cached List of 1,000 Pods without copies",
		Means: "For a reconciler that only reads."},
	{workload: "informer StoreStall/objects=150000", beside: clientGo, unit: "stall-sec",
		What:  "longest stall of a reader while 150,000 objects are relisted",
		Means: "Every reconcile that reads the cache stands still for this long."},
	{workload: "manager Reconcile/priority-queue", beside: controllerRuntime, unit: "sec/op",
		What:  "one pass through the default queue and a worker",
		Means: "What the machinery adds to each reconcile."},
	{workload: "manager Load/rate=2000", beside: controllerRuntime, unit: "p99-sec",
		What:  "p99 from event to reconcile, 2,000 a second",
		Means: "How late a busy controller notices a change."},
	{workload: "workqueue Cycle", beside: controllerRuntime, unit: "sec/op", variant: withPriorities,
		What:  "Add, Get and Done of the queue with priorities",
		Means: "A part of the pass above; a request to an API server takes thousands of times as long."},
	{workload: "workqueue Cycle", beside: clientGo, unit: "sec/op",
		What:  "Add, Get and Done of the plain queue",
		Means: "For a controller without priorities. It's just as small a part of a reconcile."},
	{workload: "manager HandleAndTake/owner/read", beside: controllerRuntime, unit: "sec/op",
		What:  "an event of an owned object, from handler to worker",
		Means: "What each Pod's status update costs a ReplicaSet's controller."},
	{workload: "webhook Serve/tls/validate", beside: controllerRuntime, unit: "sec/op",
		What:  "a validating webhook's answer",
		Means: "Each write of the kind waits for it."},
	{workload: "election Renew", beside: clientGo, unit: "goroutines",
		What:  "goroutines of leader election",
		Means: "A few kB each: you won't notice."},
	{workload: "manager FakeClientForOneTest", beside: controllerRuntime, unit: "sec/op",
		What:  "a unit test with a fake client",
		Means: "How long a test suite takes."},
	{workload: "manager FakeClientGet", beside: controllerRuntime, unit: "sec/op",
		What:  "a Get of the fake client",
		Means: "Only a test suite that reads a lot will notice."},
	{workload: "endtoend Converge", beside: controllerRuntime, unit: "sec/op",
		What:  "5,000 objects brought to their state on a real API server",
		Means: "What all of this comes to: the API server takes most of the time."},
}

const (
	controllerRuntime = "controller-runtime"
	clientGo          = "client-go"
	withPriorities    = "ours-priority"
)

// find returns the row in which it was measured.
func (f felt) find(rows []row) (row, bool) {
	i := slices.IndexFunc(rows, func(r row) bool {
		return r.name() == f.workload && r.Ours == cmp.Or(f.variant, "ours") && r.Original == f.beside && r.Unit == f.unit
	})
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}
