package mini_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
)

// patched returns what the API server stores after fill.
func patched[T mini.Object](t *testing.T, kind, obj string, fill func(T)) (stored, patch string) {
	t.Helper()
	handler := mini.Default(func(_ context.Context, obj T) error {
		fill(obj)
		return nil
	})
	answer := ask(t, handler, review("CREATE", kind, "", obj))
	require.True(t, answer.Allowed, "fill has returned no error")
	if len(answer.Patch) == 0 {
		return obj, ""
	}
	decoded, err := jsonpatch.DecodePatch(answer.Patch)
	require.NoError(t, err)
	after, err := decoded.Apply([]byte(obj))
	require.NoError(t, err, "the API server refuses the patch %s", answer.Patch)
	return string(after), string(answer.Patch)
}

func TestADefaultIsSentAsAPatch(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		before string
		fill   func(*corev1.ConfigMap)
		after  string
	}{
		"added": {
			`{"data":{"a":"1"}}`, func(c *corev1.ConfigMap) { c.Data["b"] = "2" }, `{"data":{"a":"1","b":"2"}}`,
		},
		"changed": {
			`{"data":{"a":"1","b":"2"}}`, func(c *corev1.ConfigMap) { c.Data["b"] = "3" }, `{"data":{"a":"1","b":"3"}}`,
		},
		"removed": {
			`{"data":{"a":"1","b":"2"}}`, func(c *corev1.ConfigMap) { delete(c.Data, "b") }, `{"data":{"a":"1"}}`,
		},
		"all at once": {
			`{"data":{"a":"1","b":"2"}}`,
			func(c *corev1.ConfigMap) { c.Data = map[string]string{"b": "3", "c": "4"} },
			`{"data":{"b":"3","c":"4"}}`,
		},
		"a map where there was none": {
			`{}`, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "1"} }, `{"data":{"a":"1"}}`,
		},
		"keys with slash and tilde": {
			`{"data":{"~1/":"1","a/b":"2"}}`,
			func(c *corev1.ConfigMap) { c.Data["~1/"] = "3"; delete(c.Data, "a/b"); c.Data["/~0"] = "4" },
			`{"data":{"~1/":"3","/~0":"4"}}`,
		},
		"a label where there is no metadata": {
			`{"data":{}}`, func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"} },
			`{"data":{},"metadata":{"labels":{"a":"b"}}}`,
		},
		"a list is replaced whole": {
			`{"metadata":{"finalizers":["a","b","c"]}}`,
			func(c *corev1.ConfigMap) { c.Finalizers = []string{"c", "a"} },
			`{"metadata":{"finalizers":["c","a"]}}`,
		},
		"a null": {
			`{"data":null}`, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "1"} }, `{"data":{"a":"1"}}`,
		},
	}) {
		t.Run(name, func(t *testing.T) {
			after, _ := patched(t, "ConfigMap", c.before, c.fill)
			require.JSONEq(t, c.after, after, "this is what the API server would store")
		})
	}
}

// The program may be older than the cluster: what its Go types do not know belongs to the user.
//
// Function: diff
func TestADefaultKeepsFieldsThatTheGoTypeDoesNotKnow(t *testing.T) {
	after, _ := patched(t, "ConfigMap",
		`{"metadata":{"name":"x","new":{"a":1}},"newer":[1],"data":{"a":"1"}}`,
		func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"}; c.Data = nil })
	require.JSONEq(t, `{"metadata":{"name":"x","new":{"a":1},"labels":{"a":"b"}},"newer":[1]}`, after,
		"a field that fill has not touched was changed or lost")
}

func TestADefaultThatChangesNothingSendsNoPatch(t *testing.T) {
	_, patch := patched(t, "Pod", `{"kind":"Pod","unknown":1,"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`,
		func(*corev1.Pod) {})
	require.Empty(t, patch, "empty fields of the Go type are no change")
}

// The API server asks about each write. An object would change with every one of them.
func TestADefaultThatIsThereAlreadySendsNoPatch(t *testing.T) {
	fill := func(c *corev1.ConfigMap) {
		if c.Data["a"] == "" {
			c.Data = map[string]string{"a": "1"}
		}
	}
	once, patch := patched(t, "ConfigMap", `{"metadata":{"name":"x","new":1}}`, fill)
	require.NotEmpty(t, patch)
	twice, patch := patched(t, "ConfigMap", once, fill)
	require.Empty(t, patch, "the same default was sent again")
	require.Equal(t, once, twice)
}

// The Go type encodes an empty status and an empty spec, which the API server has not sent.
//
// Function: diff
func TestADefaultInAFieldThatTheAPIServerHasNotSentIsAPatchThatApplies(t *testing.T) {
	after, _ := patched(t, "Pod", `{"kind":"Pod"}`, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Spec.ActiveDeadlineSeconds = new(int64(1<<53 + 1))
	})
	require.Contains(t, after, "9007199254740993", "a number has lost its last digit")
	require.Contains(t, after, `"phase":"Pending"`)
	after, _ = patched(t, "Pod", `{"kind":"Pod","status":{"phase":"Running"}}`, func(p *corev1.Pod) {
		p.Status.Phase = ""
		p.Status.StartTime = nil // it is not there: there is nothing to remove
	})
	require.JSONEq(t, `{"kind":"Pod","status":{}}`, after)
	after, _ = patched(t, "ReplicaSet", `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`,
		func(r *appsv1.ReplicaSet) { r.Spec.Selector = nil }) // encoded as null
	require.JSONEq(t, `{"spec":{"selector":null}}`, after)
}

