package deployment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/client"
)

// A client that reads its own writes knows those that the server has confirmed. A write that has failed may have
// happened all the same, because its answer was lost; or it was refused, because somebody else has changed the
// ReplicaSet, and the cache does not know that yet. Either way the cache is behind. So before the next look the server is
// asked about the ReplicaSet, and the cache is waited for.
//
// The ReplicaSet controller has to know names that were made up. A ReplicaSet's name is always the same, so that it is enough here
// to remember it.

// doubts are the names of the ReplicaSets of which the cache may not know what has become.
type doubts struct {
	mu sync.Mutex // guards of
	of map[client.ObjectKey]map[string]struct{}
}

func (d *doubts) add(deployment client.ObjectKey, replicaSet string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[client.ObjectKey]map[string]struct{}{}
	}
	if d.of[deployment] == nil {
		d.of[deployment] = map[string]struct{}{}
	}
	d.of[deployment][replicaSet] = struct{}{}
}

// open are the names, in their order.
func (d *doubts) open(deployment client.ObjectKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.of[deployment]))
}

func (d *doubts) settled(deployment client.ObjectKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, deployment)
}

// settle asks the server about all that is in doubt for a Deployment, and waits until the cache has what it says.
func (r *reconciler) settle(ctx context.Context, deployment client.ObjectKey) error {
	for _, name := range r.doubts.open(deployment) {
		if err := r.catchUp(ctx, client.ObjectKey{Namespace: deployment.Namespace, Name: name}); err != nil {
			return fmt.Errorf("what has become of the ReplicaSet %s? %w", name, err)
		}
	}
	r.doubts.settled(deployment)
	return nil
}

func (r *reconciler) catchUp(ctx context.Context, key client.ObjectKey) error {
	rs := &appsv1.ReplicaSet{}
	switch err := r.live.Get(ctx, key, rs); {
	case apierrors.IsNotFound(err):
		return r.waiter.WaitForEnd(ctx, &appsv1.ReplicaSet{}, key, func(client.Object) bool { return true })
	case err != nil:
		return err
	}
	return r.waiter.WaitFor(ctx, rs, key, rs.ResourceVersion)
}
