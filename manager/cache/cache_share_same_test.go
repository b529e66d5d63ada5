package cache

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// variants are copies of a value, each with one change: a field, an element or an entry is another one, is
// missing, or is there once more.
func variants(whole reflect.Value) (all []reflect.Value) {
	var change func(v reflect.Value, rest func(reflect.Value) reflect.Value)
	change = func(v reflect.Value, with func(reflect.Value) reflect.Value) {
		fresh := func() reflect.Value { return reflect.New(v.Type()).Elem() }
		add := func(other reflect.Value) { all = append(all, with(other)) }
		switch v.Kind() {
		case reflect.String:
			add(reflect.ValueOf(v.String() + "x").Convert(v.Type()))
		case reflect.Bool:
			add(reflect.ValueOf(!v.Bool()).Convert(v.Type()))
		case reflect.Int, reflect.Int32, reflect.Int64:
			add(reflect.ValueOf(v.Int() + 1).Convert(v.Type()))
		case reflect.Uint8:
			add(reflect.ValueOf(v.Uint() + 1).Convert(v.Type()))
		case reflect.Float64:
			add(reflect.ValueOf(v.Float() + 1).Convert(v.Type()))
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[resource.Quantity]() {
				add(reflect.ValueOf(resource.MustParse("77")))
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					change(v.Field(i), func(field reflect.Value) reflect.Value {
						other := fresh()
						other.Set(v)
						other.Field(i).Set(field)
						return with(other)
					})
				}
			}
		case reflect.Pointer:
			if v.IsNil() {
				add(reflect.New(v.Type().Elem()))
				return
			}
			add(fresh())
			change(v.Elem(), func(elem reflect.Value) reflect.Value {
				other := reflect.New(v.Type().Elem())
				other.Elem().Set(elem)
				return with(other)
			})
		case reflect.Slice:
			add(reflect.Append(reflect.AppendSlice(fresh(), v), reflect.New(v.Type().Elem()).Elem()))
			if v.IsNil() {
				add(reflect.MakeSlice(v.Type(), 0, 0))
				return
			}
			add(fresh())
			for i := range v.Len() {
				change(v.Index(i), func(elem reflect.Value) reflect.Value {
					other := reflect.AppendSlice(fresh(), v)
					other.Index(i).Set(elem)
					return with(other)
				})
			}
		case reflect.Map:
			copied := func() reflect.Value {
				other := reflect.MakeMap(v.Type())
				for entries := v.MapRange(); entries.Next(); {
					other.SetMapIndex(entries.Key(), entries.Value())
				}
				return other
			}
			more := copied()
			more.SetMapIndex(reflect.ValueOf("more").Convert(v.Type().Key()), reflect.New(v.Type().Elem()).Elem())
			add(more)
			if v.IsNil() {
				add(reflect.MakeMap(v.Type()))
				return
			}
			add(fresh())
			for _, key := range v.MapKeys() {
				other := copied()
				other.SetMapIndex(key, reflect.Value{})
				other.SetMapIndex(reflect.ValueOf(key.String()+"x").Convert(key.Type()), v.MapIndex(key))
				add(other)
				change(v.MapIndex(key), func(entry reflect.Value) reflect.Value {
					other := copied()
					other.SetMapIndex(key, entry)
					return with(other)
				})
			}
		}
	}
	change(whole, func(v reflect.Value) reflect.Value { return v })
	return all
}

// A part that is wrongly taken for another one changes an object.
func TestWhatDiffersInOnePlaceIsNotTheSame(t *testing.T) {
	whole := reflect.ValueOf(replica(1)).Elem()
	all := append(variants(whole), reflect.ValueOf(replica(1)).Elem(), reflect.ValueOf(*replica(1).DeepCopy()))
	require.Greater(t, len(all), 150)
	s, differ := newSharer(), 0
	for _, a := range all {
		require.Equal(t, reflect.DeepEqual(whole.Interface(), a.Interface()), same(whole, a), "%+v", a)
		require.Equal(t, same(whole, a), same(a, whole))
		if same(whole, a) {
			require.Equal(t, s.hash(whole), s.hash(a))
		} else {
			differ++
		}
	}
	require.Equal(t, len(all)-2, differ)
}

