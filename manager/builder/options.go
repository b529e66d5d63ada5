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
type WatchesInput struct {
	object       client.Object
	handler      handler.EventHandler
	predicates   []predicate.Predicate
	onlyMetadata bool
}

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
	ApplyToWatches(*WatchesInput)
}

// Predicates are an option for For, Owns and Watches: they decide which events of that one watch
// reach the controller. WithPredicates makes them. Builder.WithEventFilter is for all watches.
type Predicates struct{ predicates []predicate.Predicate }

// WithPredicates lets an event of one watch through only if all the predicates do:
//
//	For(&appsv1.Deployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
//
// wakes the controller when a Deployment's spec changes, and not when its status does. If it's given
// twice for one watch, the last one counts.
func WithPredicates(predicates ...predicate.Predicate) Predicates { return Predicates{predicates} }

// ApplyToFor implements ForOption.
func (p Predicates) ApplyToFor(input *ForInput) { input.predicates = p.predicates }

// ApplyToOwns implements OwnsOption.
func (p Predicates) ApplyToOwns(input *OwnsInput) { input.predicates = p.predicates }

// ApplyToWatches implements WatchesOption.
func (p Predicates) ApplyToWatches(input *WatchesInput) { input.predicates = p.predicates }

type onlyMetadata struct{}

// OnlyMetadata watches and caches only the metadata of the objects. Use it for many or big objects,
// and for kinds that have no Go type. Read them as metav1.PartialObjectMetadata with their kind
// set: a read of the whole type needs a second informer, which may be at another resourceVersion.
var OnlyMetadata = onlyMetadata{}

// ApplyToFor implements ForOption.
func (onlyMetadata) ApplyToFor(input *ForInput) { input.onlyMetadata = true }

// ApplyToOwns implements OwnsOption.
func (onlyMetadata) ApplyToOwns(input *OwnsInput) { input.onlyMetadata = true }

// ApplyToWatches implements WatchesOption.
func (onlyMetadata) ApplyToWatches(input *WatchesInput) { input.onlyMetadata = true }

type matchEveryOwner struct{}

// MatchEveryOwner makes Owns enqueue all owners of For's kind, and not only the one whose reference
// has controller: true.
var MatchEveryOwner = &matchEveryOwner{}

// ApplyToOwns implements OwnsOption.
func (*matchEveryOwner) ApplyToOwns(input *OwnsInput) { input.everyOwner = true }
