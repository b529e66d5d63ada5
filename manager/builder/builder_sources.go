package builder

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/source"
)

// sources are those that For, Owns and Watches stand for.
func (b *Builder) sources() ([]source.Source, error) {
	var all []source.Source
	add := func(method string, object client.Object, metadata bool, h handler.EventHandler, own []predicate.Predicate) error {
		object, err := b.watchedAs(object, metadata)
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		all = append(all, source.Kind(b.manager.GetCache(), object, h, slices.Concat(b.filters, own)...))
		return nil
	}
	switch {
	case b.reconciled.object != nil:
		input := b.reconciled
		if err := add("For", input.object, input.onlyMetadata, &handler.EnqueueRequestForObject{}, input.predicates); err != nil {
			return nil, err
		}
	case len(b.owned) > 0:
		return nil, errors.New("Owns needs For: it is For's kind that the owners have")
	case len(b.watched)+len(b.raw) == 0:
		return nil, errors.New("nothing is watched, so nothing would ever be reconciled: call For, Watches or WatchesRawSource")
	}
	for _, input := range b.owned {
		if err := add("Owns", input.object, input.onlyMetadata, b.ownerHandler(input), input.predicates); err != nil {
			return nil, err
		}
	}
	for _, input := range b.watched {
		if err := add("Watches", input.object, input.onlyMetadata, input.handler, input.predicates); err != nil {
			return nil, err
		}
	}
	return append(all, b.raw...), nil
}

func (b *Builder) ownerHandler(input OwnsInput) handler.EventHandler {
	var opts []handler.OwnerOption
	if !input.everyOwner {
		opts = append(opts, handler.OnlyControllerOwner())
	}
	return handler.EnqueueRequestForOwner(b.manager.GetScheme(), b.manager.GetRESTMapper(), b.reconciled.object, opts...)
}

// watchedAs is the object that tells the cache of which kind, and in which form, objects are to be
// watched.
func (b *Builder) watchedAs(object client.Object, onlyMetadata bool) (client.Object, error) {
	if event.IsNil(object) {
		return nil, fmt.Errorf("it was given a nil %T: give it an empty object of the kind", object)
	}
	kind, err := apiutil.GVKForObject(object, b.manager.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("the kind is not known, was its AddToScheme called? %w", err)
	}
	if !onlyMetadata {
		return object, nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	return metadata, nil
}
