package admission

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A defaulter that sorts containers must not give the fields of one to another, and must lose none of them.
//
// Function: differ.list
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
		{"twins that both move", `[{"n":"b","x":1},{"n":"b","x":2},{"n":"a","x":3},{"n":"c","x":4}]`, `[{"n":"b"},{"n":"b"},{"n":"a"},{"n":"c"}]`,
			`[{"n":"a"},{"n":"c"},{"n":"b"},{"n":"b"}]`, `[{"n":"a","x":3},{"n":"c","x":4},{"n":"b","x":1},{"n":"b","x":2}]`},
		{"a new twin of one that stays", `[{"n":"c","x":1},{"n":"b","x":2},{"n":"a","x":3}]`, `[{"n":"c"},{"n":"b"},{"n":"a"}]`,
			`[{"n":"a"},{"n":"b"},{"n":"b"}]`, `[{"n":"a","x":3},{"n":"b","x":2},{"n":"b"}]`},
		{"moved and changed", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"b","v":1}]`, `[{"n":"a","x":2},{"n":"b","v":1}]`},
		{"changed where it is", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"c"},{"n":"d"}]`, `[{"n":"c","x":1},{"n":"d","x":2}]`},
	} {
		got := applied(t, value(t, c.raw), value(t, c.before), value(t, c.after))
		require.Equal(t, c.want, string(document(t, got)), "%s: Go read %s from %s, and the defaulter made %s of it", c.what, c.before, c.raw, c.after)
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
	raw := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"b","image":"i","resources":{},"newField":"for b"},{"name":"a","resources":{}}]},"status":{}}`)
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
