package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// Claim adopts and releases objects, and returns those that the owner then has, in their order. It
// leaves out an object that the API server says was deleted. It also leaves out an object whose
// labels had changed, and no longer match, when the patch arrived; neither is an error. If Claim
// returns an error, the list isn't complete, and the caller must not count it.
//
// Claim calls mayAdopt once, before the first adoption. mayAdopt has to ask the API server, not a
// cache: an owner that was deleted a moment ago must not adopt objects that its successor of the
// same name wants.
//
// The objects may be the cache's own: Claim patches copies.
func Claim[T client.Object](
	ctx context.Context, c client.Writer, owner *Owner, objects []T,
	mayAdopt func(context.Context) error,
) ([]T, error) {
	mayAdoptOnce := sync.OnceValue(func() error { return mayAdopt(ctx) })
	var owned []T
	var failed []error
	for _, object := range objects {
		switch owner.Decide(object) {
		case Keep:
			owned = append(owned, object)
		case Adopt:
			if err := mayAdoptOnce(); err != nil {
				failed = append(failed, fmt.Errorf("adopting %s: %w",
					client.ObjectKeyFromObject(object), err))
				continue
			}
			adopted := object.DeepCopyObject().(T)
			switch err := c.Patch(ctx, adopted, owner.adoption(object)); {
			case client.IsAbsent(err, client.ObjectKeyFromObject(object)):
			case err != nil:
				failed = append(failed, fmt.Errorf("adopting %s: %w",
					client.ObjectKeyFromObject(object), err))
			case owner.Decide(adopted) == Keep:
				owned = append(owned, adopted)
			} // otherwise its labels changed before the adoption; that event leads to its release
		case Release:
			released := object.DeepCopyObject().(T)
			if err := c.Patch(ctx, released, owner.release(object)); !isReleased(object, err) {
				failed = append(failed, fmt.Errorf("releasing %s: %w",
					client.ObjectKeyFromObject(object), err))
			}
		}
	}
	return owned, errors.Join(failed...)
}

// isReleased reports whether the object no longer has a reference to the owner, or is gone. The API
// server answers Invalid if the object of that name has another UID.
func isReleased(object client.Object, err error) bool {
	return err == nil || apierrors.IsInvalid(err) ||
		client.IsAbsent(err, client.ObjectKeyFromObject(object))
}

// StillWants returns a mayAdopt for Claim: it asks the API server whether the owner still exists,
// with the same UID, and isn't being deleted.
func StillWants(owner client.Object, live client.Reader) func(context.Context) error {
	return func(ctx context.Context) error {
		fresh := owner.DeepCopyObject().(client.Object)
		if err := live.Get(ctx, client.ObjectKeyFromObject(owner), fresh); err != nil {
			return fmt.Errorf("asking whether the owner is still there: %w", err)
		}
		if fresh.GetUID() != owner.GetUID() {
			return fmt.Errorf("the owner %s was deleted, and another one has its name: its UID is "+
				"%s and not %s",
				client.ObjectKeyFromObject(owner), fresh.GetUID(), owner.GetUID())
		}
		if fresh.GetDeletionTimestamp() != nil {
			return fmt.Errorf("the owner %s has been deleted", client.ObjectKeyFromObject(owner))
		}
		return nil
	}
}

// IsThere asks the API server whether the owner still exists, with the same UID, and isn't being
// deleted. Each kind has its own watch, so a cache may see the deletion of a deleted owner's
// objects before the owner's. A controller that then replaced them would create objects that the
// garbage collector has to delete again.
func IsThere(ctx context.Context, live client.Reader, owner client.Object) (bool, error) {
	fresh, key := owner.DeepCopyObject().(client.Object), client.ObjectKeyFromObject(owner)
	if err := live.Get(ctx, key, fresh); client.IsAbsent(err, key) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("asking whether the owner is still there: %w", err)
	}
	return fresh.GetUID() == owner.GetUID() && fresh.GetDeletionTimestamp() == nil, nil
}

// A patch has the UID of its object, so that it can't change a later object of the same name. It
// is a strategic merge patch: the API server merges owner references by UID, and keeps those of
// other owners. It refuses an adoption if the object has another controller by now, because an
// object can have only one.
type metadataPatch struct {
	Metadata struct {
		UID             types.UID `json:"uid"`
		OwnerReferences []any     `json:"ownerReferences"`
	} `json:"metadata"`
}

func (o *Owner) adoption(of metav1.Object) client.Patch { return patchReference(of, o.Reference()) }

func (o *Owner) release(of metav1.Object) client.Patch {
	return patchReference(of, map[string]any{"$patch": "delete", "uid": o.Object.GetUID()})
}

func patchReference(of metav1.Object, reference any) client.Patch {
	var patch metadataPatch
	patch.Metadata.UID, patch.Metadata.OwnerReferences = of.GetUID(), []any{reference}
	data, err := json.Marshal(patch)
	if err != nil {
		panic(fmt.Sprintf("claim: a patch of strings cannot be written as JSON: %v", err))
	}
	return client.RawPatch(types.StrategicMergePatchType, data)
}
