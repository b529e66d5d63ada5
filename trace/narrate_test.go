package trace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// A wrong sentence is worse than none: a user who reads a timeline looks for a mistake, and would
// look in the wrong place.
func TestASentenceSaysWhatHappenedAndNothingElse(t *testing.T) {
	const ms = time.Millisecond
	for _, line := range []struct {
		want  string
		event Event
	}{
		{"1 item at resourceVersion 7", Event{Kind: List, Count: 1, Version: "7"}},
		{"0 items at resourceVersion 7 in 3ms", Event{Kind: List, Version: "7", Took: 3 * ms}},
		{
			"the list failed: refused",
			Event{Kind: List, Outcome: Failed, Reason: "refused", Version: "7", Count: 2},
		},
		{"ADDED at resourceVersion 7", Event{Kind: WatchEvent, Op: "ADDED", Version: "7"}},
		{"ADDED", Event{Kind: WatchEvent, Op: "ADDED"}},
		{"MODIFIED at resourceVersion 7; the finalizer example.com/bucket blocks its deletion",
			Event{Kind: WatchEvent, Op: "MODIFIED", Version: "7", Reason: "example.com/bucket"}},
		{"nothing else happened up to resourceVersion 7", Event{Kind: Bookmark, Version: "7"}},
		{"the watch ended: EOF", Event{Kind: WatchEnd, Reason: "EOF"}},
		{"the watch ended", Event{Kind: WatchEnd}},
		{
			"410 Gone: the server no longer knows resourceVersion 7, list again",
			Event{Kind: Expired, Version: "7"},
		},
		{"a reason", Event{Kind: Error, Reason: "a reason", Version: "7", Took: ms}},
		{
			"waiting 1.5s before attempt 2: refused",
			Event{Kind: Backoff, Took: 1500 * ms, Count: 2, Reason: "refused"},
		},

		{"Updated queued, 3 pending for this key", Event{Kind: Delta, Op: "Updated", Count: 3}},
		{
			"Updated in store and index at resourceVersion 7, 2 objects held",
			Event{Kind: Index, Op: "Updated", Version: "7", Count: 2},
		},
		{"the first list is in the store: 2 objects", Event{Kind: Synced, Count: 2}},
		{"handing out 1 object again", Event{Kind: Resync, Count: 1}},
		{"Updated handed to the listener", Event{Kind: Notified, Op: "Updated"}},
		{
			"Update filtered out by generation",
			Event{Kind: Predicate, Outcome: Filtered, Op: "Update", Reason: "generation"},
		},
		{
			"Update let through by generation",
			Event{Kind: Predicate, Outcome: Passed, Op: "Update", Reason: "generation"},
		},
		{"Update let through", Event{Kind: Predicate, Op: "Update"}},
		{"Update asks for nothing: owner", Event{Kind: Handler, Op: "Update", Reason: "owner"}},
		{
			"Update asks for Service shop/web: owner",
			Event{
				Kind: Handler, Op: "Update", ToObject: "Service", ToNamespace: "shop",
				ToName: "web", Reason: "owner",
			},
		},
		{"Update asks for web", Event{Kind: Handler, Op: "Update", ToName: "web"}},

		{"added to the queue: owner", Event{Kind: Enqueue, Reason: "owner"}},
		{
			"already waiting, merged: owner",
			Event{Kind: Enqueue, Outcome: Deduplicated, Reason: "owner"},
		},
		{
			"a worker has it, queued again after Done: owner",
			Event{Kind: Enqueue, Outcome: Deferred, Reason: "owner"},
		},
		{"added to the queue", Event{Kind: Enqueue, Outcome: Replaced}},
		{"to be added in 2s: retry", Event{Kind: Delay, Took: 2 * time.Second, Reason: "retry"}},
		{
			"moved: to be added in 2s: retry",
			Event{Kind: Delay, Outcome: Replaced, Took: 2 * time.Second, Reason: "retry"},
		},
		{"to be added in 2s", Event{Kind: Delay, Outcome: Deduplicated, Took: 2 * time.Second}},
		{"a worker takes it after 4ms in the queue", Event{Kind: Dequeue, Took: 4 * ms}},
		{
			"a worker takes it after 4ms in the queue",
			Event{Kind: Dequeue, Took: 4 * ms, Outcome: Deferred},
		},
		{
			"a worker takes it after 4ms in the queue",
			Event{Kind: Dequeue, Took: 4 * ms, Outcome: Replaced},
		},
		{"the worker is done with it", Event{Kind: Done}},

		{"reconcile starts: owner", Event{Kind: ReconcileStart, Reason: "owner"}},
		{"reconcile starts: owner", Event{Kind: ReconcileStart, Count: 1, Reason: "owner"}},
		{
			"reconcile starts, for 2 causes merged: owner",
			Event{Kind: ReconcileStart, Count: 2, Reason: "owner"},
		},
		{"reconciled in 9ms", Event{Kind: ReconcileEnd, Took: 9 * ms}},
		{"reconciled in 9ms", Event{Kind: ReconcileEnd, Took: 9 * ms, Count: 2}},
		{
			"failed in 9ms: forbidden",
			Event{Kind: ReconcileEnd, Outcome: Failed, Took: 9 * ms, Reason: "forbidden"},
		},
		{
			"failed in 9ms, and is not tried again: forbidden",
			Event{Kind: ReconcileEnd, Outcome: GivenUp, Took: 9 * ms, Reason: "forbidden"},
		},
		{
			"looked in 9ms, and waits for Secret shop/password",
			Event{
				Kind: ReconcileEnd, Outcome: Waiting, Took: 9 * ms, Reason: "Secret shop/password",
			},
		},
		{
			"answered in 9ms, and wants to be called again: soon",
			Event{Kind: ReconcileEnd, Outcome: Requeued, Took: 9 * ms, Reason: "soon"},
		},
		{
			"update written at resourceVersion 7 in 9ms",
			Event{Kind: Write, Op: "update", Version: "7", Took: 9 * ms},
		},
		{
			"update refused: somebody else wrote first: 409",
			Event{Kind: Write, Outcome: Conflict, Op: "update", Reason: "409"},
		},
		{"update failed: 500", Event{Kind: Write, Outcome: Failed, Op: "update", Reason: "500"}},
		{"update written", Event{Kind: Write, Outcome: Refused, Op: "update"}},
		{"create admitted: by default", Event{Kind: Admission, Op: "create", Reason: "by default"}},
		{
			"create refused: no owner",
			Event{Kind: Admission, Outcome: Refused, Op: "create", Reason: "no owner"},
		},
		{"create admitted", Event{Kind: Admission, Outcome: Conflict, Op: "create"}},

		{"started", Event{Kind: Start, Reason: "ignored"}},
		{"stopped: the lease is lost", Event{Kind: Stop, Reason: "the lease is lost"}},
		{"ready", Event{Kind: Start, Op: "ready"}},
		{"stopping", Event{Kind: Stop, Op: "stopping"}},
		{
			"stopped: the lease is lost",
			Event{Kind: Stop, Outcome: Refused, Reason: "the lease is lost"},
		},
		{
			"lease acquired: nobody had it",
			Event{Kind: Lease, Op: "acquired", Reason: "nobody had it"},
		},
		{"shop-1 has it now", Event{Kind: Shard, Op: "held", Reason: "shop-1"}},
		{"no replica has it now", Event{Kind: Shard, Op: "held"}},
		{"this replica begins to work here", Event{Kind: Shard, Op: "begins"}},
		{"this replica begins no more reconciles here", Event{Kind: Shard, Op: "stops"}},
		{"this replica's last reconcile here has ended", Event{Kind: Shard, Op: "ended"}},
		{"a note", Event{Kind: Note, Reason: "a note", Count: 2, Op: "ignored"}},
		{"a note", Event{Kind: Note, Outcome: Requeued, Reason: "a note"}},
		{"a note", Event{Kind: Note, Outcome: Conflict, Reason: "a note"}},
		{"a note", Event{Kind: Note, Outcome: Failed, Reason: "a note"}},
		{"a note", Event{Kind: Note, Outcome: GivenUp, Reason: "a note"}},
		{"a note", Event{Kind: Note, Outcome: Waiting, Reason: "a note"}},
		{"of a newer program", Event{Kind: 200, Reason: "of a newer program"}},
	} {
		assert.Equal(t, line.want, narrate(line.event), "%s", line.event.Kind)
	}
}

