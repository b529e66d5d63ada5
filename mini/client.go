package mini

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// Reader reads objects: from the API server (Client) or from memory (CachedClient).
type Reader interface {
	// Get fills into with the object that has this key. IsNotFound is true of the error
	// if there is none.
	Get(ctx context.Context, key Request, into Object) error
	// List returns all objects with the type of like that the selection takes.
	List(ctx context.Context, like Object, selection Selection) ([]Object, error)
}

// Selection says which objects a list is about. The zero value takes all.
type Selection struct {
	Namespace string
	Labels    labels.Selector // nil takes all
}

// Matches returns true if the selection takes obj.
func (s Selection) Matches(obj Object) bool {
	return (s.Namespace == "" || s.Namespace == obj.GetNamespace()) &&
		(s.Labels == nil || s.Labels.Matches(labels.Set(obj.GetLabels())))
}

// Get returns the object of type T that has this key.
//
//	pod, err := mini.Get[*corev1.Pod](ctx, client, req)
func Get[T Object](ctx context.Context, r Reader, key Request) (T, error) {
	obj := newObject[T]()
	return obj, r.Get(ctx, key, obj)
}

// List returns the objects of type T that the selection takes.
func List[T Object](ctx context.Context, r Reader, selection Selection) ([]T, error) {
	objs, err := r.List(ctx, newObject[T](), selection)
	all := make([]T, len(objs))
	for i, obj := range objs {
		all[i] = obj.(T)
	}
	return all, err
}

func newObject[T Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
}

// assign makes *into what *from is.
func assign(into, from runtime.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem())
}

// Client reads from and writes to the API server: one call is one request. After a
// write, the object is what the server has stored.
type Client struct {
	Cluster *Cluster
	Wrote   func(verb string, obj Object) // nil, or told of each write that has succeeded
}

// Get asks the API server for one object.
func (c *Client) Get(ctx context.Context, key Request, into Object) error {
	req, err := c.request("GET", into, key)
	if err != nil {
		return err
	}
	return c.send(ctx, "get", req, into)
}

// List asks the API server for a list.
func (c *Client) List(
	ctx context.Context, like Object, selection Selection,
) (all []Object, err error) {
	lw, err := c.Cluster.ListWatch(like, selection.Namespace)
	if err != nil {
		return nil, err
	}
	objs, _, err := lw.List(ctx)
	for _, obj := range objs {
		if selection.Matches(obj) {
			all = append(all, obj)
		}
	}
	return all, err
}

// Create stores a new object. IsAlreadyExists is true of the error if the name is taken.
func (c *Client) Create(ctx context.Context, obj Object) error {
	req, err := c.request("POST", obj, Request{Namespace: obj.GetNamespace()})
	if err != nil {
		return err
	}
	return c.send(ctx, "create", req.Body(obj), obj)
}

// Update replaces the stored object, but not its status. If obj has a resourceVersion,
// it must be the stored one: IsConflict is true of the error if another client has
// written since.
func (c *Client) Update(ctx context.Context, obj Object) error {
	req, err := c.request("PUT", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	return c.send(ctx, "update", req.Body(obj), obj)
}

// UpdateStatus replaces the status of the stored object, and next to nothing else.
func (c *Client) UpdateStatus(ctx context.Context, obj Object) error {
	req, err := c.request("PUT", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	return c.send(ctx, "update status", req.SubResource("status").Body(obj), obj)
}

// Patch changes a part of the stored object.
func (c *Client) Patch(
	ctx context.Context, obj Object, patch types.PatchType, data []byte,
) error {
	req, err := c.request("PATCH", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	return c.send(ctx, "patch", req.SetHeader("Content-Type", string(patch)).Body(data), obj)
}

// Delete asks for the end of the object. If it has finalizers, or Pods take their time,
// it is still there afterwards, with a deletionTimestamp. If obj has a UID, only that
// object is deleted, and not one that has its name by now: IsConflict is then true of
// the error.
func (c *Client) Delete(
	ctx context.Context, obj Object, options metav1.DeleteOptions,
) error {
	req, err := c.request("DELETE", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	if uid := obj.GetUID(); uid != "" && options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err = req.Body(&options).Do(ctx).Error()
	c.wrote("delete", obj, err)
	return err
}

// request begins a request for an object: with a name, or for all in the namespace.
func (c *Client) request(verb string, obj Object, key Request) (*rest.Request, error) {
	kind, err := c.Cluster.KindOf(obj)
	if err != nil {
		return nil, err
	}
	req, err := c.Cluster.request(verb, kind, key.Namespace)
	if err == nil && verb != "POST" {
		req = req.Name(key.Name)
	}
	return req, err
}

// send sends the request, and makes obj what comes back.
func (c *Client) send(ctx context.Context, verb string, req *rest.Request, obj Object) error {
	answer, err := req.Do(ctx).Get()
	if err == nil && reflect.TypeOf(answer) != reflect.TypeOf(obj) {
		err = fmt.Errorf("%s %T: the API server answered with %T", verb, obj, answer)
	}
	if err == nil {
		assign(obj, answer)
	}
	if verb != "get" {
		c.wrote(verb, obj, err)
	}
	return err
}

func (c *Client) wrote(verb string, obj Object, err error) {
	if err == nil && c.Wrote != nil {
		c.Wrote(verb, obj)
	}
	e := trace.Event{
		Layer: "client", Kind: trace.Write, Op: verb, Object: kindName(obj),
		Namespace: obj.GetNamespace(), Name: obj.GetName(), Version: obj.GetResourceVersion(),
	}
	switch {
	case apierrors.IsConflict(err):
		e.Outcome, e.Reason = trace.Conflict, err.Error()
	case err != nil:
		e.Outcome, e.Reason = trace.Failed, err.Error()
	}
	c.Cluster.Trace.Record(e)
}
