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
// matches, and releases objects that the selector matches no longer.
//
// Guarantees: an object that another controller owns is left alone. An owner that is
// being deleted adopts and releases nothing. An object that is gone, or that another
// controller adopts first, is not returned, and is no error.
//
// Caveats: an adopted object becomes what the API server has stored, so objs must be
// copies. With an error, the objects that were claimed before and after it are returned.
func Claim[T Object](
	ctx context.Context, c *CachedClient, owner Object, selector labels.Selector,
	objs []T,
) (mine []T, err error) {
	canAdopt := sync.OnceValue(func() error { // one read for all orphans
		return recheckDeletionTimestamp(ctx, c.Client, owner)
	})
	var errs []error
	for _, obj := range objs {
		var claimed bool
		var err error
		switch claimObject(owner, obj, selector) {
		case keepIt:
			claimed = true
		case adoptIt:
			claimed, err = adopt(ctx, c.Client, owner, obj, canAdopt)
		case releaseIt:
			err = release(ctx, c.Client, owner, obj)
		}
		if claimed {
			mine = append(mine, obj)
		}
		errs = append(errs, err)
	}
	return mine, errors.Join(errs...)
}

// claim is what an owner does about one object.
type claim int

const (
	ignoreIt claim = iota
	keepIt
	adoptIt
	releaseIt
)

func claimObject(owner, obj Object, selector labels.Selector) claim {
	matches := selector.Matches(labels.Set(obj.GetLabels()))
	ending := owner.GetDeletionTimestamp() != nil
	controller := metav1.GetControllerOfNoCopy(obj)
	switch {
	case controller == nil: // an orphan
		if matches && !ending && obj.GetDeletionTimestamp() == nil &&
			obj.GetNamespace() == owner.GetNamespace() {
			return adoptIt
		}
		return ignoreIt
	case controller.UID != owner.GetUID(): // names return, UIDs do not
		return ignoreIt
	case matches:
		return keepIt
	case ending:
		return ignoreIt
	}
	return releaseIt
}

// recheckDeletionTimestamp asks the API server whether the owner may still adopt. The
// cache may not have seen yet that a user has deleted the owner: with --cascade=orphan,
// the garbage collector has just made these orphans, and they are to stay.
func recheckDeletionTimestamp(ctx context.Context, c *Client, owner Object) error {
	live := owner.DeepCopyObject().(Object)
	if err := c.Get(ctx, KeyOf(owner), live); err != nil {
		return fmt.Errorf("may %s still adopt? %w", KeyOf(owner), err)
	}
	if live.GetUID() != owner.GetUID() {
		return fmt.Errorf("%s cannot adopt: another has its name by now", KeyOf(owner))
	}
	if live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s cannot adopt: it is being deleted", KeyOf(owner))
	}
	return nil
}

func adopt(
	ctx context.Context, c *Client, owner, obj Object, canAdopt func() error,
) (claimed bool, err error) {
	if err := canAdopt(); err != nil {
		return false, err
	}
	kind, _ := c.Cluster.KindOf(owner) // canAdopt has found it already
	err = patchOwner(ctx, c, obj, metav1.NewControllerRef(owner, kind))
	if isGone(err) {
		return false, nil
	}
	return err == nil, err
}

func release(ctx context.Context, c *Client, owner, obj Object) error {
	remove := map[string]any{"$patch": "delete", "uid": owner.GetUID()}
	err := patchOwner(ctx, c, obj, remove)
	if isGone(err) {
		return nil
	}
	return err
}

// patchOwner adds or removes one owner. Other owners stay, and other clients' writes do
// not get in the way: there is no resourceVersion. The UID is the guard: it cannot be
// changed, so the API server refuses the patch if another object has the name by now.
func patchOwner(ctx context.Context, c *Client, obj Object, reference any) error {
	metadata := map[string]any{"uid": obj.GetUID(), "ownerReferences": []any{reference}}
	data, _ := json.Marshal(map[string]any{"metadata": metadata}) // texts: cannot fail
	return c.Patch(ctx, obj, types.StrategicMergePatchType, data)
}

// isGone: there is no object (404), or another with its name, or another controller has
// adopted it: an object has one controller at most (both 422). The watch brings the rest.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}
