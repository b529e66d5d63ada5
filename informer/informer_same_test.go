package informer

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// alike are values that someone could take for one another, and none of them is another.
func alike() []any {
	return []any{
		nil, false, true, "", "1", int64(0), int64(1), float64(0), float64(1), int(1), int32(1),
		map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": nil},
		map[string]any{"a": int64(1)}, map[string]any{"a": float64(1)},
		map[string]any{"a": int64(1), "b": int64(1)}, map[string]any{"a": map[string]any{}},
		[]any(nil), []any{}, []any{nil}, []any{int64(1)}, []any{float64(1)},
		[]any{int64(1), "1"}, []any{"1", int64(1)}, []any{[]any{}},
		map[string]string{"a": "1"}, []string{"1"}, []map[string]any{{}},
	}
}

// A relist tells the handlers of every object that isn't the same. One that's missed never
// reaches the controller, and one too many is an update in which nothing has changed.
func TestSameContentAgreesWithReflection(t *testing.T) {
	agree := func(a, b any) {
		t.Helper()
		want := reflect.DeepEqual(a, b)
		require.Equal(t, want, sameContent(a, b), "%#v and %#v", a, b)
	}
	for i, a := range alike() {
		for j, b := range alike() {
			require.Equal(t, i == j, sameContent(a, b), "%#v and %#v", a, b)
			agree(a, b)
			agree(map[string]any{"spec": a}, map[string]any{"spec": b})
			agree([]any{"x", a}, []any{"x", b})
			agree(&unstructured.Unstructured{Object: map[string]any{"spec": a}},
				&unstructured.Unstructured{Object: map[string]any{"spec": b}})
		}
	}
	agree(float64(0), math.Copysign(0, -1))
	agree(math.NaN(), math.NaN())
	agree(&unstructured.Unstructured{}, &unstructured.Unstructured{Object: map[string]any{}})
	agree(&unstructured.Unstructured{}, &corev1.Pod{})
	agree(&corev1.Pod{}, &corev1.Pod{})
	labels := map[string]string{}
	agree(&corev1.Pod{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
}

// The same with 2,000 pairs of random objects: each is compared with a copy, and with a copy in
// which one value is another.
func TestSameContentAgreesWithReflectionOnRandomObjects(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		a := &unstructured.Unstructured{Object: map[string]any{"spec": randomJSON(random, 4)}}
		b := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(a.Object)}
		require.True(t, sameContent(a, b), "%v", a)
		b.Object["spec"] = withOneOther(random, b.Object["spec"])
		require.Equal(t, reflect.DeepEqual(a, b), sameContent(a, b), "%v and %v", a, b)
		require.Equal(t, reflect.DeepEqual(b, a), sameContent(b, a), "%v and %v", b, a)
	}
}

func randomJSON(random *rand.Rand, deep int) any {
	switch kind := random.IntN(8); {
	case kind < 2 && deep > 0:
		object := map[string]any{}
		for range random.IntN(4) {
			object[fmt.Sprint(random.IntN(4))] = randomJSON(random, deep-1)
		}
		return object
	case kind < 4 && deep > 0:
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = randomJSON(random, deep-1)
		}
		return list
	default:
		return []any{nil, true, false, "", "1", int64(1), float64(1), int64(2)}[random.IntN(8)]
	}
}

// withOneOther changes a value somewhere inside, or takes a name or an element away.
func withOneOther(random *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			names := slices.Sorted(maps.Keys(value))
			name := names[random.IntN(len(names))]
			if random.IntN(3) == 0 {
				delete(value, name)
			} else {
				value[name] = withOneOther(random, value[name])
			}
			return value
		}
	case []any:
		if len(value) > 0 {
			if random.IntN(3) == 0 {
				return value[1:]
			}
			at := random.IntN(len(value))
			value[at] = withOneOther(random, value[at])
			return value
		}
	}
	return randomJSON(random, 2)
}

func BenchmarkSameContent(b *testing.B) {
	object := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{
				"name": "web-1", "namespace": "shop", "uid": "0a1b2c3d", "resourceVersion": "1",
				"generation": int64(1), "labels": map[string]any{"app": "web", "tier": "front"},
				"ownerReferences": []any{map[string]any{"kind": "Shop", "name": "shop", "controller": true}},
			},
			"spec":   map[string]any{"replicas": int64(3), "image": "web:1", "ports": []any{int64(80)}},
			"status": map[string]any{"ready": int64(3), "message": "all is well"},
		}}
	}
	one, other := object(), object()
	bench := func(name string, same func(a, b any) bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				same(one, other)
			}
		})
	}
	bench("ours", sameContent)
	bench("reflect", reflect.DeepEqual)
}
