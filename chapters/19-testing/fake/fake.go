// Package fake is a client for unit tests: a map of objects.
//
// It lies where a map does. Each write is carried out, its answer arrives, and the next read shows it. It
// has no versions, so nothing conflicts; it has no watch, so nothing is late. Only one thing can go wrong:
// an update for which a test has set an error.
package fake

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/mini"
)

// Client is a client without a server. It may be used from one goroutine.
type Client struct {
	FailUpdate error // of the next update, which isn't carried out

	objects map[id]mini.Object
	made    int // names
}

type id struct {
	kind reflect.Type
	key  mini.Request
}

// NewClient returns a client of these objects.
func NewClient(objects ...mini.Object) *Client {
	c := &Client{objects: map[id]mini.Object{}}
	for _, obj := range objects {
		c.store(obj)
	}
	return c
}

func (c *Client) store(obj mini.Object) {
	c.objects[idOf(obj, mini.KeyOf(obj))] = obj.DeepCopyObject().(mini.Object)
}

func idOf(obj mini.Object, key mini.Request) id { return id{reflect.TypeOf(obj), key} }

// Get fills into with the object.
func (c *Client) Get(_ context.Context, key mini.Request, into mini.Object) error {
	obj := c.objects[idOf(into, key)]
	if obj == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
	return nil
}

// List returns the objects of one type, sorted by name.
func (c *Client) List(_ context.Context, like mini.Object, s mini.Selection) (all []mini.Object, err error) {
	for id, obj := range c.objects {
		if id.kind == reflect.TypeOf(like) && s.Matches(obj) {
			all = append(all, obj.DeepCopyObject().(mini.Object))
		}
	}
	slices.SortFunc(all, func(a, b mini.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, nil
}

// Create stores an object, and gives it a name.
func (c *Client) Create(_ context.Context, obj mini.Object) error {
	if obj.GetName() == "" {
		c.made++
		obj.SetName(fmt.Sprint(obj.GetGenerateName(), c.made))
	}
	c.store(obj)
	return nil
}

// Update replaces an object.
func (c *Client) Update(_ context.Context, obj mini.Object) error {
	if err := c.FailUpdate; err != nil {
		c.FailUpdate = nil
		return err
	}
	c.store(obj)
	return nil
}

// UpdateStatus replaces an object, and not just its status.
func (c *Client) UpdateStatus(_ context.Context, obj mini.Object) error {
	c.store(obj)
	return nil
}

// Delete removes an object.
func (c *Client) Delete(_ context.Context, obj mini.Object, _ metav1.DeleteOptions) error {
	delete(c.objects, idOf(obj, mini.KeyOf(obj)))
	return nil
}
