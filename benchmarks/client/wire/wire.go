// Package wire records what a client sends, and what comes of it, so that two clients can be
// compared call by call.
//
// The way of the data: a Call uses a client whose requests pass a Recorder. What it sends, the
// objects that it shows and its error are written down as text, without what differs from run to run
// (UIDs, versions, times). Two texts that are equal are the same call.
package wire

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Object is an object of any form. It has the methods of both libraries' client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// List is a list of any form.
type List interface {
	metav1.ListInterface
	runtime.Object
}

// Call is one row of the comparison.
type Call struct {
	Group, Name string
	Do          func(t *Take) error
}

// Take is one run of a call by one of the clients.
type Take struct {
	Ctx context.Context
	// Namespace belongs to the side; Name is different in each call.
	Namespace, Name string

	prepare client.Client // is not recorded
	shown   []any
}

// NewTake makes a take. What it prepares is done by a client of its own, which nobody records.
func NewTake(ctx context.Context, prepare client.Client, namespace, name string) *Take {
	return &Take{Ctx: ctx, Namespace: namespace, Name: name, prepare: prepare}
}

// Key is the name of the call's object.
func (t *Take) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
}

// Labels select the objects of this take, even among those of all namespaces.
func (t *Take) Labels() map[string]string {
	return map[string]string{"take": t.Namespace + "-" + t.Name}
}

// Meta is the metadata of the call's object; a suffix makes more of them.
func (t *Take) Meta(suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name + suffix, Labels: t.Labels()}
}

// Show adds objects to what is compared when the call has returned.
func (t *Take) Show(objects ...any) { t.shown = append(t.shown, objects...) }

// failure is a panic that ends a take because its preparation failed.
type failure struct{ error }

// Make creates objects on the server. They are as the server returned them.
func (t *Take) Make(objects ...Object) {
	for _, object := range objects {
		if err := t.prepare.Create(t.Ctx, object); err != nil {
			panic(failure{fmt.Errorf("preparing %T %s: %w", object, object.GetName(), err)})
		}
	}
}

// Change changes an object on the server, so that others hold an old version of it.
func (t *Take) Change(object Object) {
	if err := t.prepare.Patch(t.Ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`))); err != nil {
		panic(failure{fmt.Errorf("changing %T %s: %w", object, object.GetName(), err)})
	}
}

// Mutate applies a merge patch, as another client would.
func (t *Take) Mutate(object Object, patch string) {
	if err := t.prepare.Patch(t.Ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody-else")); err != nil {
		panic(failure{fmt.Errorf("changing %T %s: %w", object, object.GetName(), err)})
	}
}

// MutateStatus patches the status.
func (t *Take) MutateStatus(object Object, patch string) {
	if err := t.prepare.Status().Patch(t.Ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		panic(failure{fmt.Errorf("changing the status of %T %s: %w", object, object.GetName(), err)})
	}
}

// Form is one of the three ways in which a program holds an object.
type Form string

const (
	Typed        Form = "typed"
	Unstructured Form = "unstructured"
	Metadata     Form = "metadata"
)

// Forms are all of them.
var Forms = []Form{Typed, Unstructured, Metadata}

// Blank is an empty object of the same kind as another.
func Blank(form Form, like Object) Object {
	switch form {
	case Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kindOf(like))
		return u
	case Metadata:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(kindOf(like))
		return m
	}
	return reflect.New(reflect.TypeOf(like).Elem()).Interface().(Object)
}

// As is an object in another form.
func As(form Form, object Object) Object {
	copied := object.DeepCopyObject().(Object)
	switch form {
	case Unstructured:
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(copied)
		if err != nil {
			panic(failure{err})
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kindOf(object))
		return u
	case Metadata:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(kindOf(object))
		m.SetName(copied.GetName())
		m.SetNamespace(copied.GetNamespace())
		m.SetLabels(copied.GetLabels())
		m.SetAnnotations(copied.GetAnnotations())
		m.SetFinalizers(copied.GetFinalizers())
		m.SetUID(copied.GetUID())
		m.SetResourceVersion(copied.GetResourceVersion())
		m.SetGeneration(copied.GetGeneration())
		m.SetCreationTimestamp(copied.GetCreationTimestamp())
		return m
	}
	return copied
}

// BlankList is an empty list of the objects of a kind.
func BlankList(form Form, like Object, typed List) List {
	kind := kindOf(like)
	kind.Kind += "List"
	switch form {
	case Unstructured:
		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(kind)
		return u
	case Metadata:
		m := &metav1.PartialObjectMetadataList{}
		m.SetGroupVersionKind(kind)
		return m
	}
	return reflect.New(reflect.TypeOf(typed).Elem()).Interface().(List)
}

func kindOf(object Object) schema.GroupVersionKind {
	kind, err := apiutil.GVKForObject(object, Scheme)
	if err != nil {
		panic(failure{err})
	}
	return kind
}

// Eventually tries until it gets no error; a server may need a moment until a new kind is served.
func Eventually(ctx context.Context, try func() error) error {
	var last error
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	}); err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}
