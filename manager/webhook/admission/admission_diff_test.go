package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, err, "the API server cannot apply the patch %s\nto %s", document(t, operations), document(t, raw))
	return value(t, string(result))
}

// A patch of nothing is work for the API server, and a new version of the object for all who watch it.
func TestAnObjectThatStaysTheSameHasNoPatch(t *testing.T) {
	for _, object := range []string{`{}`, `[]`, `null`, `{"a":null}`, `{"a":{"b":[1,{"c":"d"},null,2.5,true]}}`, `9007199254740993`} {
		require.Empty(t, written(t, object, object, object), "nothing differs in %s", object)
	}
}

// One operation too many, or a wrong one, and the user's object is stored in another form than the defaulter made.
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
		{"false and zero are values", `{"a":true,"b":1}`, `{"a":false,"b":0}`, "replace /a false\nreplace /b 0"},
		{"a slash in a name", `{"a/b":1}`, `{"a/b":2}`, `replace /a~1b 2`},
		{"a tilde in a name", `{}`, `{"a~1b":2}`, `add /a~01b 2`},
		{"a name that looks like an index", `{"0":1}`, `{"0":2}`, `replace /0 2`},
		{"an element behind the others", `{"a":[1]}`, `{"a":[1,2]}`, `add /a/1 2`},
		{"an element in front of the others", `{"a":[1,2]}`, `{"a":[0,1,2]}`, `add /a/0 0`},
		{"an element between the others", `{"a":[1,3]}`, `{"a":[1,2,3]}`, `add /a/1 2`},
		{"two elements in front", `{"a":[3]}`, `{"a":[1,2,3]}`, "add /a/0 1\nadd /a/1 2"},
		{"the last element is gone", `{"a":[1,2]}`, `{"a":[1]}`, `remove /a/1`},
		{"the first element is gone", `{"a":[1,2]}`, `{"a":[2]}`, `remove /a/0`},
		{"two elements are gone, from behind", `{"a":[1,2,3]}`, `{"a":[1]}`, "remove /a/2\nremove /a/1"},
		{"all elements are gone", `{"a":[1,1]}`, `{"a":[]}`, "remove /a/1\nremove /a/0"},
		{"the same element once more", `{"a":[1]}`, `{"a":[1,1]}`, `add /a/1 1`},
		{"a change in an element", `{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1},{"b":3}]}`, `replace /a/1/b 3`},
		{"a change in an element, and one in front of it", `{"a":[{"b":1}]}`, `{"a":[{"c":1},{"b":2}]}`, "add /a/1 {\"b\":2}\nadd /a/0/c 1\nremove /a/0/b"},
		{"a list in a list", `[[1],[2]]`, `[[1],[2,3]]`, `add /1/1 3`},
		{"the whole document", `1`, `2`, `replace  2`},
		{"a number that no float64 has", `{"a":9007199254740992}`, `{"a":9007199254740993}`, `replace /a 9007199254740993`},
		{"a fraction of zero is no change", `{"a":1.0}`, `{"a":1}`, ``},
		{"nor the other way round", `{"a":1}`, `{"a":1.0}`, ``},
		{"a fraction is one", `{"a":1}`, `{"a":1.5}`, `replace /a 1.5`},
	} {
		require.Equal(t, c.want, written(t, c.raw, c.raw, c.after), "%s: the patch from %s to %s", c.name, c.raw, c.after)
	}
}

// Without an order, the same request gets another patch each time, and no test of it can be written.
func TestOperationsAreInTheOrderOfNames(t *testing.T) {
	raw, after := `{"f":1,"b":1,"d":{"z":1},"x":1,"w":1}`, `{"e":1,"b":2,"d":{"a":1},"a":1,"f":1}`
	for range 50 {
		require.Equal(t, "add /a 1\nreplace /b 2\nadd /d/a 1\nremove /d/z\nadd /e 1\nremove /w\nremove /x", written(t, raw, raw, after),
			"additions and changes come in the order of the fields' names, and removals after them")
	}
}

// The Go type of a webhook may be older than the object. What it does not know is not for it to remove: a user would
// lose what he has written.
func TestWhatGoDoesNotKnowStays(t *testing.T) {
	for _, c := range []struct{ name, raw, before, after, want string }{
		{"a field", `{"a":1,"new":2}`, `{"a":1}`, `{"a":3}`, `replace /a 3`},
		{"a field deep down", `{"a":{"b":1,"new":2}}`, `{"a":{"b":1}}`, `{"a":{"b":1,"c":3}}`, `add /a/c 3`},
		{"an empty field that Go leaves out", `{"a":0,"b":1}`, `{"b":1}`, `{"b":2}`, `replace /b 2`},
		{"an empty field that the defaulter fills", `{"a":0}`, `{}`, `{"a":5}`, `replace /a 5`},
		{"an object that Go leaves out", `{"a":{"b":{"new":1}}}`, `{"a":{}}`, `{"a":{"c":1}}`, `add /a/c 1`},
		{"a value that Go writes in another form", `{"cpu":"1000m"}`, `{"cpu":"1"}`, `{"cpu":"1"}`, `replace /cpu "1"`},
		{"a field that Go adds", `{}`, `{"status":{}}`, `{"a":1,"status":{}}`, "add /a 1\nadd /status {}"},
		{"what the defaulter removes", `{"a":1,"b":2,"new":3}`, `{"a":1,"b":2}`, `{"a":1}`, `remove /b`},
		{"an object that the defaulter removes, with all that is in it", `{"a":{"b":1,"new":2}}`, `{"a":{"b":1}}`, `{}`, `remove /a`},
		{"a field of an element", `{"a":[{"b":1,"new":2}]}`, `{"a":[{"b":1}]}`, `{"a":[{"b":3}]}`, `replace /a/0/b 3`},
		{"a field of an element, with another element in front of it",
			`{"a":[{"b":1,"new":2}]}`, `{"a":[{"b":1}]}`, `{"a":[{"b":0},{"b":1}]}`, `add /a/0 {"b":0}`},
		{"a field of an element, with another element gone in front of it",
			`{"a":[{"b":0},{"b":1,"new":2}]}`, `{"a":[{"b":0},{"b":1}]}`, `{"a":[{"b":1}]}`, `remove /a/0`},
		{"an element that Go fills, with another in front of it",
			`{"a":[{}]}`, `{"a":[{"c":{}}]}`, `{"a":[{"b":0},{"c":{}}]}`, "add /a/0 {\"b\":0}\nadd /a/1/c {}"},
		{"a list that Go makes shorter", `{"a":[1,2]}`, `{"a":[1]}`, `{"a":[1,3]}`, `replace /a/1 3`},
		{"a list that Go makes an object of", `{"a":[1]}`, `{"a":{}}`, `{"a":{"b":1}}`, `replace /a {"b":1}`},
	} {
		require.Equal(t, c.want, written(t, c.raw, c.before, c.after),
			"%s: Go read %s from %s, and the defaulter made %s of it", c.name, c.before, c.raw, c.after)
	}
}

