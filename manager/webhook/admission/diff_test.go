package admission

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// value reads JSON as changes wants it.
func value(t testing.TB, document string) (v any) {
	t.Helper()
	require.NoError(t, utiljson.Unmarshal([]byte(document), &v))
	return v
}

// document is the other way round.
func document(t testing.TB, v any) []byte {
	t.Helper()
	bytes, err := json.Marshal(v)
	require.NoError(t, err)
	return bytes
}

// written shows a patch: one operation a line, such as `replace /spec/replicas 3`.
func written(t testing.TB, raw, before, after string) string {
	t.Helper()
	var lines []string
	for _, o := range changes(value(t, raw), value(t, before), value(t, after)) {
		line := o.Operation + " " + o.Path
		if o.Operation != "remove" {
			line += " " + string(document(t, o.Value))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// applied is what the API server makes of an object and a patch.
func applied(t testing.TB, raw, before, after any) any {
	t.Helper()
	operations := changes(raw, before, after)
	if len(operations) == 0 {
		return raw
	}
	patch, err := jsonpatch.DecodePatch(document(t, operations))
	require.NoError(t, err)
	result, err := patch.Apply(document(t, raw))
	require.NoError(t, err, "the API server cannot apply the patch %s\nto %s",
		document(t, operations), document(t, raw))
	return value(t, string(result))
}

// A patch of nothing is work for the API server, and a new version of the object for all who watch
// it.
func TestAnObjectThatStaysTheSameHasNoPatch(t *testing.T) {
	for _, object := range []string{`{}`, `[]`, `null`, `{"a":null}`,
		`{"a":{"b":[1,{"c":"d"},null,2.5,true]}}`, `9007199254740993`} {
		require.Empty(t, written(t, object, object, object), "nothing differs in %s", object)
	}
}

// One operation too many, or a wrong one, and the user's object is stored in another form than the
// defaulter made.
func TestEachChangeIsOneOperation(t *testing.T) {
	for _, c := range []struct{ name, raw, after, want string }{
		{"a new field", `{"a":1}`, `{"a":1,"b":{"c":2}}`, `add /b {"c":2}`},
		{"a new field deep down", `{"a":{"b":{}}}`, `{"a":{"b":{"c":"d"}}}`, `add /a/b/c "d"`},
		{"another value", `{"a":1,"b":2}`, `{"a":1,"b":3}`, `replace /b 3`},
		{"another text", `{"a":"1"}`, `{"a":"2"}`, `replace /a "2"`},
		{"another type", `{"a":"1"}`, `{"a":1}`, `replace /a 1`},
		{"an object in the place of a list", `{"a":[]}`, `{"a":{}}`, `replace /a {}`},
		{"a list in the place of an object", `{"a":{}}`, `{"a":[]}`, `replace /a []`},
		{"a field that is gone", `{"a":1,"b":{"c":2}}`, `{"a":1}`, `remove /b`},
		{"null in the place of a value", `{"a":1}`, `{"a":null}`, `replace /a null`},
		{"a value in the place of null", `{"a":null}`, `{"a":1}`, `replace /a 1`},
		{"null in the place of nothing", `{}`, `{"a":null}`, `add /a null`},
		{"false and zero are values", `{"a":true,"b":1}`, `{"a":false,"b":0}`,
			"replace /a false\nreplace /b 0"},
		{"a slash in a name", `{"a/b":1}`, `{"a/b":2}`, `replace /a~1b 2`},
		{"a tilde in a name", `{}`, `{"a~1b":2}`, `add /a~01b 2`},
		{"a name that looks like an index", `{"0":1}`, `{"0":2}`, `replace /0 2`},
		{"an element behind the others", `{"a":[1]}`, `{"a":[1,2]}`, `add /a/1 2`},
		{"an element in front of the others", `{"a":[1,2]}`, `{"a":[0,1,2]}`, `add /a/0 0`},
		{"an element between the others", `{"a":[1,3]}`, `{"a":[1,2,3]}`, `add /a/1 2`},
		{"two elements in front", `{"a":[3]}`, `{"a":[1,2,3]}`, "add /a/0 1\nadd /a/1 2"},
		{"the last element is gone", `{"a":[1,2]}`, `{"a":[1]}`, `remove /a/1`},
		{"the first element is gone", `{"a":[1,2]}`, `{"a":[2]}`, `remove /a/0`},
		{"two elements are gone, from behind", `{"a":[1,2,3]}`, `{"a":[1]}`,
			"remove /a/2\nremove /a/1"},
		{"all elements are gone", `{"a":[1,1]}`, `{"a":[]}`, "remove /a/1\nremove /a/0"},
		{"the same element once more", `{"a":[1]}`, `{"a":[1,1]}`, `add /a/1 1`},
		{"a change in an element", `{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1},{"b":3}]}`,
			`replace /a/1/b 3`},
		{"a change in an element, and one in front of it", `{"a":[{"b":1}]}`,
			`{"a":[{"c":1},{"b":2}]}`, "add /a/1 {\"b\":2}\nadd /a/0/c 1\nremove /a/0/b"},
		{"a list in a list", `[[1],[2]]`, `[[1],[2,3]]`, `add /1/1 3`},
		{"the whole document", `1`, `2`, `replace  2`},
		{"a number that no float64 has", `{"a":9007199254740992}`, `{"a":9007199254740993}`,
			`replace /a 9007199254740993`},
		{"a fraction of zero is no change", `{"a":1.0}`, `{"a":1}`, ``},
		{"nor the other way round", `{"a":1}`, `{"a":1.0}`, ``},
		{"a fraction is one", `{"a":1}`, `{"a":1.5}`, `replace /a 1.5`},
	} {
		require.Equal(t, c.want, written(t, c.raw, c.raw, c.after), "%s: the patch from %s to %s",
			c.name, c.raw, c.after)
	}
}

// Without an order, the same request gets another patch each time, and no test of it can be
// written.
func TestOperationsAreInTheOrderOfNames(t *testing.T) {
	raw, after := `{"f":1,"b":1,"d":{"z":1},"x":1,"w":1}`, `{"e":1,"b":2,"d":{"a":1},"a":1,"f":1}`
	for range 50 {
		require.Equal(t,
			"add /a 1\nreplace /b 2\nadd /d/a 1\nremove /d/z\nadd /e 1\nremove /w\nremove /x",
			written(t, raw, raw, after),
			"additions and changes come in the order of the fields' names, and removals after them")
	}
}

// The Go type of a webhook may be older than the object. What it does not know is not for it to
// remove: a user would lose what he has written.
func TestWhatGoDoesNotKnowStays(t *testing.T) {
	for _, c := range []struct{ name, raw, before, after, want string }{
		{"a field", `{"a":1,"new":2}`, `{"a":1}`, `{"a":3}`, `replace /a 3`},
		{"a field deep down", `{"a":{"b":1,"new":2}}`, `{"a":{"b":1}}`, `{"a":{"b":1,"c":3}}`,
			`add /a/c 3`},
		{"an empty field that Go leaves out", `{"a":0,"b":1}`, `{"b":1}`, `{"b":2}`,
			`replace /b 2`},
		{"an empty field that the defaulter fills", `{"a":0}`, `{}`, `{"a":5}`, `replace /a 5`},
		{"an object that Go leaves out", `{"a":{"b":{"new":1}}}`, `{"a":{}}`, `{"a":{"c":1}}`,
			`add /a/c 1`},
		{"a value that Go writes in another form", `{"cpu":"1000m"}`, `{"cpu":"1"}`, `{"cpu":"1"}`,
			`replace /cpu "1"`},
		{"a field that Go adds", `{}`, `{"status":{}}`, `{"a":1,"status":{}}`,
			"add /a 1\nadd /status {}"},
		{"what the defaulter removes", `{"a":1,"b":2,"new":3}`, `{"a":1,"b":2}`, `{"a":1}`,
			`remove /b`},
		{"an object that the defaulter removes, with all that is in it", `{"a":{"b":1,"new":2}}`,
			`{"a":{"b":1}}`, `{}`, `remove /a`},
		{"a field of an element", `{"a":[{"b":1,"new":2}]}`, `{"a":[{"b":1}]}`, `{"a":[{"b":3}]}`,
			`replace /a/0/b 3`},
		{"a field of an element, with another element in front of it",
			`{"a":[{"b":1,"new":2}]}`, `{"a":[{"b":1}]}`, `{"a":[{"b":0},{"b":1}]}`, `add /a/0 {"b":0}`},
		{"a field of an element, with another element gone in front of it",
			`{"a":[{"b":0},{"b":1,"new":2}]}`, `{"a":[{"b":0},{"b":1}]}`, `{"a":[{"b":1}]}`, `remove /a/0`},
		{"an element that Go fills, with another in front of it",
			`{"a":[{}]}`, `{"a":[{"c":{}}]}`, `{"a":[{"b":0},{"c":{}}]}`, "add /a/0 {\"b\":0}\nadd /a/1/c {}"},
		{"a list that Go makes shorter", `{"a":[1,2]}`, `{"a":[1]}`, `{"a":[1,3]}`,
			`replace /a/1 3`},
		{"a list that Go makes shorter, and the defaulter longer", `{"a":[1,2,3]}`, `{"a":[1]}`,
			`{"a":[1,2,0,3]}`, `add /a/2 0`},
		{"a list that Go makes an object of", `{"a":[1]}`, `{"a":{}}`, `{"a":{"b":1}}`,
			`replace /a {"b":1}`},
	} {
		require.Equal(t, c.want, written(t, c.raw, c.before, c.after),
			"%s: Go read %s from %s, and the defaulter made %s of it", c.name, c.before, c.raw, c.after)
	}
}

// A defaulter that sorts containers must not give the fields of one to another, and must lose none
// of them.
//
// Function: differ.list
func TestAnElementThatMovesTakesTheFieldsThatGoDoesNotKnowWithIt(t *testing.T) {
	for _, c := range []struct{ what, raw, before, after, want string }{
		{"sorted", `[{"n":"b","x":1},{"n":"a"}]`, `[{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"b"}]`,
			`[{"n":"a"},{"n":"b","x":1}]`},
		{"to the end", `[{"n":"a","x":1},{"n":"b","x":2},{"n":"c","x":3}]`,
			`[{"n":"a"},{"n":"b"},{"n":"c"}]`, `[{"n":"b"},{"n":"c"},{"n":"a"}]`,
			`[{"n":"b","x":2},{"n":"c","x":3},{"n":"a","x":1}]`},
		{"one goes and one comes", `[{"n":"a","x":1},{"n":"b","x":2}]`, `[{"n":"a"},{"n":"b"}]`,
			`[{"n":"b"},{"n":"c"}]`, `[{"n":"b","x":2},{"n":"c"}]`},
		{"it grows", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`,
			`[{"n":"0"},{"n":"a"},{"n":"1"},{"n":"b"}]`,
			`[{"n":"0"},{"n":"a","x":2},{"n":"1"},{"n":"b","x":1}]`},
		{"it shrinks", `[{"n":"c","x":1},{"n":"b","x":2},{"n":"a","x":3}]`,
			`[{"n":"c"},{"n":"b"},{"n":"a"}]`, `[{"n":"a"},{"n":"c"}]`,
			`[{"n":"a","x":3},{"n":"c","x":1}]`},
		{"twins", `[{"n":"b","x":1},{"n":"b","x":2},{"n":"a"}]`, `[{"n":"b"},{"n":"b"},{"n":"a"}]`,
			`[{"n":"a"},{"n":"b"},{"n":"b"}]`,
			`[{"n":"a"},{"n":"b","x":2},{"n":"b","x":1}]`},
		{"twins that both move",
			`[{"n":"b","x":1},{"n":"b","x":2},{"n":"a","x":3},{"n":"c","x":4}]`,
			`[{"n":"b"},{"n":"b"},{"n":"a"},{"n":"c"}]`,
			`[{"n":"a"},{"n":"c"},{"n":"b"},{"n":"b"}]`, `[{"n":"a","x":3},{"n":"c","x":4},{"n":"b","x":1},{"n":"b","x":2}]`},
		{"a new twin of one that stays", `[{"n":"c","x":1},{"n":"b","x":2},{"n":"a","x":3}]`,
			`[{"n":"c"},{"n":"b"},{"n":"a"}]`,
			`[{"n":"a"},{"n":"b"},{"n":"b"}]`, `[{"n":"a","x":3},{"n":"b","x":2},{"n":"b"}]`},
		{"moved and changed", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`,
			`[{"n":"a"},{"n":"b","v":1}]`, `[{"n":"a","x":2},{"n":"b","v":1}]`},
		{"changed where it is", `[{"n":"b","x":1},{"n":"a","x":2}]`, `[{"n":"b"},{"n":"a"}]`,
			`[{"n":"c"},{"n":"d"}]`, `[{"n":"c","x":1},{"n":"d","x":2}]`},
	} {
		got := applied(t, value(t, c.raw), value(t, c.before), value(t, c.after))
		require.Equal(t, c.want, string(document(t, got)),
			"%s: Go read %s from %s, and the defaulter made %s of it", c.what, c.before, c.raw,
			c.after)
	}
}

// sorts is a defaulter that puts containers in order.
type sorts struct{}

func (sorts) Default(_ context.Context, pod *corev1.Pod) error {
	slices.SortFunc(pod.Spec.Containers, func(a, b corev1.Container) int {
		return strings.Compare(a.Name, b.Name)
	})
	return nil
}

// The API server may be newer than the program.
func TestADefaulterThatSortsGivesNoContainerTheFieldOfAnother(t *testing.T) {
	raw := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"b","image":"i","resources":{},"newField":"for b"},{"name":"a","resources":{}}]},"status":{}}`)
	answer := WithDefaulter(builtIn, Defaulter[*corev1.Pod](sorts{})).Handle(t.Context(),
		Request{AdmissionRequest: admissionv1.AdmissionRequest{
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
