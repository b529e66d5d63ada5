package conversion

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	manager "github.com/loopwright/loopwright/manager/conversion"
)

// A kind that can be converted in part only is found when the program starts, and not by a user
// months later.
func TestWhetherAKindIsConvertible(t *testing.T) {
	for _, c := range []struct {
		name  string
		types map[string]runtime.Object
		want  bool
		err   string
	}{
		{"a hub and two spokes", map[string]runtime.Object{"v1": &bananaV1{}, "v2": &bananaV2{},
			"v3": &bananaV3{}}, true, ""},
		{"a hub alone", map[string]runtime.Object{"v2": &bananaV2{}}, false, ""},
		{"a spoke alone", map[string]runtime.Object{"v1": &bananaV1{}}, false, ""},
		{"no hub", map[string]runtime.Object{"v1": &bananaV1{}, "v3": &bananaV3{}}, false,
			"Banana.shop.example has no hub: the versions v1, v3 are Convertible"},
		{"two hubs", map[string]runtime.Object{"v1": &otherHub{}, "v2": &bananaV2{}}, false,
			"Banana.shop.example has several hubs, the versions v1, v2"},
		{"versions that take no part", map[string]runtime.Object{"v4": &plain{}, "v5": &bare{}},
			false, ""},
		{"one that takes no part", map[string]runtime.Object{"v1": &bananaV1{}, "v2": &bananaV2{},
			"v4": &plain{}}, false,
			"Banana.shop.example cannot be converted to all of its versions: v4 must have the " +
				"methods ConvertTo and ConvertFrom, as v2 is the hub"},
	} {
		var any runtime.Object
		for _, object := range c.types {
			any = object
		}
		known := newScheme(c.types)
		known.AddKnownTypeWithName(versionOf("v7").WithKind("Apple"), &apple{}) // of the same group
		got, err := IsConvertible(known, any)
		require.Equal(t, c.want, got, c.name)
		if c.err == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.err, c.name)
			require.ErrorAs(t, err, &PartialImplementationError{})
		}
	}
	got, err := IsConvertible(scheme.Scheme, &metav1.PartialObjectMetadata{})
	require.False(t, got)
	require.ErrorContains(t, err, "no kind is registered for the type")

	got, err = IsConvertible(twice(), &bananaV1{})
	require.False(t, got)
	require.ErrorContains(t, err, "*conversion.bananaV1 is registered as 2 kinds")
}

// twice has v1 under two names.
func twice() *runtime.Scheme {
	known := bananas()
	known.AddKnownTypeWithName(versionOf("v1").WithKind("Plantain"), &bananaV1{})
	return known
}

// bare and apple are neither hubs nor spokes.
type (
	bare  struct{ metav1.TypeMeta }
	apple struct{ banana }
)

func (b *bare) DeepCopyObject() runtime.Object  { c := *b; return &c }
func (a *apple) DeepCopyObject() runtime.Object { return &apple{*a.copied()} }

type otherHub struct{ banana }

func (b *otherHub) DeepCopyObject() runtime.Object { return &otherHub{*b.copied()} }
func (*otherHub) Hub()                             {}

func TestAHubSpokeConverterNeedsAllSpokesOnce(t *testing.T) {
	spoke := func(object interface {
		runtime.Object
		metav1.Object
	}) SpokeConverter[*bananaV2] {
		return spokeOf{object}
	}
	v1, v3 := spoke(&bananaV1{}), spoke(&bananaV3{})
	for _, c := range []struct {
		name   string
		spokes []SpokeConverter[*bananaV2]
		want   string
	}{
		{"one is missing", []SpokeConverter[*bananaV2]{v1},
			"there must be spoke converters for [v1 v3], and there are some for [v1]"},
		{"all are missing", nil,
			"there must be spoke converters for [v1 v3], and there are some for []"},
		{"one twice", []SpokeConverter[*bananaV2]{v1, v3, v1},
			"there are two spoke converters for v1"},
		{"the hub", []SpokeConverter[*bananaV2]{v1, v3, spoke(&bananaV2{})},
			"there must be spoke converters for [v1 v3]"},
		{"one of no kind", []SpokeConverter[*bananaV2]{spoke(&plain{})}, "the kind of a spoke"},
	} {
		_, err := NewHubSpokeConverter(&bananaV2{}, c.spokes...)(bananas())
		require.ErrorContains(t, err, c.want, c.name)
		require.ErrorContains(t, err, "making a converter with the hub *conversion.bananaV2",
			c.name)
	}
	other := bananas()
	other.AddKnownTypeWithName(versionOf("v1").WithKind("Apple"), &plain{})
	_, err := NewHubSpokeConverter(&bananaV2{}, v1, v3, spoke(&plain{}))(other)
	require.ErrorContains(t, err,
		"a spoke is a Apple.shop.example, and the hub is a Banana.shop.example")
	_, err = NewHubSpokeConverter(&bananaV2{}, v1, v3)(runtime.NewScheme())
	require.ErrorContains(t, err,
		"making a converter with the hub *conversion.bananaV2: no kind is registered")
}

