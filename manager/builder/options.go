package builder

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
)

// ForInput has the arguments of For.
type ForInput struct {
	object       client.Object
	predicates   []predicate.Predicate
	onlyMetadata bool
}

// OwnsInput has the arguments of Owns.
type OwnsInput struct {
	object       client.Object
	predicates   []predicate.Predicate
	onlyMetadata bool
	everyOwner   bool
}

// WatchesInput has the arguments of Watches.
type WatchesInput[request comparable] struct {
	object       client.Object
	handler      handler.TypedEventHandler[client.Object, request]
	predicates   []predicate.Predicate
	onlyMetadata bool
}

// untypedWatchesInput is a WatchesInput of any type of request.
type untypedWatchesInput interface {
	setPredicates([]predicate.Predicate)
	setOnlyMetadata()
}

func (w *WatchesInput[request]) setPredicates(p []predicate.Predicate) { w.predicates = p }
func (w *WatchesInput[request]) setOnlyMetadata()                      { w.onlyMetadata = true }

// ForOption changes what For does.
type ForOption interface {
	ApplyToFor(*ForInput)
}

// OwnsOption changes what Owns does.
type OwnsOption interface {
	ApplyToOwns(*OwnsInput)
}

// WatchesOption changes what Watches does.
type WatchesOption interface {
	ApplyToWatches(untypedWatchesInput)
}

// Predicates are an option for For, Owns and Watches: they decide which events of that one watch
// reach the controller. WithPredicates makes them. For all watches, use Builder.WithEventFilter.
type Predicates struct{ predicates []predicate.Predicate }

// WithPredicates lets an event of one watch through only if all the predicates do:
//
//	For(&appsv1.Deployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
//
// wakes the controller when a Deployment's spec changes, but not when its status does. If you use
// it twice for one watch, the last one counts.
func WithPredicates(predicates ...predicate.Predicate) Predicates { return Predicates{predicates} }

// ApplyToFor implements ForOption.
func (p Predicates) ApplyToFor(input *ForInput) { input.predicates = p.predicates }

// ApplyToOwns implements OwnsOption.
func (p Predicates) ApplyToOwns(input *OwnsInput) { input.predicates = p.predicates }

// ApplyToWatches implements WatchesOption.
func (p Predicates) ApplyToWatches(input untypedWatchesInput) { input.setPredicates(p.predicates) }

type onlyMetadata struct{}

// OnlyMetadata watches and caches only the metadata of the objects. Use it for many or big objects,
// and for kinds that have no Go type. Read them as metav1.PartialObjectMetadata with their kind
// set: reading the whole object needs a second informer, which may be at another resourceVersion.
var OnlyMetadata = onlyMetadata{}

// ApplyToFor implements ForOption.
func (onlyMetadata) ApplyToFor(input *ForInput) { input.onlyMetadata = true }

// ApplyToOwns implements OwnsOption.
func (onlyMetadata) ApplyToOwns(input *OwnsInput) { input.onlyMetadata = true }

// ApplyToWatches implements WatchesOption.
func (onlyMetadata) ApplyToWatches(input untypedWatchesInput) { input.setOnlyMetadata() }

type matchEveryOwner struct{}

// MatchEveryOwner makes Owns enqueue all owners of For's kind, instead of only the one whose
// reference has controller: true.
var MatchEveryOwner = &matchEveryOwner{}

// ApplyToOwns implements OwnsOption.
func (*matchEveryOwner) ApplyToOwns(input *OwnsInput) { input.everyOwner = true }
