package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

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
		require.Equal(t, string(document(t, after)),
			string(document(t, applied(t, raw, raw, after))),
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

// As far as the Go type can see, the object is what the defaulter made, whatever else there is in
// it.
func TestForRandomObjectsWhatGoKnowsIsWhatTheDefaulterMade(t *testing.T) {
	r := random{rand.New(rand.NewPCG(16, 2))}
	for i := range 1000 {
		before := map[string]any{"root": r.document(4)}
		after := map[string]any{"root": r.changed(before["root"], 4)}
		raw := withUnknown(before)
		result := applied(t, raw, before, after)
		require.Equal(t, string(document(t, after)), string(document(t, known(result))),
			"object %d: from %s", i, document(t, raw))
		require.Equal(t, "stays", result.(map[string]any)["unknown"], "object %d: from %s", i,
			document(t, raw))
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
		grown := append(append(append([]any{}, containers[:added]...),
			map[string]any{"name": "added"}), containers[added:]...)
		before, after := map[string]any{"containers": containers}, map[string]any{"containers": grown}
		result := applied(t, withUnknown(before), before, after)
		for _, element := range result.(map[string]any)["containers"].([]any) {
			container := element.(map[string]any)
			require.Equal(t, container["name"] != "added", container["unknown"] == "stays",
				"object %d: a container was added at index %d, and %v has the wrong fields", i, added, container)
		}
	}
}

// A defaulter may sort a list, shorten it and add to it, all at once. What stays in the list keeps
// all of its fields.
//
// Function: differ.list
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
			if is["n"] != int64(100) {
				require.Equal(t, is["n"], is["x"],
					"seed %d: an element has lost a field, or has that of another one", seed)
			}
		}
	}
}

// Whatever is sent, there is an answer, and the API server understands it. A validator is never
// asked to allow what could not be read.
func FuzzAReviewIsAnswered(f *testing.F) {
	whole := question(f, admissionv1.Update, configMap("size", "1"), configMap("size", "2"))
	for _, seed := range []string{
		"", "{", "null", "[]", `"text"`, "{}", string(whole), string(whole[:100]), string(whole[:len(whole)-1]), string(whole) + "x",
		strings.Replace(string(whole), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1),
		strings.Replace(string(whole), "UPDATE", "DELETE", 1),
		strings.Replace(string(whole), `"data":{"size":"1"}`, `"data":[1]`, 1),
		strings.Replace(string(whole), questionUID, `\u0000"`, 1),
		`{"kind":1}`, `{"request":{"uid":1}}`, `{"request":[]}`, `{"request":{"uid":"x","object":{"a":1e999}}}`,
		`{"request":{"operation":"CREATE","object":` + strings.Repeat("[", 20000) + `}}`,
		strings.Repeat(`{"request":`, 20000),
		"{\"request\":{\"uid\":\"\xff\",\"operation\":\"CREATE\",\"object\":{\"data\":{\"\xff\":\"\"}}}}",
	} {
		f.Add([]byte(seed))
	}
	hooks := map[bool]http.Handler{true: WithDefaulter(builtIn, coloured),
		false: WithValidator(builtIn, &noted[*corev1.ConfigMap]{})}
	f.Fuzz(func(t *testing.T, body []byte) {
		var question admissionv1.AdmissionReview
		readable := utiljson.Unmarshal(body, &question) == nil && question.Request != nil
		for mutating, hook := range hooks {
			request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			hook.ServeHTTP(answer, request)
			var review admissionv1.AdmissionReview
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &review))
			require.NotNil(t, review.Response)
			if !readable {
				require.False(t, review.Response.Allowed, "%s", body)
				continue
			}
			_, err := accepted(answer.Body.Bytes(), review.APIVersion, review.Response.UID,
				mutating)
			require.NoError(t, err, "%s", body)
			if known := answerVersion(question.TypeMeta); known == question.TypeMeta {
				require.Equal(t, known, review.TypeMeta)
				require.Equal(t, strings.ToValidUTF8(string(question.Request.UID), "\ufffd"),
					string(review.Response.UID))
			}
		}
	})
}

// A patch must lead from any document to any other.
func FuzzAPatchLeadsToTheDocument(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{"a":[1,2,{"b":null}]}`}, {`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`}, {`[1,2,3]`,
			`[2,3,4]`}, {`{"a":[]}`, `{"a":{}}`},
		{`{"":{"":1}}`, `{"":{"":2}}`}, {`{"a":1e3}`, `{"a":1000}`}, {`{"a":-0}`, `{"a":0}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, from, to []byte) {
		var raw, after any
		if utiljson.Unmarshal(from, &raw) != nil || utiljson.Unmarshal(to, &after) != nil {
			require.False(t, PatchResponseFromRaw(from, to).Allowed)
			return
		}
		// In an object, as all objects of the API server are: JSON patch cannot always replace a
		// whole document.
		raw, after = map[string]any{"root": raw}, map[string]any{"root": after}
		require.True(t, equal(after, applied(t, raw, raw, after)), "from %s to %s", from, to)
	})
}
