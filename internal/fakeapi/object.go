package fakeapi

import (
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The rules of the server speak of "the spec" and "the status" of any object.
// Built-in kinds are Go structs and custom resources are maps; these helpers
// hide the difference, so that each rule is written once.

// metaOf returns the metadata of an object. Every stored kind has it; one that
// does not was registered wrongly.
func metaOf(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(fmt.Sprintf("fakeapi: %T has no object metadata: %v", obj, err))
	}
	return m
}

func setResourceVersion(obj runtime.Object, rv uint64) {
	metaOf(obj).SetResourceVersion(strconv.FormatUint(rv, 10))
}

// The sections of an object that its subresources divide.
var (
	specSection   = section{goName: "Spec", jsonName: "spec"}
	statusSection = section{goName: "Status", jsonName: "status"}
)

type section struct{ goName, jsonName string }

// in returns the section's Go value; it is invalid if the kind has none.
func (s section) in(obj runtime.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(s.goName)
}

// copy makes the section of dst that of src. The two share memory afterwards. That is safe because
// src is a stored version, and dst becomes one or is discarded: no code edits a section after this.
func (s section) copy(dst, src runtime.Object) {
	if d, ok := dst.(*unstructured.Unstructured); ok {
		value, found := src.(*unstructured.Unstructured).Object[s.jsonName]
		if found {
			d.Object[s.jsonName] = value
		} else {
			delete(d.Object, s.jsonName)
		}
		return
	}
	if value := s.in(dst); value.IsValid() {
		value.Set(s.in(src))
	}
}

func (s section) clear(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, s.jsonName)
		return
	}
	if value := s.in(obj); value.IsValid() {
		value.SetZero()
	}
}

func (s section) equal(a, b runtime.Object) bool {
	if ua, ok := a.(*unstructured.Unstructured); ok {
		return equality.Semantic.DeepEqual(ua.Object[s.jsonName], b.(*unstructured.Unstructured).Object[s.jsonName])
	}
	va, vb := s.in(a), s.in(b)
	if !va.IsValid() {
		return true
	}
	return equality.Semantic.DeepEqual(va.Interface(), vb.Interface())
}

// contentEqual compares everything but metadata, status and the type.
func contentEqual(a, b runtime.Object) bool {
	if ua, ok := a.(*unstructured.Unstructured); ok {
		return contentEqualMaps(ua.Object, b.(*unstructured.Unstructured).Object)
	}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		switch va.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !equality.Semantic.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func contentEqualMaps(a, b map[string]any) bool {
	strip := func(in map[string]any) map[string]any {
		out := map[string]any{}
		for key, value := range in {
			switch key {
			case "apiVersion", "kind", "metadata", "status":
			default:
				out[key] = value
			}
		}
		return out
	}
	return equality.Semantic.DeepEqual(strip(a), strip(b))
}

// sameObject says whether writing b over a would change anything. Times in
// managedFields do not count: the entry of a manager that changed nothing
// would otherwise make every repeated write a new version.
func sameObject(a, b runtime.Object) bool {
	ma, mb := metaOf(a).GetManagedFields(), metaOf(b).GetManagedFields()
	if len(ma) != len(mb) {
		return false
	}
	for i := range ma {
		x, y := ma[i], mb[i]
		x.Time, y.Time = nil, nil
		if !equality.Semantic.DeepEqual(x, y) {
			return false
		}
	}
	return equality.Semantic.DeepEqual(withoutManagedFields(a), withoutManagedFields(b))
}

func withoutManagedFields(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out := make(map[string]any, len(u.Object))
		for key, value := range u.Object {
			out[key] = value
		}
		if m, ok := u.Object["metadata"].(map[string]any); ok {
			kept := make(map[string]any, len(m))
			for key, value := range m {
				if key != "managedFields" {
					kept[key] = value
				}
			}
			out["metadata"] = kept
		}
		return &unstructured.Unstructured{Object: out}
	}
	// A shallow copy of the struct is enough: only the slice header changes.
	out := reflect.New(reflect.TypeOf(obj).Elem())
	out.Elem().Set(reflect.ValueOf(obj).Elem())
	stripped := out.Interface().(runtime.Object)
	metaOf(stripped).SetManagedFields(nil)
	return stripped
}

// toMap is the object as JSON would show it.
func toMap(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}