// Nine digits are too many to read, and rounding must not make two times look equal that differ
// much.
func TestADurationHasTheDigitsThatAreRead(t *testing.T) {
	for d, want := range inorder.Map(map[time.Duration]string{
		1234567890: "1.23s", 1235000000: "1.24s", time.Second: "1s",
		time.Second - 1: "1s", 12345678: "12.3ms", 12350000: "12.4ms", time.Millisecond: "1ms",
		1449999:                 "1.4ms",
		time.Millisecond - 1000: "999µs", 12345: "12µs", 499: "0s", 500: "1µs",
	}) {
		assert.Equal(t, want, short(d), "%d ns", d)
	}
}

// Errors of every part are red, and each part of the machinery has its colour, so that a user finds
// the line that matters among thousands.
func TestEachPartHasItsColourAndTroubleIsRed(t *testing.T) {
	const red, green, yellow, blue, magenta, cyan = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m",
		"\x1b[35m", "\x1b[36m"
	for k := List; k <= Note; k++ {
		want := green
		switch k {
		case Error, Expired:
			want = red
		case List, WatchStart, WatchEvent, Bookmark, WatchEnd, Backoff:
			want = cyan
		case Delta, Left, Index, Synced, Resync, Condition, Notified:
			want = blue
		case Predicate, Handler:
			want = magenta
		case Enqueue, Delay, Dequeue, Done:
			want = yellow
		}
		assert.Equal(t, want, color(Event{Kind: k}), "%s", k)
		for _, o := range []Outcome{Failed, Conflict, Refused} {
			assert.Equal(t, red, color(Event{Kind: k, Outcome: o}), "%s that ended with %s", k, o)
		}
	}
}

// The columns before the sentence show the object of an event, as far as the layer knows it.
func TestAnObjectIsNamedByWhatIsKnownOfIt(t *testing.T) {
	for want, event := range inorder.Map(map[string]Event{
		"":             {},
		"Pod":          {Object: "Pod"},
		"shop":         {Namespace: "shop"},
		"Pod shop":     {Object: "Pod", Namespace: "shop"},
		"Node node-1":  {Object: "Node", Name: "node-1"},
		"shop/web":     {Namespace: "shop", Name: "web"},
		"Pod shop/web": {Object: "Pod", Namespace: "shop", Name: "web"},
	}) {
		assert.Equal(t, want, subject(event))
	}
}
