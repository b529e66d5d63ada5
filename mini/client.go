package mini

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	// Get fills into with the object that has this key. If there's none, IsNotFound(err)
	// is true, and into stays as it was.
	Get(ctx context.Context, key Request, into Object) error
	// List returns all objects in the selection that have the type of like.
	List(ctx context.Context, like Object, selection Selection) ([]Object, error)
}

// Selection says which objects to list. The zero value selects all.
type Selection struct {
	Namespace string          // "" selects all
	Labels    labels.Selector // nil selects all
}

// Matches returns true if obj is in the selection.
func (s Selection) Matches(obj Object) bool {
	return (s.Namespace == "" || s.Namespace == obj.GetNamespace()) &&
		(s.Labels == nil || s.Labels.Matches(labels.Set(obj.GetLabels())))
}

// Get returns the object of type T that has this key. With an error, it returns an empty
// object, which you can fill in and create if there wasn't one.
//
//	pod, err := mini.Get[*corev1.Pod](ctx, client, req)
func Get[T Object](ctx context.Context, r Reader, key Request) (T, error) {
	obj := newObject[T]()
	return obj, r.Get(ctx, key, obj)
}

// List returns the objects of type T in the selection, or none with an error.
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

// assign copies *from to *into, and keeps nothing that *into had before.
func assign(into, from runtime.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem())
}

// Client reads from and writes to the API server.
//
// Guarantees: after a successful write, the object is what the server has stored, with
// its defaults, UID and resourceVersion. After a failure, the object is as it was.
//
// Errors: those of apimachinery's api/errors, for IsNotFound, IsConflict and the like.
// IsNotFound is true only if isAbsent is, so no proxy can make a Pod look deleted.
type Client struct {
	Cluster *Cluster
	// Wrote, unless it's nil, is called after each successful write. gone is true if the
	// object no longer exists after it.
	Wrote func(obj Object, gone bool)
}

// Get asks the API server for one object.
func (c *Client) Get(ctx context.Context, key Request, into Object) error {
	req, err := c.request("GET", into, key)
	if err != nil {
		return err
	}
	return c.send(ctx, "get", key, req, into)
}

// isAbsent returns true if the API server itself says that it has no object with this
// key, in a Status that names the object or its namespace. A 404 alone proves nothing: a
// load balancer sends one when it has lost its servers, and so does the API server for a
// path that it doesn't serve.
func isAbsent(err error, key Request) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	about := answer.Status().Details
	if about == nil || key.Name == "" {
		return false
	}
	noNamespace := about.Kind == "namespaces" && about.Name == key.Namespace
	return (about.Name == key.Name || noNamespace) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// check404 returns err, unless it's a 404 that proves nothing about the object with this
// key. Then it returns an error that quotes the answer, and for which IsNotFound is
// false.
func check404(err error, key Request) error {
	if !apierrors.IsNotFound(err) || isAbsent(err, key) {
		return err
	}
	page, _ := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	// Not %w, or IsNotFound would look through it.
	return fmt.Errorf("%v: a 404 that proves nothing: %.80q", err, page.Message)
}

// IgnoreNotFound returns nil if err says that there's no such object, and err otherwise.
// With mini's clients, that's always the API server's word: see isAbsent.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// List asks the API server for all objects in the namespace, and compares their labels
// here, although the server could do that as well.
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
	return all, check404(err, Request{}) // no 404 for a list is about an object
}

