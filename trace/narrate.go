package trace

import (
	"fmt"
	"time"
)

// narrate returns the sentence at the end of a timeline's line. The columns before it show the
// time, the layer, the kind and the object.
func narrate(e Event) string {
	switch {
	case e.Kind <= Backoff:
		return narrateWatching(e)
	case e.Kind <= Handler:
		return narrateInforming(e)
	case e.Kind <= Done:
		return narrateQueueing(e)
	default:
		return narrateReconciling(e)
	}
}

func narrateWatching(e Event) string {
	switch e.Kind {
	case List:
		if e.Outcome == Failed {
			return "the list failed" + because(e.Reason)
		}
		return plural(e.Count, "item") + at(e.Version) + in(e.Took)
	case WatchStart:
		return narrateStart(e)
	case WatchEvent:
		if e.Reason != "" {
			return e.Op + at(e.Version) + "; the finalizer " + e.Reason + " blocks its deletion"
		}
		return e.Op + at(e.Version)
	case Bookmark:
		return "nothing else happened up to resourceVersion " + e.Version
	case WatchEnd:
		return "the watch ended" + because(e.Reason)
	case Expired:
		return "410 Gone: the server no longer knows resourceVersion " + e.Version + ", list again"
	case Backoff:
		return fmt.Sprintf("waiting %s before attempt %d", short(e.Took), e.Count) +
			because(e.Reason)
	default:
		return e.Reason
	}
}

// narrateStart says what the version means: the one from which a watch resumes, or a lower bound
// for a list's.
func narrateStart(e Event) string {
	switch {
	case e.Op != WatchList:
		return "watching" + word("from resourceVersion", e.Version)
	case e.Version == "":
		return "streaming all there is"
	default:
		return "streaming all there is, no older than resourceVersion " + e.Version
	}
}

func narrateInforming(e Event) string {
	switch e.Kind {
	case Delta:
		return fmt.Sprintf("%s queued, %d pending for this key", e.Op, e.Count)
	case Left:
		return "another replica has its shard now: dropped here, not deleted"
	case Index:
		return fmt.Sprintf("%s in store and index", e.Op) + at(e.Version) + ", " +
			plural(e.Count, "object") + " held"
	case Synced:
		return "the first list is in the store: " + plural(e.Count, "object")
	case Resync:
		return "handing out " + plural(e.Count, "object") + " again"
	case Condition:
		if e.Reason == "" {
			return e.Op + " is as it should be again"
		}
		return e.Op + " says that it isn't getting anywhere" + because(e.Reason)
	case Notified:
		return e.Op + " handed to the listener"
	case Predicate:
		if e.Outcome == Filtered {
			return e.Op + " filtered out" + word("by", e.Reason)
		}
		return e.Op + " let through" + word("by", e.Reason)
	default: // Handler
		if e.ToName == "" {
			return e.Op + " asks for nothing" + because(e.Reason)
		}
		return e.Op + " asks for " + kindAndKey(e.ToObject, e.ToNamespace, e.ToName) +
			because(e.Reason)
	}
}

func narrateQueueing(e Event) string {
	switch {
	case e.Kind == Enqueue && e.Outcome == Deduplicated:
		return "already waiting, merged" + because(e.Reason)
	case e.Kind == Enqueue && e.Outcome == Deferred:
		return "a worker has it, queued again after Done" + because(e.Reason)
	case e.Kind == Enqueue:
		return "added to the queue" + because(e.Reason)
	case e.Kind == Delay && e.Outcome == Replaced:
		return "moved: to be added in " + short(e.Took) + because(e.Reason)
	case e.Kind == Delay:
		return "to be added in " + short(e.Took) + because(e.Reason)
	case e.Kind == Dequeue:
		return "a worker takes it after " + short(e.Took) + " in the queue"
	default: // Done
		return "the worker is done with it"
	}
}

func narrateReconciling(e Event) string {
	switch {
	case e.Kind == ReconcileStart && e.Count > 1:
		return fmt.Sprintf("reconcile starts, for %d causes merged", e.Count) + because(e.Reason)
	case e.Kind == ReconcileStart:
		return "reconcile starts" + because(e.Reason)
	case e.Kind == ReconcileEnd && e.Outcome == Failed:
		return "failed" + in(e.Took) + because(e.Reason)
	case e.Kind == ReconcileEnd && e.Outcome == Requeued:
		return "answered" + in(e.Took) + ", and wants to be called again" + because(e.Reason)
	case e.Kind == ReconcileEnd && e.Outcome == GivenUp:
		return "failed" + in(e.Took) + ", and is not tried again" + because(e.Reason)
	case e.Kind == ReconcileEnd && e.Outcome == Waiting:
		return "looked" + in(e.Took) + ", and waits for " + e.Reason
	case e.Kind == ReconcileEnd:
		return "reconciled" + in(e.Took)
	case e.Kind == Write && e.Outcome == Conflict:
		return e.Op + " refused: somebody else wrote first" + because(e.Reason)
	case e.Kind == Write && e.Outcome == Failed:
		return e.Op + " failed" + because(e.Reason)
	case e.Kind == Write:
		return e.Op + " written" + at(e.Version) + in(e.Took)
	case e.Kind == Admission && e.Outcome == Refused:
		return e.Op + " refused" + because(e.Reason)
	case e.Kind == Admission:
		return e.Op + " admitted" + because(e.Reason)
	case (e.Kind == Start || e.Kind == Stop) && e.Op != "":
		return e.Op
	case e.Kind == Start:
		return "started"
	case e.Kind == Stop:
		return "stopped" + because(e.Reason)
	case e.Kind == Lease:
		return "lease " + e.Op + because(e.Reason)
	case e.Kind == Shard:
		return narrateShard(e)
	default: // Note, and kinds that are newer than this program
		return e.Reason
	}
}

func narrateShard(e Event) string {
	switch {
	case e.Op == "held" && e.Reason == "":
		return "no replica has it now"
	case e.Op == "held":
		return e.Reason + " has it now"
	case e.Op == "begins":
		return "this replica begins to work here"
	case e.Op == "stops":
		return "this replica begins no more reconciles here"
	default: // ended
		return "this replica's last reconcile here has ended"
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func word(w, s string) string {
	if s == "" {
		return ""
	}
	return " " + w + " " + s
}

func at(version string) string { return word("at resourceVersion", version) }

func in(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return " in " + short(d)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short rounds a duration to about three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(time.Microsecond).String()
	}
}
