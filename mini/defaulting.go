package mini

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
)

// Operation is one step of a JSON patch (RFC 6902): add or remove. To add a field that
// exists is to replace it.
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Default calls fill with each object that is about to be stored, and sends what fill
// has changed as a JSON patch. Fields that T doesn't know stay as they are, except in a
// list that fill changes, because a list is replaced as a whole.
//
// Caveats: fill must be idempotent, which means that it changes nothing in an object that
// it has filled already. The API server asks about each write, and may ask twice about
// one. It stores nothing for a dry run, so fill must change nothing but obj.
func Default[T Object](fill func(ctx context.Context, obj T) error) Admission {
	return func(
		ctx context.Context, req *admissionv1.AdmissionRequest,
	) ([]byte, error) {
		obj, err := decode[T](req, req.Object)
		if err != nil {
			return nil, err
		}
		if len(req.Object.Raw) == 0 {
			return nil, nil // a deletion has no object: nothing will be stored
		}
		before, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		if err := fill(ctx, obj); err != nil {
			return nil, err
		}
		after, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		ops := diff("", req.Object.Raw, before, after)
		if len(ops) == 0 {
			return nil, nil
		}
		return json.Marshal(ops)
	}
}

// diff returns the operations that change sent, the object as the API server sent it, the
// way fill changed before into after. Those two are encoded from the Go type: they lack
// fields that it doesn't know, and have empty ones that sent lacks.
func diff(path string, sent, before, after json.RawMessage) (ops []Operation) {
	s, b, a := fields(sent), fields(before), fields(after)
	if s == nil || a == nil {
		return []Operation{{Op: "add", Path: path, Value: after}}
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := path + "/" + pointer.Replace(key)
		switch {
		case bytes.Equal(b[key], a[key]):
		case a[key] == nil:
			ops = append(ops, Operation{Op: "remove", Path: at})
		default:
			ops = append(ops, diff(at, s[key], b[key], a[key])...)
		}
	}
	return ops
}

// fields returns the fields of a JSON object, or nil for anything else.
func fields(raw json.RawMessage) (all map[string]json.RawMessage) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// pointer escapes a key for the path of an operation (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
