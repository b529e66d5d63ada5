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
// matches, and releases owned objects that it no longer matches.
//
// Guarantees: it leaves an object alone that another controller owns. An owner that's
// being deleted adopts nothing, even if only the API server knows of the deletion yet; it
// releases nothing once owner has the deletionTimestamp. An object that was deleted, or
// that another controller adopts first, isn't returned, but it isn't an error either.
//
// Caveats: objs must be copies, because an adopted object becomes what the API server has
// stored. They must be in the owner's namespace. Along with an error, mine has the
// objects that were claimed in spite of it.
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

// claimObject returns true if obj belongs to owner, which may mean adopting it first.
func claimObject(
	ctx context.Context, c *Client, owner, obj Object, matches bool,
	canAdopt func() error,
) (claimed bool, err error) {
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller != nil && controller.UID != owner.GetUID() {
		return false, nil // another controller's
	}
	if controller != nil && matches {
		return true, nil // already ours
	}
	if owner.GetDeletionTimestamp() != nil {
		return false, nil // the garbage collector decides what happens to obj
	}
	if controller != nil {
		return false, release(ctx, c, owner, obj)
	}
	if !matches || obj.GetDeletionTimestamp() != nil {
		return false, nil // an orphan that we don't want
	}
	if err := canAdopt(); err != nil {
		return false, err
	}
	return adopt(ctx, c, owner, obj)
}

// recheckDeletionTimestamp asks the API server whether the owner may still adopt, because
// a user may have deleted it and the cache may not show that yet.
func recheckDeletionTimestamp(ctx context.Context, c *Client, owner Object) error {
	live := owner.DeepCopyObject().(Object)
	if err := c.Get(ctx, KeyOf(owner), live); err != nil {
		return fmt.Errorf("reading whether %s may still adopt: %w", KeyOf(owner), err)
	}
	if live.GetUID() != owner.GetUID() || live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s must not adopt: a user has deleted it", KeyOf(owner))
	}
	return nil
}

func adopt(ctx context.Context, c *Client, owner, obj Object) (adopted bool, err error) {
	kind, _ := c.Cluster.KindOf(owner) // canAdopt has already found it
	return patchOwner(ctx, c, obj, metav1.NewControllerRef(owner, kind))
}

func release(ctx context.Context, c *Client, owner, obj Object) error {
	remove := map[string]any{"$patch": "delete", "uid": owner.GetUID()}
	_, err := patchOwner(ctx, c, obj, remove)
	return err
}

// patchOwner adds or removes one owner, and leaves the others alone. It returns false
// without an error if obj was deleted (404), or if the API server doesn't allow the
// change (422): another object has taken the name, so the UID differs, or another
// controller has adopted obj.
func patchOwner(
	ctx context.Context, c *Client, obj Object, reference any,
) (done bool, err error) {
	metadata := map[string]any{"uid": obj.GetUID(), "ownerReferences": []any{reference}}
	data, _ := json.Marshal(map[string]any{"metadata": metadata}) // strings: can't fail
	err = c.Patch(ctx, obj, types.StrategicMergePatchType, data)
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return false, nil
	}
	return err == nil, err
}