// A container has a field that the program doesn't know yet. The default has nothing to do with containers, so the field stays.
//
// Function: diff
func TestADefaultBesideAListLeavesTheListAlone(t *testing.T) {
	after, _ := patched(t, "Pod", `{"spec":{"containers":[{"name":"c","new":1}]}}`,
		func(p *corev1.Pod) { p.Spec.Hostname = "x" })
	require.JSONEq(t, `{"spec":{"hostname":"x","containers":[{"name":"c","new":1}]}}`, after)
}

// site leaves out a look that has nothing in it that it knows.
type site struct {
	corev1.ConfigMap
	Look struct {
		Color string `json:"color,omitempty"`
	} `json:"look,omitzero"`
}

// The user has chosen a font, which the program doesn't know yet, and the default adds a color.
//
// Function: diff
func TestADefaultKeepsFieldsNextToItThatTheGoTypeDoesNotKnow(t *testing.T) {
	after, _ := patched(t, "site", `{"look":{"font":"serif"}}`, func(s *site) { s.Look.Color = "red" })
	require.JSONEq(t, `{"look":{"font":"serif","color":"red"}}`, after)
}

// An object of another kind would be decoded as an empty one, and get defaults that are not its own.
//
// Function: Default
func TestAnObjectThatCannotBeReadGetsNoDefaults(t *testing.T) {
	fill := mini.Default(func(context.Context, *corev1.ConfigMap) error {
		t.Error("fill was called with an object that was not sent")
		return nil
	})
	for _, question := range []string{
		review("UPDATE", "Scale", `{"kind":"Scale"}`, `{"kind":"Scale"}`),
		review("UPDATE", "ConfigMap", reviewed("x"), `{"data":3}`),
		review("DELETE", "Scale", `{"kind":"Scale"}`, ""),
	} {
		require.False(t, ask(t, fill, question).Allowed, "it was allowed without being read")
	}
}

// Function: Default
func TestADeletionHasNoDefaults(t *testing.T) {
	fill := mini.Default(func(context.Context, *corev1.ConfigMap) error { return errors.New("called") })
	answer := ask(t, fill, review("DELETE", "ConfigMap", reviewed("x"), ""))
	require.True(t, answer.Allowed, "no object is stored, so there is nothing to fill in")
	require.Empty(t, answer.Patch)
}

// Function: Default
func TestAnErrorOfADefaultDeniesTheRequest(t *testing.T) {
	fill := mini.Default(func(_ context.Context, c *corev1.ConfigMap) error {
		c.Data = map[string]string{"a": "1"}
		return errors.New("no bananas")
	})
	answer := ask(t, fill, review("CREATE", "ConfigMap", "", reviewed("x")))
	require.False(t, answer.Allowed, "fill could not complete the object, and half of it is stored")
	require.Contains(t, answer.Result.Message, "no bananas")
}

// fragile cannot be encoded while its data is broken.
type fragile struct{ corev1.ConfigMap }

func (f *fragile) MarshalJSON() ([]byte, error) {
	if f.Data["state"] == "broken" {
		return nil, errors.New("it is broken")
	}
	return json.Marshal(f.ConfigMap)
}

// Half of a comparison would be a patch that deletes, or adds, whole objects.
//
// Function: Default
func TestAnObjectThatCannotBeEncodedIsRefused(t *testing.T) {
	for _, state := range []struct{ before, after string }{{"broken", "whole"}, {"whole", "broken"}} {
		fill := mini.Default(func(_ context.Context, f *fragile) error {
			require.Equal(t, "whole", f.Data["state"], "fill was called though the state before is not known")
			f.Data["state"] = state.after
			return nil
		})
		answer := ask(t, fill, review("CREATE", "fragile", "", `{"data":{"state":"`+state.before+`"}}`))
		require.False(t, answer.Allowed, "what fill has changed is not known")
		require.Contains(t, answer.Result.Message, "it is broken")
	}
}

// A default that reads the cluster would go on for a client that no longer waits.
//
// Function: Default
func TestADefaultEndsWithItsRequest(t *testing.T) {
	err := hungUp(t, func(during func(context.Context) error) mini.Admission {
		return mini.Default(func(ctx context.Context, _ *corev1.ConfigMap) error { return during(ctx) })
	})
	require.ErrorIs(t, err, context.Canceled, "the API server has given up, and fill's context goes on")
}
