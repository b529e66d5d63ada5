package informer

// pending is what happened to a key since the consumer was last told of it,
// boiled down: what there is now, and whether another object had the name before.
// It is the same size after a thousand updates as after one.
//
// It says nothing of what the consumer knows, which is asked for when the consumer
// comes, and not before: in between, it changes.
type pending[T Object] struct {
	object  T    // the newest state; the last one if it is gone
	begun   bool // there is something to say at all
	gone    bool // the object was deleted,
	unseen  bool // and nobody saw it
	fresh   bool // it was made since: the consumer has never heard of it
	sync    bool // to be handed over also if nothing happened
	listed  bool // the newest state came with a list, and may be no news
	initial bool // it was in the first list

	// former is the last state of an earlier object with the same name, which the
	// consumer may know. There is one if reborn is set.
	former       T
	reborn       bool
	formerUnseen bool
}

// put notes that the object is there: it was added, changed or listed. Updates
// coalesce: what was not handed over is not missed.
func (p *pending[T]) put(object T) {
	if p.begun && !p.fresh && !p.reborn && (p.gone || p.object.GetUID() != object.GetUID()) {
		// Another object with the name of a deleted one. Its UID tells, even if
		// nobody saw the deletion. To the consumer it must not look like a change.
		// So it is with one that left the watch's selector and returned: the watch
		// has told its end, and whoever acted on that must be told the beginning.
		p.former, p.reborn, p.formerUnseen = p.object, true, p.unseen || !p.gone
	}
	p.object, p.begun = object, true
	p.gone, p.unseen = false, false
	p.listed = false // whoever puts what a list shows says so afterwards
}

// remove notes that the object is gone; unseen says that this is a conclusion. It
// returns false if the consumer need not be told at all: the object came and
// went behind its back.
func (p *pending[T]) remove(last T, unseen bool) bool {
	switch {
	case p.fresh:
		return false
	case p.reborn: // the consumer knows the former one, at most
		p.object, p.unseen, p.reborn = p.former, p.formerUnseen, false
	default:
		p.object, p.unseen = last, unseen
	}
	p.begun, p.gone = true, true
	return true
}

// deltas appends what the consumer must be told if it has the known object, or
// none: nothing, one delta, or two, if another object has taken the name.
func (p *pending[T]) deltas(to []Delta[T], key Key, known T, has bool) []Delta[T] {
	same := has && known.GetUID() == p.object.GetUID()
	switch {
	case p.gone && !has:
		return to // it came and went
	case p.gone && same:
		return append(to, Delta[T]{Type: DeltaDeleted, Key: key, Object: p.object, Old: known, FinalStateUnknown: p.unseen})
	case p.gone: // the end of another one was seen; that of the known one was not
		return append(to, Delta[T]{Type: DeltaDeleted, Key: key, Object: known, Old: known, FinalStateUnknown: true})
	case !has:
		return append(to, Delta[T]{Type: DeltaAdded, Key: key, Object: p.object, Initial: p.initial})
	case !same || p.reborn: // reborn and the same: its end was seen, and it returned
		last, unseen := known, true
		if p.reborn && p.former.GetUID() == known.GetUID() {
			last, unseen = p.former, p.formerUnseen
		}
		return append(to,
			Delta[T]{Type: DeltaDeleted, Key: key, Object: last, Old: known, FinalStateUnknown: unseen},
			Delta[T]{Type: DeltaAdded, Key: key, Object: p.object, Initial: p.initial})
	// A list repeats what is known. Some servers give no versions (metrics.k8s.io);
	// there nobody can tell, and an update too many is better than one too few.
	case p.listed && known.GetResourceVersion() != "" && p.object.GetResourceVersion() == known.GetResourceVersion():
		if p.sync {
			return append(to, Delta[T]{Type: DeltaSync, Key: key, Object: known, Old: known})
		}
		return to
	default:
		return append(to, Delta[T]{Type: DeltaUpdated, Key: key, Object: p.object, Old: known, Initial: p.initial})
	}
}
