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

// Claim adopts and releases, and returns the objects that the owner has then, in their order. An object that is gone
// is left out, and so is one that was adopted after somebody had taken away the labels for which it was wanted; neither is
// an error. With an error, the list is not complete, and the caller must not count it.
//
// mayAdopt is asked before the first adoption, and only then. It has to ask the server, not a cache: an owner that was
// deleted a moment ago must not adopt what its successor of the same name wants.
//
// The objects may be a cache's own: what is patched is a copy.
func Claim[T client.Object](ctx context.Context, c client.Writer, owner *Owner, objects []T, mayAdopt func(context.Context) error) ([]T, error) {
	mayAdoptOnce := sync.OnceValue(func() error { return mayAdopt(ctx) })
	var owned []T
	var failed []error
	for _, object := range objects {
		switch owner.Decide(object) {
		case Keep:
			owned = append(owned, object)
		case Adopt:
			if err := mayAdoptOnce(); err != nil {
				failed = append(failed, fmt.Errorf("adopting %s: %w", client.ObjectKeyFromObject(object), err))
				continue
			}
			adopted := object.DeepCopyObject().(T)
			switch err := c.Patch(ctx, adopted, owner.adoption(object)); {
			case apierrors.IsNotFound(err):
			case err != nil:
				failed = append(failed, fmt.Errorf("adopting %s: %w", client.ObjectKeyFromObject(object), err))
			case owner.Decide(adopted) == Keep:
				owned = append(owned, adopted)
			} // or else its labels changed before the adoption, and that event has it released
		case Release:
			released := object.DeepCopyObject().(T)
			if err := c.Patch(ctx, released, owner.release(object)); !isReleased(err) {
				failed = append(failed, fmt.Errorf("releasing %s: %w", client.ObjectKeyFromObject(object), err))
			}
		}
	}
	return owned, errors.Join(failed...)
}

// isReleased reports whether the object has no reference to the owner any more. If it is gone, it has none. The server
// calls a patch invalid if an object of that name has another UID.
func isReleased(err error) bool {
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}

// StillWants returns a function for Claim: it asks the server whether the owner is still there, and is still the same.
func StillWants(owner client.Object, live client.Reader) func(context.Context) error {
	return func(ctx context.Context) error {
		fresh := owner.DeepCopyObject().(client.Object)
		if err := live.Get(ctx, client.ObjectKeyFromObject(owner), fresh); err != nil {
			return fmt.Errorf("asking whether the owner is still there: %w", err)
		}
		if fresh.GetUID() != owner.GetUID() {
			return fmt.Errorf("the owner %s is gone, and another one has its name: its UID is %s and not %s",
				client.ObjectKeyFromObject(owner), fresh.GetUID(), owner.GetUID())
		}
		if fresh.GetDeletionTimestamp() != nil {
			return fmt.Errorf("the owner %s has been deleted", client.ObjectKeyFromObject(owner))
		}
		return nil
	}
}

// IsThere asks the server whether the owner is still there, is still the same, and is not being deleted. With a deletion,
// the end of an owner may be seen after that of what it owns, because each kind has a watch of its own. Who then makes
// again what the garbage collector has just deleted makes it for nobody.
func IsThere(ctx context.Context, live client.Reader, owner client.Object) (bool, error) {
	fresh := owner.DeepCopyObject().(client.Object)
	if err := live.Get(ctx, client.ObjectKeyFromObject(owner), fresh); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("asking whether the owner is still there: %w", err)
	}
	return fresh.GetUID() == owner.GetUID() && fresh.GetDeletionTimestamp() == nil, nil
}

// A patch names the UID of the object that it is meant for, so that it cannot hit a later one of that name. It is
// strategic: owner references are merged by their UID, so what others have written there stays. If somebody else has
// become the controller, the server refuses an adoption, because an object has one controller at most.
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
