package builder

import (
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
)

// ForInput is what For was given.
type ForInput struct {
	object       client.Object
	predicates   []predicate.Predicate
	onlyMetadata bool
}

// OwnsInput is what Owns was given.
type OwnsInput struct {
	object       client.Object
	predicates   []predicate.Predicate
	onlyMetadata bool
	everyOwner   bool
}

// WatchesInput is what Watches was given.
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

// Predicates are an option for all three; see WithPredicates.
type Predicates struct{ predicates []predicate.Predicate }

// WithPredicates lets only those events of a kind through that all the predicates let through. It
// replaces predicates that were given before.
func WithPredicates(predicates ...predicate.Predicate) Predicates { return Predicates{predicates} }

// ApplyToFor implements ForOption.
func (p Predicates) ApplyToFor(input *ForInput) { input.predicates = p.predicates }

// ApplyToOwns implements OwnsOption.
func (p Predicates) ApplyToOwns(input *OwnsInput) { input.predicates = p.predicates }

// ApplyToWatches implements WatchesOption.
func (p Predicates) ApplyToWatches(input *WatchesInput) { input.predicates = p.predicates }

type onlyMetadata struct{}

// OnlyMetadata watches and caches the metadata of the objects and nothing else, which is for many or
// big objects, and for kinds that have no Go type. Read them as metav1.PartialObjectMetadata
// with their kind set: a read of the whole type needs an informer of its own, and sees another moment.
var OnlyMetadata = onlyMetadata{}

// ApplyToFor implements ForOption.
func (onlyMetadata) ApplyToFor(input *ForInput) { input.onlyMetadata = true }

// ApplyToOwns implements OwnsOption.
func (onlyMetadata) ApplyToOwns(input *OwnsInput) { input.onlyMetadata = true }

// ApplyToWatches implements WatchesOption.
func (onlyMetadata) ApplyToWatches(input *WatchesInput) { input.onlyMetadata = true }

type matchEveryOwner struct{}

// MatchEveryOwner makes Owns ask for all owners that have For's kind, and not only for the one that
// is the controller.
var MatchEveryOwner = &matchEveryOwner{}

// ApplyToOwns implements OwnsOption.
func (*matchEveryOwner) ApplyToOwns(input *OwnsInput) { input.everyOwner = true }
