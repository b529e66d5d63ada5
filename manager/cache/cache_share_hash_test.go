package cache

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parts with one hash push each other out of the table, and are never shared.
func TestPartsThatDifferInOnePlaceHaveDifferentHashes(t *testing.T) {
	type pair struct{ A, B string }
	type object struct {
		Is    bool
		Small int32
		Count uint16
		At    *pair
		Any   any
	}
	s := newSharer()
	for _, different := range [][]any{
		{"", "a", "b", "ab"},
		{pair{"ab", "c"}, pair{"a", "bc"}, pair{"c", "ab"}, pair{}},
		{[]string(nil), []string{""}, []string{"a"}, []string{"a", "b"}, []string{"b", "a"}, []string{"a", "b", "a"}},
		{[][]string{{"a"}, {"b", "c"}}, [][]string{{"a", "b"}, {"c"}}},
		{[][]byte{[]byte("a"), []byte("bc")}, [][]byte{[]byte("ab"), []byte("c")}, [][]byte{[]byte("ab"), []byte("d")}},
		{map[string]string{}, map[string]string{"a": "b"}, map[string]string{"b": "a"}, map[string]string{"a": "a"}, map[string]string{"a": "b", "b": "a"}, map[string]string{"a": "b", "c": "d"}, map[string]string{"a": "d", "c": "b"}},
		{map[string][]byte{}, map[string][]byte{"a": []byte("b")}, map[string][]byte{"b": []byte("a")}, map[string][]byte{"a": []byte("b"), "c": []byte("d")}},
		{[]map[string]string{{"a": "b"}, {"c": "d"}}, []map[string]string{{"c": "d"}, {"a": "b"}}, []map[string]string{{"a": "b", "c": "d"}, {}}},
		{object{}, object{Is: true}, object{Small: 1}, object{Small: -1}, object{Count: 1}, object{At: &pair{A: "a"}}, object{At: &pair{B: "a"}}, object{Any: "a"}, object{Any: int8(3)}},
	} {
		known := map[uint64]any{}
		for _, part := range different {
			hash := s.hash(reflect.ValueOf(part))
			require.NotContains(t, known, hash, "%v and %v", known[hash], part)
			known[hash] = part
		}
	}
}

func TestPartsThatAreEqualHaveOneHash(t *testing.T) {
	s := newSharer()
	large := func() map[string]string {
		m := map[string]string{}
		for i := range 100 {
			m[fmt.Sprint(i)] = fmt.Sprint(-i)
		}
		return m
	}
	for range 10 {
		require.Equal(t, s.hash(reflect.ValueOf(large())), s.hash(reflect.ValueOf(large())), "whatever the order of a map")
	}
	require.Equal(t, s.hash(reflect.ValueOf(new("a"))), s.hash(reflect.ValueOf(new("a"))), "whatever the address")
}

// A place is given up when fewer than one part in eight was found, and not before there were 512.
func TestAPlaceIsGivenUpAfterATrial(t *testing.T) {
	for _, c := range []struct {
		tries, hits int
		hopeless    bool
	}{
		{0, 0, false}, {511, 0, false}, {512, 0, true}, {512, 63, true}, {512, 64, false}, {1024, 127, true}, {1024, 128, false},
	} {
		place := &sharedType{tries: c.tries, hits: c.hits}
		require.Equal(t, c.hopeless, place.isHopeless(), "%d of %d", c.hits, c.tries)
		part := []string{"a"}
		newSharer().visit(reflect.ValueOf(&part).Elem(), place)
		require.Equal(t, c.hopeless, place.tries == c.tries, "what is given up is not looked up")
	}
}

// Whoever looks at a nil, or at the inside of a time, finds nothing, and must not fail there.
func TestOnlyPlacesThatCanHavePartsAreLookedAt(t *testing.T) {
	type inside struct {
		Name   string
		hidden []string
		Labels map[string]string
	}
	type object struct {
		At     time.Time
		Stamp  *metav1.Time
		Number int
		Nil    *inside
		One    *inside
		Names  []string
		Parts  []inside
		Empty  []inside
		None   map[string]string
	}
	of := func(name string) *object {
		return &object{
			At: time.Unix(1, 0), Stamp: &metav1.Time{Time: time.Unix(1, 0)}, One: &inside{name, []string{"x"}, map[string]string{"k": "v"}}, Names: []string{"a"},
			Parts: []inside{{name, []string{"x"}, map[string]string{"k": "v"}}}, Empty: []inside{}, None: map[string]string{},
		}
	}
	s := newSharer()
	a, b := of("a"), of("b")
	s.share(a)
	s.share(b)
	require.Equal(t, of("a"), a)
	require.Equal(t, of("b"), b)
	address := func(x any) uintptr { return reflect.ValueOf(x).Pointer() }
	require.Equal(t, address(a.One.Labels), address(b.One.Labels), "behind a pointer")
	require.Equal(t, address(a.One.Labels), address(b.Parts[0].Labels), "in a slice")
	require.Equal(t, address(a.Names), address(b.Names))
	require.Equal(t, address(a.Stamp), address(b.Stamp))
	require.NotEqual(t, address(a.One), address(b.One), "the names differ")
	require.Len(t, s.kinds, 1)
	place := s.kinds[reflect.TypeFor[*object]()]
	require.Len(t, place.fields, 7, "a number has no parts, and nobody looks into a time")
	for _, field := range place.fields {
		if name := reflect.TypeFor[object]().Field(field.at).Name; name == "Nil" || name == "Empty" || name == "None" {
			require.Zero(t, field.of.tries, "%s has nothing to share", name)
		} else {
			require.Equal(t, 2, field.of.tries, name)
		}
	}
}

// A CustomResourceDefinition has a schema, which contains schemas.
func TestAnObjectThatContainsItsOwnTypeCanBeShared(t *testing.T) {
	of := func() *schemaProps {
		inner := schemaProps{ID: "inner", Required: []string{"a"}}
		return &schemaProps{Required: []string{"a"}, Items: &schemaPropsOr{Schema: &inner, Schemas: []schemaProps{inner}}, AllOf: []schemaProps{inner}, Not: &inner, Properties: map[string]schemaProps{"p": inner}}
	}
	s := newSharer()
	for range 2 {
		object := of()
		s.share(object)
		require.Equal(t, of(), object)
	}
}

// A table that were emptied too early would find less, and one that grew would keep what is gone.
func TestTheTableOfPartsIsEmptiedWhenItIsFull(t *testing.T) {
	s := newSharer()
	add := func(i int) {
		s.share(&corev1.ConfigMap{Data: map[string]string{"k": fmt.Sprint(i)}})
		for _, place := range s.kinds {
			for _, field := range place.fields {
				field.of.tries = 0 // so that the place is not given up
			}
		}
	}
	for i := range maxSharedParts {
		add(i)
		require.Len(t, s.parts, i+1)
	}
	add(0)
	require.Len(t, s.parts, maxSharedParts, "what is known takes no room")
	add(maxSharedParts)
	require.Len(t, s.parts, 1)
}
