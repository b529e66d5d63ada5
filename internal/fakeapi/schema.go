package fakeapi

import (
	"encoding/json"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// checkSchema holds a custom resource to its Go type, if the fake has one, as
// the real server does to the schema of its definition: what the type does not
// know is reported and pruned, and a value that does not fit is an error.
func checkSchema(res *resource, u *unstructured.Unstructured, body []byte) (unknown []error, err error) {
	if res.Example == nil {
		return nil, nil
	}
	t := reflect.TypeOf(res.Example)
	unknown, err = kjson.UnmarshalStrict(body, reflect.New(t.Elem()).Interface(), kjson.DisallowUnknownFields)
	if err != nil {
		invalid := &field.Error{Type: field.ErrorTypeTypeInvalid, Field: "<nil>", Detail: err.Error()}
		return nil, apierrors.NewInvalid(res.gk(), u.GetName(), field.ErrorList{invalid})
	}
	if len(unknown) > 0 {
		prune(u.Object, t)
	}
	return unknown, nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// prune removes from a document what the type has no fields for. It does not look into a type that
// decodes itself.
func prune(value any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	switch value := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for _, item := range value {
				prune(item, t.Elem())
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Map:
			for _, item := range value {
				prune(item, t.Elem())
			}
		case reflect.Struct:
			known := map[string]reflect.Type{}
			jsonFields(t, known)
			for key, item := range value {
				if of, ok := known[key]; ok {
					prune(item, of)
				} else {
					delete(value, key)
				}
			}
		}
	}
}

// jsonFields collects the fields of a struct, and those of structs that are
// inlined, by their names in JSON.
func jsonFields(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inlined := f.Type
		if inlined.Kind() == reflect.Pointer {
			inlined = inlined.Elem()
		}
		switch {
		case name == "-":
		case f.Anonymous && name == "" && inlined.Kind() == reflect.Struct:
			jsonFields(inlined, into)
		case name == "" && f.IsExported():
			into[f.Name] = f.Type
		case f.IsExported():
			into[name] = f.Type
		}
	}
}
