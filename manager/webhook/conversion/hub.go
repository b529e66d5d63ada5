// Package conversion converts objects of one version of a kind to another.
//
// A Registry holds one Converter for each kind. A manager has one, and its conversion webhook uses
// it.
//
// Neighbours: below it are only the types of a kind's name. Above it is the manager.
package conversion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/conversion"
)

// IsConvertible returns true if the versions of an object's kind convert themselves: one is the
// hub, and all others are Convertible.
//
// It returns false without an error for a kind of one version, and for a kind with neither hub nor
// Convertible, such as the built-in kinds.
//
// Errors: a PartialImplementationError if only some of the versions implement Hub or Convertible.
func IsConvertible(scheme *runtime.Scheme, obj runtime.Object) (bool, error) {
	versions, err := versionsOf(scheme, obj)
	if err != nil {
		return false, err
	}
	parts := PartialImplementationError{kind: versions[0].GroupKind()}
	for _, version := range versions {
		instance, err := scheme.New(version)
		if err != nil {
			return false, fmt.Errorf("making a %s: %w", version, err)
		}
		switch instance.(type) {
		case conversion.Hub:
			parts.hubs = append(parts.hubs, version.Version)
		case conversion.Convertible:
			parts.spokes = append(parts.spokes, version.Version)
		default:
			parts.neither = append(parts.neither, version.Version)
		}
	}
	switch {
	case len(versions) == 1, len(parts.hubs)+len(parts.spokes) == 0:
		return false, nil
	case len(parts.hubs) == 1 && len(parts.neither) == 0:
		return true, nil
	}
	return false, parts
}

// PartialImplementationError says which versions of a kind prevent its conversion.
type PartialImplementationError struct {
	kind                  schema.GroupKind
	hubs, spokes, neither []string // versions
}

// Error implements error.
func (e PartialImplementationError) Error() string {
	switch {
	case len(e.hubs) == 0:
		return fmt.Sprintf("%s has no hub: the versions %s are Convertible, "+
			"and one version needs the method Hub()",
			e.kind, strings.Join(e.spokes, ", "))
	case len(e.hubs) > 1:
		return fmt.Sprintf("%s has several hubs, the versions %s: "+
			"take the method Hub() away from all but one",
			e.kind, strings.Join(e.hubs, ", "))
	default:
		return fmt.Sprintf("%s cannot be converted to all of its versions: "+
			"%s must have the methods ConvertTo and ConvertFrom, as %s is the hub",
			e.kind, strings.Join(e.neither, ", "), e.hubs[0])
	}
}

// versionsOf returns all versions of an object's kind that the scheme has, in order. There's at
// least one.
//
// It takes the kind from the scheme, by the Go type: an empty object doesn't have its kind in it.
func versionsOf(scheme *runtime.Scheme, obj runtime.Object) ([]schema.GroupVersionKind, error) {
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	if len(kinds) != 1 {
		return nil, fmt.Errorf("%T is registered as %d kinds, so its versions are not known",
			obj, len(kinds))
	}
	var versions []schema.GroupVersionKind
	for kind := range scheme.AllKnownTypes() {
		if kind.GroupKind() == kinds[0].GroupKind() {
			versions = append(versions, kind)
		}
	}
	slices.SortFunc(versions, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.Version, b.Version)
	})
	return versions, nil
}

// hubOf makes an empty object of the hub of src's kind.
func hubOf(scheme *runtime.Scheme, src runtime.Object) (conversion.Hub, error) {
	versions, err := versionsOf(scheme, src)
	if err != nil {
		return nil, err
	}
	var found conversion.Hub
	for _, version := range versions {
		instance, err := scheme.New(version)
		if err != nil {
			return nil, fmt.Errorf("making a %s: %w", version, err)
		}
		hub, is := instance.(conversion.Hub)
		if !is {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s has more than one hub", version.GroupKind())
		}
		found = hub
	}
	if found == nil {
		return nil, fmt.Errorf("%s has no hub", versions[0].GroupKind())
	}
	return found, nil
}

