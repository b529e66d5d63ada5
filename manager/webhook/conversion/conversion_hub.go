package conversion

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/conversion"
)

// IsConvertible says whether the versions of an object's kind convert themselves: one is the hub, and all
// others are Convertible.
//
// It is false without an error for a kind of one version, and for one with neither hub nor Convertible, such
// as the built-in kinds.
//
// Errors: A PartialImplementationError if only some of the versions take part.
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

// PartialImplementationError says which versions of a kind keep it from being converted.
type PartialImplementationError struct {
	kind                  schema.GroupKind
	hubs, spokes, neither []string // versions
}

// Error implements error.
func (e PartialImplementationError) Error() string {
	switch {
	case len(e.hubs) == 0:
		return fmt.Sprintf("%s has no hub: the versions %s are Convertible, and one version needs the method Hub()",
			e.kind, strings.Join(e.spokes, ", "))
	case len(e.hubs) > 1:
		return fmt.Sprintf("%s has several hubs, the versions %s: take the method Hub() away from all but one",
			e.kind, strings.Join(e.hubs, ", "))
	default:
		return fmt.Sprintf("%s cannot be converted to all of its versions: %s must have the methods ConvertTo and ConvertFrom, "+
			"as %s is the hub", e.kind, strings.Join(e.neither, ", "), e.hubs[0])
	}
}

// versionsOf returns all versions of an object's kind that the scheme has, in order. There is at least one.
//
// The kind is what the scheme says about the Go type: an object that nobody has filled says nothing.
func versionsOf(scheme *runtime.Scheme, obj runtime.Object) ([]schema.GroupVersionKind, error) {
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	if len(kinds) != 1 {
		return nil, fmt.Errorf("%T is registered as %d kinds, so its versions are not known", obj, len(kinds))
	}
	var versions []schema.GroupVersionKind
	for kind := range scheme.AllKnownTypes() {
		if kind.GroupKind() == kinds[0].GroupKind() {
			versions = append(versions, kind)
		}
	}
	slices.SortFunc(versions, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.Version, b.Version) })
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
