// Bug: what was in the first list is not marked.

package informer

type pending[T Object] struct {
	object       T
	begun        bool
	gone         bool
	unseen       bool
	fresh        bool
	sync         bool
	listed       bool
	initial      bool
	former       T
	reborn       bool
	formerUnseen bool
}

func (p *pending[T]) put(object T) {
	if p.begun && !p.fresh && !p.reborn && (p.gone || p.object.GetUID() != object.GetUID()) {
		p.former, p.reborn, p.formerUnseen = p.object, true, p.unseen || !p.gone
	}
	p.object, p.begun = object, true
	p.gone, p.unseen, p.listed = false, false, false
}
func (p *pending[T]) remove(last T, unseen bool) bool {
	switch {
	case p.fresh:
		return false
	case p.reborn:
		p.object, p.unseen, p.reborn = p.former, p.formerUnseen, false
	default:
		p.object, p.unseen = last, unseen
	}
	p.begun, p.gone = true, true
	return true
}
func (p *pending[T]) deltas(to []Delta[T], key Key, known T, has bool) []Delta[T] {
	same := has && known.GetUID() == p.object.GetUID()
	switch {
	case p.gone && !has:
		return to
	case p.gone && same:
		return append(to, Delta[T]{Type: DeltaDeleted, Key: key, Object: p.object, Old: known, FinalStateUnknown: p.unseen})
	case p.gone:
		return append(to, Delta[T]{Type: DeltaDeleted, Key: key, Object: known, Old: known, FinalStateUnknown: true})
	case !has:
		return append(to, Delta[T]{Type: DeltaAdded, Key: key, Object: p.object})
	case !same || p.reborn:
		last, unseen := known, true
		if p.reborn && p.former.GetUID() == known.GetUID() {
			last, unseen = p.former, p.formerUnseen
		}
		return append(to,
			Delta[T]{Type: DeltaDeleted, Key: key, Object: last, Old: known, FinalStateUnknown: unseen},
			Delta[T]{Type: DeltaAdded, Key: key, Object: p.object, Initial: p.initial})
	case p.listed && known.GetResourceVersion() != "" && p.object.GetResourceVersion() == known.GetResourceVersion():
		if p.sync {
			return append(to, Delta[T]{Type: DeltaSync, Key: key, Object: known, Old: known})
		}
		return to
	default:
		return append(to, Delta[T]{Type: DeltaUpdated, Key: key, Object: p.object, Old: known, Initial: p.initial})
	}
}
