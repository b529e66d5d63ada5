package garbagecollector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// errNamespacedOwner says that an object without a namespace refers to an owner in one. There may
// be such an owner in each namespace, so we can't tell whether it was deleted.
var errNamespacedOwner = errors.New("the owner of an object without a namespace is in one")

// metadataOf makes an object of a kind that has only metadata.
func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// read asks the API server for an object.
func (gc *collector) read(
	ctx context.Context, key client.ObjectKey, into *metav1.PartialObjectMetadata,
) error {
	if err := gc.client.Get(ctx, key, into); err != nil {
		return err
	}
	return isAbout(key, into)
}

// isAbout is nil if an answer is about the object with this key. An answer without a UID, or about
// another object, says nothing about ours: if we believed it, we'd believe that ours was deleted.
func isAbout(key client.ObjectKey, got *metav1.PartialObjectMetadata) error {
	if is := client.ObjectKeyFromObject(got); is != key || got.UID == "" {
		return fmt.Errorf("got %s with the UID %q instead of %s", is, got.UID, key)
	}
	return nil
}

// getLive asks the API server for an item. It returns nil, and no error, if the API server has no
// object with its UID: the item was deleted, or the answer is older than the item.
func (gc *collector) getLive(
	ctx context.Context, it item,
) (*metav1.PartialObjectMetadata, error) {
	live := metadataOf(it.kind)
	key := client.ObjectKey{Namespace: it.namespace, Name: it.name}
	err := gc.read(ctx, key, live)
	switch {
	case client.IsAbsent(err, key):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", it, err)
	case live.UID != it.uid:
		return nil, nil
	}
	return live, nil
}

// askFor asks the API server for an owner, and tells the graph if it's absent. If the object has a
// different UID, the owner is absent: the API server reads etcd's current state, and no two objects
// have a name at the same time.
func (gc *collector) askFor(ctx context.Context, id ownerIdentity) (ownerState, error) {
	owner := metadataOf(schema.FromAPIVersionAndKind(id.apiVersion, id.kind))
	isNamespaced, err := gc.client.IsObjectNamespaced(owner)
	switch {
	case err != nil:
		return ownerUnknown, fmt.Errorf("looking for the owner %s: %w", id, err)
	case !isNamespaced:
		id.namespace = ""
	case id.namespace == "":
		return ownerUnknown, errNamespacedOwner
	}
	key := client.ObjectKey{Namespace: id.namespace, Name: id.name}
	err = gc.read(ctx, key, owner)
	switch {
	case client.IsAbsent(err, key) || err == nil && owner.UID != id.uid:
		gc.apply(event{what: ownerIsAbsent, owner: id})
		return ownerAbsent, nil
	case err != nil:
		return ownerUnknown, fmt.Errorf("looking for the owner %s: %w", id, err)
	case isDeletingDependents(owner):
		return ownerWaiting, nil
	}
	return ownerSolid, nil
}

// deletesAtOnce is how often an object is read and deleted in one attempt.
const deletesAtOnce = 5

// deleteObject deletes the version that was judged: the API server refuses if the object has
// changed since. If neither its owners nor its finalizers have changed, the judgement still holds,
// and we delete the new version. An object that changes between each read and the next delete stays
// until it stops changing; each of its changes wakes us. The original checks the owners, and then
// deletes whatever version there is.
func (gc *collector) deleteObject(
	ctx context.Context, object *metav1.PartialObjectMetadata, policy metav1.DeletionPropagation,
) error {
	key := client.ObjectKeyFromObject(object)
	uid, refs, finalizers := object.UID, object.OwnerReferences, object.Finalizers
	for try := 1; ; try++ {
		version := object.ResourceVersion
		err := gc.client.Delete(ctx, object, client.PropagationPolicy(policy),
			client.Preconditions{UID: &uid, ResourceVersion: &version})
		switch {
		case err == nil || client.IsAbsent(err, key):
			return nil
		case !apierrors.IsConflict(err) || try == deletesAtOnce:
			return fmt.Errorf("deleting %s %s: %w", object.Kind, key, err)
		}
		now := metadataOf(object.GroupVersionKind())
		switch failed := gc.read(ctx, key, now); {
		case client.IsAbsent(failed, key):
			return nil
		case failed != nil:
			return fmt.Errorf("reading %s %s: %w", object.Kind, key, failed)
		case now.UID != uid:
			return nil
		case !equality.Semantic.DeepEqual(now.OwnerReferences, refs),
			!equality.Semantic.DeepEqual(now.Finalizers, finalizers):
			// It has to be judged again.
			return fmt.Errorf("deleting %s %s: %w", object.Kind, key, err)
		}
		object = now
	}
}

// patch replaces one field of an object's metadata, if the object hasn't changed since it was read.
// The object is then the patched one. It isn't an error if the API server says that the object was
// deleted.
func (gc *collector) patch(
	ctx context.Context, object *metav1.PartialObjectMetadata, field string, value any,
) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		field: value, "resourceVersion": object.ResourceVersion,
	}})
	if err != nil {
		return fmt.Errorf("patching %s: %w", field, err)
	}
	key := client.ObjectKeyFromObject(object)
	err = gc.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
	if err != nil && !client.IsAbsent(err, key) {
		return fmt.Errorf("patching the %s of %s %s: %w", field, object.Kind, key, err)
	}
	return nil
}

// String is the item's name in messages.
func (it item) String() string {
	return fmt.Sprintf("%s %s/%s", it.kind.Kind, it.namespace, it.name)
}
