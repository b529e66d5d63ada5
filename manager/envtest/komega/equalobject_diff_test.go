package komega

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type inner struct {
	X int `json:"x"`
}

// Embedded is exported, as TypeMeta is.
type Embedded struct {
	E int `json:"e"`
}

// parity knows better than its fields when two of them are equal.
type parity struct{ N int }

func (p parity) Equal(other parity) bool { return p.N%2 == other.N%2 }

// These have a method of that name, which means something else.
type (
	asksNobody struct{ N int }
	asksMore   struct{ N int }
	saysMore   struct{ N int }
	saysHow    struct{ N int }
	ofAnother  struct{ N int }
)

func (asksNobody) Equal() bool                { return true }
func (asksMore) Equal(asksMore, int) bool     { return true }
func (saysMore) Equal(saysMore) (bool, error) { return true, nil }
func (saysHow) Equal(saysHow) int             { return 1 }
func (ofAnother) Equal(string) bool           { return true }

type thing struct {
	Embedded `json:",inline"`
	Named    inner `json:"named"`
	Inline   inner `json:",inline"`
	Bare     int
	Pointer  *inner                          `json:"pointer"`
	Any      any                             `json:"any"`
	Array    [2]int                          `json:"array"`
	List     []int                           `json:"list"`
	Map      map[string]int                  `json:"map"`
	Time     *metav1.Time                    `json:"time"`
	Comparer interface{ Equal(parity) bool } `json:"comparer"`
	hidden   int
}

// A difference that is not found makes a test of a controller pass that should fail; one with the
// wrong name is looked for in the wrong place.
func TestWhatDiffersAndWhere(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1, 0).UTC()), metav1.NewTime(time.Unix(2, 0).UTC())
	for _, c := range []struct {
		name          string
		wanted, found any
		want          []string
	}{
		{"nothing", nil, nil, nil},
		{"nothing on one side", nil, 1, []string{"the object: wanted nothing, found 1"}},
		{"another type", 1, "a", []string{`the object: wanted 1, found "a"`}},
		{"an embedded struct", thing{Embedded: Embedded{E: 1}}, thing{Embedded: Embedded{E: 2}},
			[]string{"e: wanted 1, found 2"}},
		{"a struct with a name", thing{Named: inner{1}}, thing{Named: inner{2}},
			[]string{"named.x: wanted 1, found 2"}},
		{"an inlined one", thing{Inline: inner{1}}, thing{Inline: inner{2}},
			[]string{"x: wanted 1, found 2"}},
		{"a field without a tag", thing{Bare: 1}, thing{Bare: 2},
			[]string{"Bare: wanted 1, found 2"}},
		{"a field that is not exported", thing{hidden: 1}, thing{hidden: 2}, nil},
		{"a pointer to nothing", thing{}, thing{Pointer: &inner{1}},
			[]string{"pointer: wanted <nil>, found {X:1}"}},
		{"a pointer that is missing", thing{Pointer: &inner{1}}, thing{},
			[]string{"pointer: wanted {X:1}, found <nil>"}},
		{"what pointers point to", thing{Pointer: &inner{1}}, thing{Pointer: &inner{2}},
			[]string{"pointer.x: wanted 1, found 2"}},
		{"an interface with another type", thing{Any: 1}, thing{Any: "a"},
			[]string{`any: wanted 1, found "a"`}},
		{"an empty interface", thing{}, thing{Any: 1}, []string{"any: wanted <nil>, found 1"}},
		{"an array", thing{Array: [2]int{1, 2}}, thing{Array: [2]int{1, 3}},
			[]string{"array[1]: wanted 2, found 3"}},
		{"a longer list", thing{List: []int{1}}, thing{List: []int{1, 2}},
			[]string{"list[1]: wanted nothing, found 2"}},
		{"a shorter list", thing{List: []int{1, 2}}, thing{List: []int{1}},
			[]string{"list[1]: wanted 2, found nothing"}},
		{"no list", thing{}, thing{List: []int{1}}, []string{"list: wanted [], found [1]"}},
		{"a list alone", []int{1}, []int{2}, []string{"[0]: wanted 1, found 2"}},
		{"maps, in the order of their keys",
			thing{Map: map[string]int{"b": 1, "d": 1, "e": 1, "f": 1}},
			thing{Map: map[string]int{"a": 2, "b": 2, "c": 2, "d": 2, "f": 1}},
			[]string{"map.a: wanted nothing, found 2", "map.b: wanted 1, found 2",
				"map.c: wanted nothing, found 2", "map.d: wanted 1, found 2",
				"map.e: wanted 1, found nothing"}},
		{"no map", thing{}, thing{Map: map[string]int{}},
			[]string{"map: wanted map[], found map[]"}},
		{"two times", thing{Time: &early}, thing{Time: &late},
			[]string{"time: wanted 1970-01-01 00:00:01 +0000 UTC, found 1970-01-01 00:00:02 " +
				"+0000 UTC"}},
		{"no time", thing{}, thing{}, nil},
		{"a time and none", thing{Time: &early}, thing{},
			[]string{"time: wanted 1970-01-01 00:00:01 +0000 UTC, found <nil>"}},
		{"no time and one", thing{}, thing{Time: &early},
			[]string{"time: wanted <nil>, found 1970-01-01 00:00:01 +0000 UTC"}},
		{"two quantities", resource.MustParse("1"), resource.MustParse("1000m"), nil},
		{"a type that compares itself", parity{1}, parity{3}, nil},
		{"a type that compares itself, and finds a difference", parity{1}, parity{2},
			[]string{"the object: wanted {N:1}, found {N:2}"}},
		{"an interface that can compare", thing{Comparer: parity{1}}, thing{Comparer: parity{3}},
			nil},
		{"an interface that could compare", thing{Comparer: parity{1}}, thing{},
			[]string{"comparer: wanted {N:1}, found <nil>"}},
		{"a method without an argument", asksNobody{1}, asksNobody{2},
			[]string{"N: wanted 1, found 2"}},
		{"a method with two", asksMore{1}, asksMore{2}, []string{"N: wanted 1, found 2"}},
		{"a method with two results", saysMore{1}, saysMore{2}, []string{"N: wanted 1, found 2"}},
		{"a method that returns a number", saysHow{1}, saysHow{2},
			[]string{"N: wanted 1, found 2"}},
		{"a method for another type", ofAnother{1}, ofAnother{2}, []string{"N: wanted 1, found 2"}},
	} {
		var got []string
		for _, d := range differences(c.wanted, c.found) {
			got = append(got, d.String())
		}
		require.Equal(t, c.want, got, c.name)
	}
}

func TestAPathIsCutAtDotsAndBrackets(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil}, {"a", []string{"a"}}, {"a.b", []string{"a", "b"}}, {"a[0].b",
			[]string{"a", "0", "b"}}, {"a[b.c/d].e", []string{"a", "b.c/d", "e"}},
		{"[a].b", []string{"a", "b"}}, {"[]", []string{""}}, {"[a", []string{"[a"}}, {".a",
			[]string{".a"}},
	} {
		require.Equal(t, c.want, segments(c.text), c.text)
	}
}
