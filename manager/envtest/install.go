package envtest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/client"
)

// put makes the server have an object of this name as it is here, and fills in what the server adds.
// Somebody else may write it at the same time; then put looks again.
func put(ctx context.Context, c client.Client, object client.Object) error {
	for {
		err := putOnce(ctx, c, object)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || ctx.Err() != nil {
			return err
		}
	}
}

func putOnce(ctx context.Context, c client.Client, object client.Object) error {
	existing := object.DeepCopyObject().(client.Object)
	err := c.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if err == nil && existing.GetDeletionTimestamp() != nil {
		// An update would succeed, and be gone a moment later.
		if err := awaitEnd(ctx, c, existing); err != nil {
			return err
		}
		err = c.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	switch {
	case apierrors.IsNotFound(err):
		object.SetResourceVersion("")
		object.SetUID("")
		return c.Create(ctx, object)
	case err != nil:
		return err
	}
	object.SetResourceVersion(existing.GetResourceVersion())
	object.SetUID(existing.GetUID())
	return c.Update(ctx, object)
}

func awaitEnd(ctx context.Context, c client.Client, dying client.Object) error {
	uid := dying.GetUID()
	return poll(ctx, defaultPollInterval, defaultMaxWait, "waiting for the end of the one that is being deleted", func(ctx context.Context) error {
		now := dying.DeepCopyObject().(client.Object)
		err := c.Get(ctx, client.ObjectKeyFromObject(dying), now)
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.GetUID() != uid:
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it still has the finalizers %q", now.GetFinalizers())
	})
}