// convertByMethods converts with the methods of the objects.
func convertByMethods(scheme *runtime.Scheme, src, dst runtime.Object) error {
	source, sourceIsSpoke := src.(conversion.Convertible)
	target, targetIsSpoke := dst.(conversion.Convertible)
	if hub, is := src.(conversion.Hub); is && targetIsSpoke {
		return target.ConvertFrom(hub)
	}
	if hub, is := dst.(conversion.Hub); is && sourceIsSpoke {
		return source.ConvertTo(hub)
	}
	if !sourceIsSpoke || !targetIsSpoke {
		return fmt.Errorf("%T is not convertible to %T", src, dst)
	}
	hub, err := hubOf(scheme, src)
	if err != nil {
		return err
	}
	if err := source.ConvertTo(hub); err != nil {
		return fmt.Errorf("%T to the hub %T: %w", src, hub, err)
	}
	if err := target.ConvertFrom(hub); err != nil {
		return fmt.Errorf("%T from the hub %T: %w", dst, hub, err)
	}
	return nil
}

// SpokeConverter converts one version, the spoke, to the hub and back.
type SpokeConverter[hubObject runtime.Object] interface {
	// GetSpoke returns an object of the spoke. Only its type matters.
	GetSpoke() runtime.Object
	ConvertHubToSpoke(ctx context.Context, hub hubObject, spoke runtime.Object) error
	ConvertSpokeToHub(ctx context.Context, spoke runtime.Object, hub hubObject) error
}

// NewSpokeConverter makes a SpokeConverter from two functions. With it, API types need no methods,
// and no import of this module.
func NewSpokeConverter[hubObject, spokeObject client.Object](
	spoke spokeObject,
	convertHubToSpokeFunc func(ctx context.Context, src hubObject, dst spokeObject) error,
	convertSpokeToHubFunc func(ctx context.Context, src spokeObject, dst hubObject) error,
) SpokeConverter[hubObject] {
	return spokeFuncs[hubObject, spokeObject]{spoke, convertHubToSpokeFunc, convertSpokeToHubFunc}
}

type spokeFuncs[hubObject, spokeObject client.Object] struct {
	spoke   spokeObject
	fromHub func(context.Context, hubObject, spokeObject) error
	toHub   func(context.Context, spokeObject, hubObject) error
}

func (f spokeFuncs[hubObject, spokeObject]) GetSpoke() runtime.Object { return f.spoke }

func (f spokeFuncs[hubObject, spokeObject]) ConvertHubToSpoke(
	ctx context.Context, hub hubObject, spoke runtime.Object,
) error {
	return f.fromHub(ctx, hub, spoke.(spokeObject))
}

func (f spokeFuncs[hubObject, spokeObject]) ConvertSpokeToHub(
	ctx context.Context, spoke runtime.Object, hub hubObject,
) error {
	return f.toHub(ctx, spoke.(spokeObject), hub)
}

// NewHubSpokeConverter makes a Converter from one SpokeConverter for each version but the hub's.
// Pass the result to the builder's WithConverter.
//
// Errors: a version without a SpokeConverter, a second one for a version, or one for another kind.
func NewHubSpokeConverter[hubObject runtime.Object](
	hub hubObject, spokeConverter ...SpokeConverter[hubObject],
) func(scheme *runtime.Scheme) (Converter, error) {
	return func(scheme *runtime.Scheme) (Converter, error) {
		converter, err := newHubSpokes(scheme, hub, spokeConverter)
		if err != nil {
			return nil, fmt.Errorf("making a converter with the hub %T: %w", hub, err)
		}
		return converter, nil
	}
}

type hubSpokes[hubObject runtime.Object] struct {
	scheme *runtime.Scheme
	hub    schema.GroupVersionKind
	spokes map[string]SpokeConverter[hubObject] // by version
}

