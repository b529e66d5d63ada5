package mini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Claim returns those of objs that belong to owner. It adopts orphans that the selector
// matches, and releases objects that the selector no longer matches.
//
// Guarantees: an object that another controller owns is left alone. An owner that is
// being deleted adopts nothing, even if only the API server knows that yet, and releases
// nothing once owner has the deletionTimestamp. An object that is gone, or that another
// controller adopts first, is not returned, and is no error.
//
// Caveats: objs must be copies, because an adopted object becomes what the API server has
// stored, and in the owner's namespace. With an error, mine has the objects that were
// claimed in spite of it.
func Claim[T Object](
	ctx context.Context, c *CachedClient, owner Object, selector labels.Selector,
	objs []T,
) (mine []T, err error) {
	canAdopt := sync.OnceValue(func() error { // one read for all orphans
		return recheckDeletionTimestamp(ctx, c.Client, owner)
	})
	var errs []error
	for _, obj := range objs {
		matches := selector.Matches(labels.Set(obj.GetLabels()))
		claimed, err := claimObject(ctx, c.Client, owner, obj, matches, canAdopt)
		if claimed {
			mine = append(mine, obj)
		}
		errs = append(errs, err)
	}
	return mine, errors.Join(errs...)
}

// claimObject returns true if obj belongs to owner, after adopting it if need be.
func claimObject(
	ctx context.Context, c *Client, owner, obj Object, matches bool,
	canAdopt func() error,
) (claimed bool, err error) {
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller != nil && controller.UID != owner.GetUID() {
		return false, nil // another's
	}
	if controller != nil && matches {
		return true, nil // ours already
	}
	if owner.GetDeletionTimestamp() != nil {
		return false, nil // the garbage collector decides what happens to obj
	}
	if controller != nil {
		return false, release(ctx, c, owner, obj)
	}
	if !matches || obj.GetDeletionTimestamp() != nil {
		return false, nil // an orphan that we do not want
	}
	if err := canAdopt(); err != nil {
		return false, err
	}
	return adopt(ctx, c, owner, obj)
}

// recheckDeletionTimestamp asks the API server whether the owner may still adopt: the
// cache may not show yet that a user has deleted it.
func recheckDeletionTimestamp(ctx context.Context, c *Client, owner Object) error {
	live := owner.DeepCopyObject().(Object)
	if err := c.Get(ctx, KeyOf(owner), live); err != nil {
		return fmt.Errorf("may %s still adopt? %w", KeyOf(owner), err)
	}
	if live.GetUID() != owner.GetUID() || live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s must not adopt: a user has deleted it", KeyOf(owner))
	}
	return nil
}

func adopt(ctx context.Context, c *Client, owner, obj Object) (adopted bool, err error) {
	kind, _ := c.Cluster.KindOf(owner) // canAdopt has found it already
	return patchOwner(ctx, c, obj, metav1.NewControllerRef(owner, kind))
}

func release(ctx context.Context, c *Client, owner, obj Object) error {
	remove := map[string]any{"$patch": "delete", "uid": owner.GetUID()}
	_, err := patchOwner(ctx, c, obj, remove)
	return err
}

// patchOwner adds or removes one owner, and leaves the others. It returns false without
// an error if obj is gone (404), or if the API server does not allow the change (422):
// another object has the name, so the UID differs, or another controller has adopted obj.
func patchOwner(
	ctx context.Context, c *Client, obj Object, reference any,
) (done bool, err error) {
	metadata := map[string]any{"uid": obj.GetUID(), "ownerReferences": []any{reference}}
	data, _ := json.Marshal(map[string]any{"metadata": metadata}) // texts: cannot fail
	err = c.Patch(ctx, obj, types.StrategicMergePatchType, data)
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return false, nil
	}
	return err == nil, err
}