// Create stores a new object. If the name is taken, IsAlreadyExists(err) is true. An
// object with a generateName and no name gets its name from the API server.
// IsNotFound(err) is never true: if the namespace is missing, the error says so in words.
func (c *Client) Create(ctx context.Context, obj Object) error {
	req, err := c.request("POST", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	return c.send(ctx, "create", Request{}, req.Body(obj), obj)
}

// Update replaces the stored object. If another client has changed it since you read obj,
// the resourceVersion differs, and IsConflict(err) is true. Without a resourceVersion,
// Update overwrites objects of most built-in kinds, but fails for custom resources and
// Leases.
//
// If the kind has a status subresource, Update leaves the status alone.
func (c *Client) Update(ctx context.Context, obj Object) error {
	req, err := c.request("PUT", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	return c.send(ctx, "update", KeyOf(obj), req.Body(obj), obj)
}

// UpdateStatus replaces the status of the stored object. In a custom resource, it changes
// nothing else. Built-in kinds also accept some metadata: a Deployment its annotations, a
// Pod its labels.
func (c *Client) UpdateStatus(ctx context.Context, obj Object) error {
	req, err := c.request("PUT", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	req = req.SubResource("status").Body(obj)
	return c.send(ctx, "update status", KeyOf(obj), req, obj)
}

// Patch changes the part of the stored object that data names. It ignores obj's
// resourceVersion. To have the server compare one, put it into data.
func (c *Client) Patch(
	ctx context.Context, obj Object, patch types.PatchType, data []byte,
) error {
	req, err := c.request("PATCH", obj, KeyOf(obj))
	if err != nil {
		return err
	}
	req = req.SetHeader("Content-Type", string(patch)).Body(data)
	return c.send(ctx, "patch", KeyOf(obj), req, obj)
}

// Delete deletes the object on the server. It doesn't change obj. An object with
// finalizers, or a running Pod, still exists afterwards, with a deletionTimestamp. If obj
// has a UID, Delete deletes only the object with this UID; if another one has taken the
// name, IsConflict(err) is true. Preconditions in options replace this one.
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
	answer := obj.DeepCopyObject().(Object)
	return c.send(ctx, "delete", KeyOf(obj), req.Body(&options), answer)
}

// request begins a request for one object.
func (c *Client) request(verb string, obj Object, key Request) (*rest.Request, error) {
	kind, err := c.Cluster.KindOf(obj)
	if err != nil {
		return nil, err
	}
	req := c.Cluster.request(verb, kind, key.Namespace)
	if verb != "POST" { // a new object is posted to the collection
		req = req.Name(key.Name)
	}
	return req, nil
}

// send sends the request, and makes obj what the API server answers. The request is about
// the object with this key, or about a collection if the key is empty.
func (c *Client) send(
	ctx context.Context, verb string, key Request, req *rest.Request, obj Object,
) error {
	began, gone := time.Now(), false
	answer, err := req.Do(ctx).Get()
	err = check404(err, key)
	if err == nil {
		gone, err = receive(verb, answer, obj)
	}
	if verb == "get" {
		return err
	}
	e := trace.Event{
		Layer: "client", Kind: trace.Write, Op: verb, Object: kindName(obj),
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
		Version: obj.GetResourceVersion(), Took: time.Since(began),
	}
	switch {
	case apierrors.IsConflict(err):
		e.Outcome, e.Reason = trace.Conflict, err.Error()
	case err != nil:
		e.Outcome, e.Reason = trace.Failed, err.Error()
	case c.Wrote != nil:
		c.Wrote(obj, gone)
	}
	c.Cluster.Trace.RecordBy(ctx, e)
	return err
}

// receive makes obj what the API server has answered. It returns true if the object no
// longer exists: the server deleted it at once, or an update removed its last finalizer.
func receive(verb string, answer runtime.Object, obj Object) (gone bool, err error) {
	if status, ok := answer.(*metav1.Status); ok && verb == "delete" {
		if status.Details != nil {
			obj.SetUID(status.Details.UID) // of the object that was deleted
		}
		return true, nil
	}
	if reflect.TypeOf(answer) != reflect.TypeOf(obj) {
		return false, fmt.Errorf("%s %T: the API server sent %T", verb, obj, answer)
	}
	assign(obj, answer)
	if obj.GetDeletionTimestamp() == nil {
		return verb == "delete", nil // for some kinds, the answer is the deleted object
	}
	if ns, ok := obj.(*corev1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		return false, nil // these keep it as well
	}
	grace := obj.GetDeletionGracePeriodSeconds() // a Pod may have some time left
	return len(obj.GetFinalizers()) == 0 && (grace == nil || *grace == 0), nil
}
