package mini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Fields are some fields of an object, as JSON has them. A field that isn't there isn't
// empty: these Fields don't mention it. A Go struct can't tell the two apart.
//
//	mini.Fields{"spec": mini.Fields{"replicas": 3}}
type Fields = map[string]any

// FieldOwner is who applies. A program keeps its name for good: under another one, what
// it has applied before is another owner's.
type FieldOwner struct {
	Name string
	// Force takes fields from other owners. Without it, Apply returns an *ApplyConflict.
	Force bool
}

// Apply gives the stored object the fields of want, and notes that they're this owner's.
// If there's no such object, it creates one. Fields that the owner has applied before and
// that want doesn't mention lose this owner; one that has no owner left is removed.
// All other fields stay, and so does the status of kinds with a status subresource.
//
// Guarantees: after a success, obj is what the API server has stored, as with Patch.
// After a failure, obj is as it was, and so is the stored object, unless only the answer
// got lost. Apply again then: it changes nothing that's there. want is never changed.
//
// Errors: an *ApplyConflict, if want has another value for another owner's field.
func (c *Client) Apply(
	ctx context.Context, obj Object, want Fields, owner FieldOwner,
) error {
	key := KeyOf(obj)
	req, err := c.request("PATCH", obj, key)
	if err != nil {
		return err
	}
	fields, err := fieldsOf(want) // a copy, to which we may add
	if err != nil {
		return fmt.Errorf("applying %s: %w", key, err)
	}
	kind, _ := c.Cluster.KindOf(obj) // the request has found it already
	config := unstructured.Unstructured{Object: fields}
	config.SetGroupVersionKind(kind)
	config.SetName(key.Name)               // the namespace is in the URL
	data, _ := json.Marshal(config.Object) // it's made of JSON
	req = req.SetHeader("Content-Type", string(types.ApplyPatchType)).
		Param("fieldManager", owner.Name).
		Param("force", strconv.FormatBool(owner.Force)).Body(data)
	return asApplyConflict(c.send(ctx, "apply", key, req, obj))
}

// ApplyConflict is the error of an Apply that would have changed fields of other owners.
// IsConflict is true of it, but another attempt ends the same way: one of the owners has
// to give in.
type ApplyConflict struct {
	Fields []OwnedField
	err    error // the API server's
}

// OwnedField is a field that another owner has set to another value.
type OwnedField struct{ Owner, Path string }

func (e *ApplyConflict) Error() string { return e.err.Error() }
func (e *ApplyConflict) Unwrap() error { return e.err }

// asApplyConflict returns an *ApplyConflict if err says which fields are another owner's,
// and err otherwise. The API server has the owner in a sentence only:
//
//	conflict with "kubectl-edit" using v1
func asApplyConflict(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return err
	}
	conflict := &ApplyConflict{err: err}
	for _, cause := range answer.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		owner := strings.TrimPrefix(cause.Message, "conflict with ")
		if quoted, err := strconv.QuotedPrefix(owner); err == nil {
			owner, _ = strconv.Unquote(quoted) // it's quoted
		}
		conflict.Fields = append(conflict.Fields, OwnedField{owner, cause.Field})
	}
	if len(conflict.Fields) == 0 {
		return err
	}
	return conflict
}

// HasApplied returns true if the fields that this owner has applied to obj are those of
// want, and it still has them all: Apply would change nothing.
func HasApplied(obj Object, owner string, want Fields) bool {
	has, err1 := Extract(obj, owner)
	wants, err2 := fieldsOf(want)
	return err1 == nil && err2 == nil && reflect.DeepEqual(has, wants)
}

// Extract returns the fields of obj that this owner has applied and still has, with the
// values in obj. It returns none if there are none.
//
// Caveats: a field is missing if obj's Go type doesn't know it, or leaves it out when
// it's zero. If the owner applied a map or list that was empty, all that's in it now is
// returned: the API server notes both as the whole field.
func Extract(obj Object, owner string) (Fields, error) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != owner || entry.Subresource != "" ||
			entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		owned, err1 := fieldsOf(entry.FieldsV1)
		all, err2 := fieldsOf(obj)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("the fields of %q in %s: %w", owner, KeyOf(obj), err)
		}
		return ownedFields(all, owned), nil
	}
	return nil, nil
}

// ownedPart returns the part of a value that is owned. If there's nothing below, it's
// owned as a whole.
func ownedPart(value any, below any) any {
	owned, _ := below.(Fields)
	all, isMap := value.(Fields)
	list, isList := value.([]any)
	switch {
	case isMap && len(owned) > 0:
		return ownedFields(all, owned)
	case isList && len(owned) > 0:
		return ownedItems(list, owned)
	}
	return value
}

// ownedFields returns the fields of a map that are owned. In FieldsV1, "f:ports" is the
// field ports, and "." the map itself, which has no field of that name.
func ownedFields(all, owned Fields) Fields {
	part := Fields{}
	for element, below := range owned {
		name := strings.TrimPrefix(element, "f:")
		if value, has := all[name]; has {
			part[name] = ownedPart(value, below)
		}
	}
	return part
}

// ownedItems returns the items of a list that are owned, in the order of the list.
func ownedItems(all []any, owned Fields) []any {
	part := []any{}
	for _, item := range all {
		for element, below := range owned {
			if isItem(element, item) {
				part = append(part, ownedPart(item, below))
			}
		}
	}
	return part
}

// isItem returns true if an element of FieldsV1 means this item of a list: `v:"a"` is the
// item "a" of a set, and `k:{"port":80,"protocol":"TCP"}` the item with these two fields.
func isItem(element string, item any) bool {
	switch kind, text, _ := strings.Cut(element, ":"); kind {
	case "v": // value
		var value any
		_ = decodeExactly([]byte(text), &value) // no item is nil
		return reflect.DeepEqual(item, value)
	case "k": // key
		fields, _ := item.(Fields)
		var keys Fields
		if decodeExactly([]byte(text), &keys) != nil {
			return false
		}
		for name, value := range keys {
			if !reflect.DeepEqual(fields[name], value) {
				return false
			}
		}
		return true
	}
	return false
}

// fieldsOf returns the fields of v as a copy that shares no memory with it.
func fieldsOf(v any) (fields Fields, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = decodeExactly(data, &fields)
	return fields, err
}

// decodeExactly keeps numbers as they're written: a float64 has no room for each int64.
func decodeExactly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}
