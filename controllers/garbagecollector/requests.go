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
// be one in each namespace, so nobody can tell whether the owner is gone.
var errNamespacedOwner = errors.New("the owner of an object without a namespace is in one")

// metadataOf makes an object of a kind, which has only metadata.
func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// getLive asks the API server for an item. It returns nil if the item is gone.
func (gc *collector) getLive(
	ctx context.Context, it item,
) (*metav1.PartialObjectMetadata, error) {
	live := metadataOf(it.kind)
	err := gc.client.Get(ctx, client.ObjectKey{Namespace: it.namespace, Name: it.name}, live)
	switch {
	case isAbsent(err) || err == nil && live.UID != it.uid:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", it, err)
	}
	return live, nil
}

// askFor asks the API server for an owner, and tells the graph if it is absent.
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
	err = gc.client.Get(ctx, client.ObjectKey{Namespace: id.namespace, Name: id.name}, owner)
	switch {
	case isAbsent(err) || err == nil && owner.UID != id.uid:
		gc.apply(event{what: ownerIsAbsent, owner: id})
		return ownerAbsent, nil
	case err != nil:
		return ownerUnknown, fmt.Errorf("looking for the owner %s: %w", id, err)
	case isDeletingDependents(owner):
		return ownerWaiting, nil
	}
	return ownerSolid, nil
}

// isAbsent is true if the API server knows the kind, and has no object of that name. It answers
// 404, too, when it does not serve the path, and that says nothing about the object: its CRD may be
// away for a moment.
func isAbsent(err error) bool {
	var answer apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &answer) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		answer.Status().Details != nil && answer.Status().Details.Name != ""
}

// deleteObject deletes the version that was judged: the API server refuses if the object has
// changed since. If its owners are the same, that does not matter, and an object that changes all
// the time has to go, too.
func (gc *collector) deleteObject(
	ctx context.Context, object *metav1.PartialObjectMetadata, policy metav1.DeletionPropagation,
) error {
	uid, version, refs := object.UID, object.ResourceVersion, object.OwnerReferences
	err := gc.client.Delete(ctx, object, client.PropagationPolicy(policy),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if apierrors.IsConflict(err) {
		now := metadataOf(object.GroupVersionKind())
		failed := gc.client.Get(ctx, client.ObjectKeyFromObject(object), now)
		if failed == nil && equality.Semantic.DeepEqual(now.OwnerReferences, refs) {
			err = gc.client.Delete(ctx, object, client.PropagationPolicy(policy),
				client.Preconditions{UID: &uid})
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", object.Kind,
			client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// patch replaces one field of an object's metadata, if the object has not changed since it was
// read. The object is then the patched one.
func (gc *collector) patch(
	ctx context.Context, object *metav1.PartialObjectMetadata, field string, value any,
) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		field: value, "resourceVersion": object.ResourceVersion,
	}})
	if err != nil {
		return fmt.Errorf("patching %s: %w", field, err)
	}
	err = gc.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patching the %s of %s %s: %w", field, object.Kind,
			client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// String names an item in messages.
func (it item) String() string {
	return fmt.Sprintf("%s %s/%s", it.kind.Kind, it.namespace, it.name)
}
