package conversion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// SpokeConverter converts one version, the spoke, to the hub and back.
type SpokeConverter[hubObject runtime.Object] interface {
	// GetSpoke returns an object of the spoke. Only its type counts.
	GetSpoke() runtime.Object
	ConvertHubToSpoke(ctx context.Context, hub hubObject, spoke runtime.Object) error
	ConvertSpokeToHub(ctx context.Context, spoke runtime.Object, hub hubObject) error
}

// NewSpokeConverter makes a SpokeConverter of two functions. With them, API types need no methods, and no
// import of this module.
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

func (f spokeFuncs[hubObject, spokeObject]) ConvertHubToSpoke(ctx context.Context, hub hubObject, spoke runtime.Object) error {
	return f.fromHub(ctx, hub, spoke.(spokeObject))
}

func (f spokeFuncs[hubObject, spokeObject]) ConvertSpokeToHub(ctx context.Context, spoke runtime.Object, hub hubObject) error {
	return f.toHub(ctx, spoke.(spokeObject), hub)
}

// NewHubSpokeConverter makes a Converter of one SpokeConverter for each version but the hub's. What it
// returns is for the builder's WithConverter.
//
// Errors: A version without a SpokeConverter, a second one for a version, or one for another kind.
func NewHubSpokeConverter[hubObject runtime.Object](hub hubObject, spokeConverter ...SpokeConverter[hubObject]) func(scheme *runtime.Scheme) (Converter, error) {
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

func newHubSpokes[hubObject runtime.Object](scheme *runtime.Scheme, hub hubObject, converters []SpokeConverter[hubObject]) (*hubSpokes[hubObject], error) {
	kind, err := apiutil.GVKForObject(hub, scheme)
	if err != nil {
		return nil, err
	}
	versions, err := versionsOf(scheme, hub)
	if err != nil {
		return nil, err
	}
	c := &hubSpokes[hubObject]{scheme: scheme, hub: kind, spokes: map[string]SpokeConverter[hubObject]{}}
	for _, converter := range converters {
		spoke, err := apiutil.GVKForObject(converter.GetSpoke(), scheme)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the kind of a spoke: %w", err)
		case spoke.GroupKind() != kind.GroupKind():
			return nil, fmt.Errorf("a spoke is a %s, and the hub is a %s", spoke.GroupKind(), kind.GroupKind())
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
		return nil, fmt.Errorf("there must be spoke converters for [%s], and there are some for [%s]",
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
