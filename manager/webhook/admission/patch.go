package admission

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// PatchResponseFromRaw allows the request, with the changes from original to current. Both are
// JSON.
//
// For original, use the bytes of the request, and not a Go object encoded again: the API server
// applies the patch to what it has sent. A field that the Go type doesn't know is in the first and
// not in the second.
func PatchResponseFromRaw(original, current []byte) Response {
	return patchResponse(original, current, nil)
}

// patchResponse makes the patch from raw to after. If the patch would remove or replace something,
// it calls before, and removes only what that has. If before is nil, it removes everything that
// after lacks.
func patchResponse(raw, after []byte, before func() ([]byte, error)) Response {
	from, err := parsed(raw)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	to, err := parsed(after)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	operations := changes(from, from, to)
	if before == nil || !slices.ContainsFunc(operations, mayLose) {
		return patched(operations)
	}
	document, err := before()
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	known, err := parsed(document)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	return patched(changes(from, known, to))
}

// mayLose is true for a removal, and for an object or a list in place of another value.
func mayLose(operation jsonpatch.Operation) bool {
	switch operation.Value.(type) {
	case map[string]any, []any:
		return operation.Operation == "replace"
	}
	return operation.Operation == "remove"
}

func parsed(document []byte) (value any, err error) {
	if err := json.Unmarshal(document, &value); err != nil {
		return nil, fmt.Errorf("making a patch: not a JSON document: %w", err)
	}
	return value, nil
}

// patched is a response with the type of its patch, and with none if nothing changes.
func patched(operations []jsonpatch.Operation) Response {
	response := yes()
	response.Patches = operations
	if len(operations) > 0 {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
	}
	return response
}

// changes returns the JSON patch that turns raw into after, with one exception: it doesn't remove
// fields of raw that before lacks, too.
//
// raw is an object as the API server sent it, before is that object decoded by Go, and after is
// what a defaulter made from it. A field that is only in raw is one that the Go type doesn't know,
// or an empty one that it omits. The defaulter didn't remove it. If raw is passed as before,
// nothing is kept.
//
// All three are JSON values: map[string]any, []any, string, bool, int64, float64 or nil. The
// operations are sorted by the fields' names, so the same input gives the same patch.
//
// Caveats: a list element that is both changed and moved loses the fields that Go doesn't know,
// because it looks like a new one.
//
// controller-runtime makes two patches and subtracts the removals of one from the other, by their
// paths. A path names another element once a list has grown at its front, or has been sorted. It
// also compares numbers as float64, in which 9007199254740992 and 9007199254740993 are equal.
func changes(raw, before, after any) []jsonpatch.Operation {
	if equal(raw, after) {
		return nil
	}
	return differ{}.value("", raw, before, after).operations
}

// differ collects operations while it walks the three values.
type differ struct {
	operations []jsonpatch.Operation
}

func (d differ) add(operation, path string, value any) differ {
	d.operations = append(d.operations, jsonpatch.NewOperation(operation, path, value))
	return d
}

// value compares two values that differ. The caller has checked that they do, so that no path is
// built for a field that stays the same, as nearly all do.
func (d differ) value(path string, raw, before, after any) differ {
	switch after := after.(type) {
	case map[string]any:
		if raw, same := raw.(map[string]any); same {
			before, _ := before.(map[string]any)
			return d.object(path, raw, before, after)
		}
	case []any:
		if raw, same := raw.([]any); same {
			before, _ := before.([]any)
			return d.list(path, raw, before, after)
		}
	}
	return d.add("replace", path, after)
}

func (d differ) object(path string, raw, before, after map[string]any) differ {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, there := raw[name]
		if !there {
			d = d.add("add", below(path, name), after[name])
		} else if !equal(old, after[name]) {
			d = d.value(below(path, name), old, before[name], after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		_, stays := after[name]
		_, known := before[name]
		if !stays && known {
			d = d.add("remove", below(path, name), nil)
		}
	}
	return d
}

// list pairs elements that the defaulter left unchanged, at both ends of the list. So a container
// that is inserted at the front is one addition, and each of the others keeps its unknown fields.
// So does each element of a list that the defaulter has sorted.
func (d differ) list(path string, raw, before, after []any) differ {
	if len(before) != len(raw) {
		before = raw // Go decoded another number of elements, so they can't be matched
	}
	head, shorter := 0, min(len(before), len(after))
	for head < shorter && equal(before[head], after[head]) {
		head++
	}
	tail := 0
	for tail < shorter-head && equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
		tail++
	}
	rawEnd, afterEnd := len(raw)-tail, len(after)-tail
	paired := min(rawEnd, afterEnd)
	here, gone := moved(raw[head:rawEnd], before[head:rawEnd], after[head:afterEnd], head)
	for i := rawEnd - 1; i >= paired; i-- { // from the end: a removal moves the elements after it
		d = d.add("remove", element(path, i), nil)
	}
	for i := paired; i < afterEnd; i++ {
		value, was := here[i]
		if !was {
			value = after[i]
		}
		d = d.add("add", element(path, i), value)
	}
	for i := range after { // the list has its final length now, and its elements their final places
		old := i
		if i >= afterEnd {
			old = i - afterEnd + rawEnd
		} else if i >= paired {
			continue // already added
		} else if value, was := here[i]; was || gone[i] {
			if !was {
				value = after[i]
			}
			d = d.add("replace", element(path, i), value)
			continue
		}
		if !equal(raw[old], after[i]) {
			d = d.value(element(path, i), raw[old], before[old], after[i])
		}
	}
	return d
}

// moved finds the elements that the defaulter has moved: what each is in raw, by its new place, and
// the places that they have left. Places are counted from first.
func moved(raw, before, after []any, first int) (here map[int]any, gone map[int]bool) {
	if len(before) == 0 || len(after) == 0 {
		return nil, nil
	}
	stays := func(i int) bool {
		return i < len(before) && i < len(after) && equal(before[i], after[i])
	}
	// indexed by the element's text, so that the search isn't quadratic
	places := map[string][]int{}
	for i, element := range before {
		if !stays(i) {
			text, _ := json.Marshal(element) // it was decoded from JSON, so encoding can't fail
			places[string(text)] = append(places[string(text)], i)
		}
	}
	here, gone = map[int]any{}, map[int]bool{}
	for i, element := range after {
		if stays(i) {
			continue
		}
		text, _ := json.Marshal(element)
		if from := places[string(text)]; len(from) > 0 {
			here[first+i], gone[first+from[0]] = raw[from[0]], true
			places[string(text)] = from[1:]
		}
	}
	return here, gone
}

// pointerEscapes are those of a JSON pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func below(path, name string) string { return path + "/" + pointerEscapes.Replace(name) }

func element(path string, i int) string { return path + "/" + strconv.Itoa(i) }

// equal compares two JSON values. A number equals itself with a fraction of zero.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, same := b.(map[string]any)
		return same && maps.EqualFunc(a, b, equal)
	case []any:
		b, same := b.([]any)
		return same && slices.EqualFunc(a, b, equal)
	case int64:
		if b, is := b.(float64); is {
			return float64(a) == b
		}
	case float64:
		if b, is := b.(int64); is {
			return a == float64(b)
		}
	}
	return a == b
}
