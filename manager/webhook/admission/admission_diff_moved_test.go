package admission

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAnElementThatMovesTakesTheFieldsThatGoDoesNotKnowWithIt(t *testing.T) {
	for _, c := range []struct{ what, raw, before, after, want string }{
		{"sorted", `[{"n":"b","x":1},{"n":"a"}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"b"}]`, `[{"n":"a"},{"n":"b","x":1}]`},
		{"to the end", `[{"n":"a","x":1},{"n":"b","x":2},{"n":"c","x":3}]`, `[{"n":"a"},{"n":"b"},{"n":"c"}]`, `[{"n":"b"},{"n":"c"},{"n":"a"}]`,
			`[{"n":"b","x":2},{"n":"c","x":3},{"n":"a","x":1}]`},
		{"one goes and one comes", `[{"n":"a","x":1},{"n":"b","x":2}]`, `[{"n":"a"},{"n":"b"}]`, `[{"n":"b"},{"n":"c"}]`, `[{"n":"b","x":2},{"n":"c"}]`},
		{"it grows", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"0"},{"n":"a"},{"n":"1"},{"n":"b"}]`,
			`[{"n":"0"},{"n":"a","x":2},{"n":"1"},{"n":"b","x":1}]`},
		{"it shrinks", `[{"n":"c","x":1},{"n":"b","x":2},{"n":"a","x":3}]`, `[{"n":"c"},{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"c"}]`,
			`[{"n":"a","x":3},{"n":"c","x":1}]`},
		{"twins", `[{"n":"b","x":1},{"n":"b","x":2},{"n":"a"}]`, `[{"n":"b"},{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"b"},{"n":"b"}]`,
			`[{"n":"a"},{"n":"b","x":2},{"n":"b","x":1}]`},
		{"moved and changed", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"b","v":1}]`, `[{"n":"a","x":2},{"n":"b","v":1}]`},
		{"changed where it is", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"c"},{"n":"d"}]`, `[{"n":"c","x":1},{"n":"d","x":2}]`},
	} {
		got := applied(t, value(t, c.raw), value(t, c.before), value(t, c.after))
		require.JSONEq(t, c.want, string(document(t, got)), c.what)
	}
}

func TestInAnyOrderEachElementKeepsItsFields(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		var raw, before []any
		for n := range r.IntN(8) {
			raw = append(raw, map[string]any{"n": int64(n), "x": int64(n)})
			before = append(before, map[string]any{"n": int64(n)})
		}
		after := slices.Clone(before)
		r.Shuffle(len(after), func(i, j int) { after[i], after[j] = after[j], after[i] })
		after = after[:r.IntN(len(after)+1)]
		for range r.IntN(3) {
			after = slices.Insert(after, r.IntN(len(after)+1), any(map[string]any{"n": int64(100)}))
		}
		wrap := func(v []any) any { return map[string]any{"l": append([]any{}, v...)} }
		got := applied(t, wrap(raw), wrap(before), wrap(after)).(map[string]any)["l"].([]any)
		require.Len(t, got, len(after))
		for i := range got {
			is := got[i].(map[string]any)
			require.Equal(t, after[i].(map[string]any)["n"], is["n"], "seed %d", seed)
			if is["n"] != int64(100) && is["x"] != nil {
				require.Equal(t, is["n"], is["x"], "seed %d: a field has gone to another element", seed)
			}
			if is["n"] != int64(100) {
				require.NotNil(t, is["x"], "seed %d: a field is lost", seed)
			}
		}
	}
}

// sorts is a defaulter that puts containers in order.
type sorts struct{}

func (sorts) Default(_ context.Context, pod *corev1.Pod) error {
	slices.SortFunc(pod.Spec.Containers, func(a, b corev1.Container) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// The API server may be newer than the program.
func TestADefaulterThatSortsGivesNoContainerTheFieldOfAnother(t *testing.T) {
	raw := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"b","image":"i","resources":{},"newField":"for b"},{"name":"a","resources":{}}]}}`)
	answer := WithDefaulter(builtIn, Defaulter[*corev1.Pod](sorts{})).Handle(t.Context(), Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}})
	var at []string
	for _, o := range answer.Patches {
		if strings.HasPrefix(o.Path, "/spec/containers") {
			at = append(at, o.Path+" "+string(document(t, o.Value)))
		}
	}
	require.Equal(t, []string{
		`/spec/containers/0 {"name":"a","resources":{}}`, `/spec/containers/1 {"image":"i","name":"b","newField":"for b","resources":{}}`,
	}, at)
}
