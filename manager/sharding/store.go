package sharding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

const (
	// Label is on the Leases of a program that shares its work. Its value is the program's ID.
	Label = "loopwright.dev/shards"
	// tableAnnotation has the table, on the Lease that has the program's ID as its name.
	tableAnnotation = "loopwright.dev/shards"
)

// store keeps the table and the members in Leases: one for each member, which renews it, and one
// with the table, which nobody renews. A list of them is a look at all of it at one moment.
type store struct {
	id     string
	leases coordinationv1client.LeaseInterface
}

// snapshot is what a list says.
type snapshot struct {
	table   table
	leases  map[string]lease // of the members, by the Leases' names
	objects map[string]*coordinationv1.Lease
}

// version is that of the table's object.
func (s snapshot) version(id string) string {
	if object := s.objects[id]; object != nil {
		return object.ResourceVersion
	}
	return ""
}

// read lists the Leases. It asks for the newest ones, as a list does that names no version.
func (s store) read(ctx context.Context) (snapshot, error) {
	list, err := s.leases.List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + s.id})
	if err != nil {
		return snapshot{}, err
	}
	if list.ResourceVersion == "" {
		return snapshot{}, errors.New("the list of Leases has no version: something other than the API server may have sent it")
	}
	now := snapshot{leases: map[string]lease{}, objects: map[string]*coordinationv1.Lease{}}
	for i := range list.Items {
		object := &list.Items[i]
		now.objects[object.Name] = object
		if object.Name != s.id {
			now.leases[object.Name] = lease{
				version: object.ResourceVersion, released: valueOf(object.Spec.HolderIdentity) == "",
				duration: time.Duration(valueOf(object.Spec.LeaseDurationSeconds)) * time.Second,
			}
			continue
		}
		if now.table, err = decode(object.Annotations[tableAnnotation]); err != nil {
			return snapshot{}, fmt.Errorf("the table in the annotation %s of the Lease %s can't be used: %w; "+
				"if nobody can mend it, stop all replicas and delete the Lease", tableAnnotation, s.id, err)
		}
	}
	return now, nil
}

func valueOf[V any](p *V) (v V) {
	if p != nil {
		v = *p
	}
	return v
}

// write stores the table if its object still is as it was, and returns its new version.
func (s store) write(ctx context.Context, was *coordinationv1.Lease, t table) (version string, err error) {
	text, err := encode(t)
	if err != nil {
		return "", err
	}
	object := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: s.id}}
	if was != nil {
		object = was.DeepCopy()
	}
	for _, put := range []struct {
		where      *map[string]string
		key, value string
	}{{&object.Labels, Label, s.id}, {&object.Annotations, tableAnnotation, text}} {
		*put.where = maps.Clone(*put.where)
		if *put.where == nil {
			*put.where = map[string]string{}
		}
		(*put.where)[put.key] = put.value
	}
	answer, err := s.put(ctx, was, object)
	if apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("%w; if it isn't this program's, and so lacks the label %s=%s, choose another ID, or delete it",
			err, Label, s.id)
	}
	if err != nil {
		return "", err
	}
	if answer.Name != s.id || answer.ResourceVersion == "" || answer.Annotations[tableAnnotation] != text {
		return "", fmt.Errorf("the answer to a write of the Lease %s has another table: something other than the API server may have sent it", s.id)
	}
	return answer.ResourceVersion, nil
}

// release says for a member that it's gone, if its Lease still is as it was. A Lease that's missing
// is created, so that the member can't.
func (s store) release(ctx context.Context, name string, was *coordinationv1.Lease) error {
	object := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{Label: s.id}}}
	if was != nil {
		object = was.DeepCopy()
	}
	object.Spec.HolderIdentity = new("")
	_, err := s.put(ctx, was, object)
	return err
}

func (s store) put(ctx context.Context, was, object *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if was == nil {
		return s.leases.Create(ctx, object, metav1.CreateOptions{})
	}
	return s.leases.Update(ctx, object, metav1.UpdateOptions{})
}

// forget deletes the Leases of members, unless they have changed, or the table names them.
func (s store) forget(ctx context.Context, now snapshot, names []string) error {
	for _, name := range names {
		object := now.objects[name]
		if object == nil || slices.Contains(now.table.holders(), name) {
			continue
		}
		err := s.leases.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID: &object.UID, ResourceVersion: &object.ResourceVersion,
		}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("deleting the Lease %s of a replica that left a day ago: %w", name, err)
		}
	}
	return nil
}