// What objects of the API have seldom or never must not be mistaken either.
func TestValuesOfAllSortsAreTheSameIfDeepEqualSaysSo(t *testing.T) {
	type odd struct {
		Any      any
		Number   float32
		Size     uintptr
		hidden   map[string]string
		pointers []*int
	}
	berlin, tokyo := time.FixedZone("", 3600), time.FixedZone("", 9*3600)
	at := time.Unix(1, 0)
	raw := func(o runtime.Object) any { return runtime.RawExtension{Object: o} }
	for i, one := range [][]any{
		{odd{}, odd{Any: 1}, odd{Any: int8(1)}, odd{Any: "1"}, odd{Number: 1}, odd{Number: 1.5}, odd{Size: 1}, odd{hidden: map[string]string{"a": "b"}}, odd{hidden: map[string]string{"a": "c"}}, odd{hidden: map[string]string{}}, odd{pointers: []*int{nil}}, odd{pointers: []*int{new(1)}}, odd{pointers: []*int{new(2)}}},
		{metav1.NewTime(at), metav1.NewTime(at.In(berlin)), metav1.NewTime(at.In(tokyo)), metav1.NewTime(at.UTC()), metav1.NewTime(at.Add(1)), metav1.Time{}},
		{raw(nil), raw(&corev1.Pod{}), raw(&corev1.Service{}), raw(replica(1)), raw(replica(2))},
		{math.Inf(1), 0.0, 1.0},
		{map[string][]byte{"a": []byte("b")}, map[string][]byte{"a": []byte("c")}, map[string][]byte{"a": nil}, map[string][]byte{"b": []byte("b")}, map[string][]byte(nil), map[string][]byte{}},
	} {
		for j, a := range one {
			for k, b := range one {
				require.Equal(t, reflect.DeepEqual(a, b), same(reflect.ValueOf(a), reflect.ValueOf(b)), "row %d, %d and %d: %+v and %+v", i, j, k, a, b)
			}
		}
	}
	for _, unknown := range []any{[2]int{}, func() {}, make(chan int)} {
		require.False(t, same(reflect.ValueOf(unknown), reflect.ValueOf(unknown)), "%T is left alone", unknown)
	}
}

// A zone is a table of all its summers. It is compared by its address, so that nobody walks through it for each time.
func TestZonesAreNotLookedInto(t *testing.T) {
	s := newSharer()
	a, b := time.Unix(1, 0).In(time.FixedZone("a", 3600)), time.Unix(1, 0).In(time.FixedZone("a", 3600))
	require.False(t, same(reflect.ValueOf(a), reflect.ValueOf(b)))
	require.True(t, same(reflect.ValueOf(a), reflect.ValueOf(a)))
	require.Equal(t, s.hash(reflect.ValueOf(a)), s.hash(reflect.ValueOf(b)))
}

// Objects that are alike come together, and most parts are found without the table.
func TestThePartOfTheObjectBeforeIsFoundFirst(t *testing.T) {
	s := newSharer()
	of := func(app string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}}
	}
	first, other, second := of("a"), of("b"), of("a")
	s.share(first)
	s.share(other)
	s.share(second)
	address := func(o *corev1.ConfigMap) uintptr { return reflect.ValueOf(o.Labels).Pointer() }
	require.Equal(t, address(first), address(second), "the table has what came before the last object")
	clear(s.parts)
	third, fourth := of("a"), of("b")
	s.share(third)
	s.share(fourth)
	require.Equal(t, address(first), address(third), "what was found in the table is the last one, too")
	require.NotEqual(t, address(other), address(fourth))
	require.Len(t, s.parts, 1)
	s.share(of("b"))
	var labels *sharedType
	for _, field := range s.kinds[reflect.TypeFor[*corev1.ConfigMap]()].fields {
		for _, inside := range field.of.fields {
			if inside.of.tries > 0 {
				labels = inside.of
			}
		}
	}
	require.Equal(t, []int{6, 3}, []int{labels.tries, labels.hits}, "one was in the table, and two were the last one")
}

// A pointer to a number is as large as the number.
func TestNumbersBehindPointersAreNotShared(t *testing.T) {
	type object struct {
		Yes   *bool
		Count *int32
		Name  *string
		List  *[]string
		Table *map[string]string
	}
	s := newSharer()
	of := func() *object {
		return &object{new(true), new(int32(3)), new("a"), &[]string{"a"}, &map[string]string{"a": "b"}}
	}
	a, b := of(), of()
	s.share(a)
	s.share(b)
	require.Equal(t, of(), b)
	require.Same(t, a.Name, b.Name)
	require.NotSame(t, a.Yes, b.Yes)
	require.NotSame(t, a.Count, b.Count)
	require.Len(t, s.kinds[reflect.TypeFor[*object]()].fields, 1)
	s.share(&metav1.Time{})
	require.Nil(t, s.kinds[reflect.TypeFor[*metav1.Time]()], "nothing in it can be shared")
}

// The decoder gives equal field sets to many objects, and somebody may read one of them at any time.
func TestNothingIsWrittenIntoAFieldSet(t *testing.T) {
	s := newSharer()
	of := func(set *metav1.FieldsV1) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: set}}}}
	}
	set := func() *metav1.FieldsV1 { return metav1.NewFieldsV1(`{"f:data":{}}`) }
	first, later := set(), set()
	raw := &later.GetRawBytes()[0]
	s.share(of(first))
	object := of(later)
	s.share(object)
	require.Same(t, raw, &later.GetRawBytes()[0])
	require.Same(t, first, object.ManagedFields[0].FieldsV1)
}