type spokeOf struct{ object runtime.Object }

func (s spokeOf) GetSpoke() runtime.Object                                         { return s.object }
func (spokeOf) ConvertHubToSpoke(context.Context, *bananaV2, runtime.Object) error { return nil }
func (spokeOf) ConvertSpokeToHub(context.Context, runtime.Object, *bananaV2) error { return nil }

// stubborn is a spoke that cannot be made of the hub.
type stubborn struct{ banana }

func (s *stubborn) DeepCopyObject() runtime.Object { return &stubborn{*s.copied()} }
func (*stubborn) ConvertTo(manager.Hub) error      { return nil }
func (*stubborn) ConvertFrom(manager.Hub) error    { return errors.New("not like this") }

// A conversion that has no way must say so: the API server knows only that it has failed.
func TestWithoutAWayBetweenTwoVersionsTheErrorSaysWhich(t *testing.T) {
	green := &bananaV1{banana{Look: "green 9"}}
	known := newScheme(map[string]runtime.Object{"v1": &bananaV1{}, "v2": &bananaV2{},
		"v3": &stubborn{}})
	noHub := newScheme(map[string]runtime.Object{"v1": &bananaV1{}, "v3": &bananaV3{}})
	twoHubs := newScheme(map[string]runtime.Object{"v0": &otherHub{}, "v1": &bananaV1{},
		"v2": &bananaV2{}, "v3": &bananaV3{}})
	for _, c := range []struct {
		name     string
		known    *runtime.Scheme
		src, dst runtime.Object
		want     string
	}{
		{"from the hub to what is no spoke", known, &bananaV2{}, &plain{},
			"*conversion.bananaV2 is not convertible to *conversion.plain"},
		{"from what is no spoke to the hub", known, &plain{}, &bananaV2{},
			"*conversion.plain is not convertible to *conversion.bananaV2"},
		{"from a spoke to what is none", known, green, &plain{},
			"*conversion.bananaV1 is not convertible to *conversion.plain"},
		{"from what is no spoke to one", known, &plain{}, green,
			"*conversion.plain is not convertible to *conversion.bananaV1"},
		{"from a spoke to one that refuses", known, green, &stubborn{},
			"*conversion.stubborn from the hub *conversion.bananaV2: not like this"},
		{"without a hub", noHub, green, &bananaV3{}, "Banana.shop.example has no hub"},
		{"with two hubs", twoHubs, green, &bananaV3{}, "Banana.shop.example has more than one hub"},
		{"of a type of two kinds", twice(), green, &bananaV3{},
			"*conversion.bananaV1 is registered as 2 kinds"},
	} {
		require.ErrorContains(t, convertByMethods(c.known, c.src, c.dst), c.want, c.name)
	}
}

func TestWithoutASpokeConverterThereIsNoWay(t *testing.T) {
	refuses := func(context.Context, *bananaV2, *stubborn) error {
		return errors.New("not like this")
	}
	known := newScheme(map[string]runtime.Object{"v1": &bananaV1{}, "v2": &bananaV2{},
		"v3": &stubborn{}})
	converter, err := NewHubSpokeConverter(&bananaV2{},
		NewSpokeConverter(&bananaV1{},
			func(_ context.Context, hub *bananaV2, spoke *bananaV1) error {
				return spoke.ConvertFrom(hub)
			},
			func(_ context.Context, spoke *bananaV1, hub *bananaV2) error {
				return spoke.ConvertTo(hub)
			}),
		NewSpokeConverter(&stubborn{}, refuses, func(context.Context, *stubborn, *bananaV2) error {
			return nil
		}),
	)(known)
	require.NoError(t, err)
	of := func(version string, object runtime.Object) runtime.Object {
		object.GetObjectKind().SetGroupVersionKind(versionOf(version).WithKind("Banana"))
		return object
	}
	green := func() runtime.Object { return of("v1", &bananaV1{banana{Look: "green 9"}}) }
	for _, c := range []struct {
		src, dst runtime.Object
		want     string
	}{
		{of("v2", &bananaV2{}), of("v9", &plain{}),
			"there is no way from shop.example/v2, Kind=Banana to shop.example/v9, Kind=Banana"},
		{of("v9", &plain{}), of("v2", &bananaV2{}),
			"there is no way from shop.example/v9, Kind=Banana to shop.example/v2, Kind=Banana"},
		{of("v9", &plain{}), green(),
			"there is no way from shop.example/v9, Kind=Banana to shop.example/v1, Kind=Banana"},
		{green(), of("v9", &plain{}),
			"there is no way from shop.example/v1, Kind=Banana to shop.example/v9, Kind=Banana"},
		{green(), of("v3", &stubborn{}), "v3 from the hub v2: not like this"},
	} {
		require.EqualError(t, converter.ConvertObject(t.Context(), c.src, c.dst), c.want)
	}
}