func newHubSpokes[hubObject runtime.Object](
	scheme *runtime.Scheme, hub hubObject, converters []SpokeConverter[hubObject],
) (*hubSpokes[hubObject], error) {
	kind, err := apiutil.GVKForObject(hub, scheme)
	if err != nil {
		return nil, err
	}
	versions, err := versionsOf(scheme, hub)
	if err != nil {
		return nil, err
	}
	c := &hubSpokes[hubObject]{
		scheme: scheme, hub: kind, spokes: map[string]SpokeConverter[hubObject]{},
	}
	for _, converter := range converters {
		spoke, err := apiutil.GVKForObject(converter.GetSpoke(), scheme)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the kind of a spoke: %w", err)
		case spoke.GroupKind() != kind.GroupKind():
			return nil, fmt.Errorf("a spoke is a %s, and the hub is a %s",
				spoke.GroupKind(), kind.GroupKind())
		case c.spokes[spoke.Version] != nil:
			return nil, fmt.Errorf("there are two spoke converters for %s", spoke.Version)
		}
		c.spokes[spoke.Version] = converter
	}
	var want []string
	for _, version := range versions {
		if version != kind {
			want = append(want, version.Version)
		}
	}
	if got := slices.Sorted(maps.Keys(c.spokes)); !slices.Equal(got, want) {
		return nil, fmt.Errorf(
			"there must be spoke converters for [%s], and there are some for [%s]",
			strings.Join(want, " "), strings.Join(got, " "))
	}
	return c, nil
}

// ConvertObject implements Converter.
func (c *hubSpokes[hubObject]) ConvertObject(ctx context.Context, src, dst runtime.Object) error {
	from, to := src.GetObjectKind().GroupVersionKind(), dst.GetObjectKind().GroupVersionKind()
	source, target := c.spokes[from.Version], c.spokes[to.Version]
	switch {
	case from == c.hub && target != nil:
		return target.ConvertHubToSpoke(ctx, src.(hubObject), dst)
	case to == c.hub && source != nil:
		return source.ConvertSpokeToHub(ctx, src, dst.(hubObject))
	case source == nil || target == nil:
		return fmt.Errorf("there is no way from %s to %s", from, to)
	}
	hub, err := c.scheme.New(c.hub)
	if err != nil {
		return fmt.Errorf("making a %s: %w", c.hub, err)
	}
	if err := source.ConvertSpokeToHub(ctx, src, hub.(hubObject)); err != nil {
		return fmt.Errorf("%s to the hub %s: %w", from.Version, c.hub.Version, err)
	}
	if err := target.ConvertHubToSpoke(ctx, hub.(hubObject), dst); err != nil {
		return fmt.Errorf("%s from the hub %s: %w", to.Version, c.hub.Version, err)
	}
	return nil
}

// Converter fills dst, an object of another version, from src.
type Converter interface {
	ConvertObject(ctx context.Context, src, dst runtime.Object) error
}

// Registry has the converters by kind. It may be used from several goroutines.
type Registry interface {
	// RegisterConverter returns an error if the kind has a converter already.
	RegisterConverter(gk schema.GroupKind, converter Converter) error
	GetConverter(gk schema.GroupKind) (Converter, bool)
}

// NewRegistry returns an empty Registry.
func NewRegistry() Registry { return &registry{converters: map[schema.GroupKind]Converter{}} }

type registry struct {
	mu         sync.RWMutex // guards converters
	converters map[schema.GroupKind]Converter
}

// RegisterConverter implements Registry.
func (r *registry) RegisterConverter(gk schema.GroupKind, converter Converter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.converters[gk]; taken {
		return fmt.Errorf("%s has a converter already: register one for each kind", gk)
	}
	r.converters[gk] = converter
	return nil
}

// GetConverter implements Registry.
func (r *registry) GetConverter(gk schema.GroupKind) (Converter, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	converter, found := r.converters[gk]
	return converter, found
}