// random makes documents of few names and values, so that two of them have much in common.
type random struct{ *rand.Rand }

func (r random) document(depth int) any {
	switch r.IntN(7) {
	case 0, 1, 2:
		if depth == 0 {
			return int64(r.IntN(3))
		}
		object := map[string]any{}
		for _, name := range []string{"a", "b/", "c~", "0"} {
			if r.IntN(2) == 0 {
				object[name] = r.document(depth - 1)
			}
		}
		return object
	case 3:
		if depth == 0 {
			return nil
		}
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = r.document(depth - 1)
		}
		return list
	case 4:
		return []any{nil, true, false}[r.IntN(3)]
	case 5:
		return []any{"", "x", "y"}[r.IntN(3)]
	default:
		return []any{int64(0), int64(9007199254740993), 1.5}[r.IntN(3)]
	}
}

// changed makes another document by a few changes.
func (r random) changed(v any, depth int) any {
	if r.IntN(6) == 0 {
		return r.document(depth)
	}
	switch v := v.(type) {
	case map[string]any:
		object := map[string]any{}
		for _, name := range []string{"a", "b/", "c~", "0"} {
			if old, there := v[name]; there && r.IntN(8) > 0 {
				object[name] = r.changed(old, depth-1)
			}
		}
		return object
	case []any:
		var list = []any{}
		for _, element := range v {
			if r.IntN(8) == 0 {
				list = append(list, r.document(0))
			}
			if r.IntN(8) > 0 {
				list = append(list, r.changed(element, depth-1))
			}
		}
		return list
	}
	return v
}

// Whatever a defaulter does to an object, the API server must end up with just that.
func TestForRandomObjectsThePatchLeadsToTheObject(t *testing.T) {
	r := random{rand.New(rand.NewPCG(16, 1))}
	for i := range 1000 {
		raw := map[string]any{"root": r.document(4)}
		after := map[string]any{"root": r.changed(raw["root"], 4)}
		require.Equal(t, string(document(t, after)), string(document(t, applied(t, raw, raw, after))),
			"pair %d: from %s", i, document(t, raw))
	}
}

// withUnknown adds fields that no Go type knows to all objects in v.
func withUnknown(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := map[string]any{"unknown": "stays"}
		for name, field := range v {
			object[name] = withUnknown(field)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = withUnknown(element)
		}
		return list
	}
	return v
}

// known takes them out again.
func known(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, field := range v {
			if name != "unknown" {
				object[name] = known(field)
			}
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = known(element)
		}
		return list
	}
	return v
}

// As far as the Go type can see, the object is what the defaulter made, whatever else there is in it.
func TestForRandomObjectsWhatGoKnowsIsWhatTheDefaulterMade(t *testing.T) {
	r := random{rand.New(rand.NewPCG(16, 2))}
	for i := range 1000 {
		before := map[string]any{"root": r.document(4)}
		after := map[string]any{"root": r.changed(before["root"], 4)}
		raw := withUnknown(before)
		result := applied(t, raw, before, after)
		require.Equal(t, string(document(t, after)), string(document(t, known(result))), "object %d: from %s", i, document(t, raw))
		require.Equal(t, "stays", result.(map[string]any)["unknown"], "object %d: from %s", i, document(t, raw))
	}
}

// An object that only grows keeps every field that Go does not know, at its place, even in lists.
func TestForRandomObjectsThatGrowNothingIsLost(t *testing.T) {
	r := random{rand.New(rand.NewPCG(16, 3))}
	for i := range 1000 {
		containers := make([]any, 1+r.IntN(4))
		for j := range containers {
			containers[j] = map[string]any{"name": fmt.Sprint("container ", j)}
		}
		added := r.IntN(len(containers) + 1)
		grown := append(append(append([]any{}, containers[:added]...), map[string]any{"name": "added"}), containers[added:]...)
		before, after := map[string]any{"containers": containers}, map[string]any{"containers": grown}
		result := applied(t, withUnknown(before), before, after)
		for _, element := range result.(map[string]any)["containers"].([]any) {
			container := element.(map[string]any)
			require.Equal(t, container["name"] != "added", container["unknown"] == "stays",
				"object %d: a container was added at index %d, and %v has the wrong fields", i, added, container)
		}
	}
}
