package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
)

// Sharded is a cache that keeps the objects of some namespaces, if its Options have a Shard. The one
// that New returns is.
//
// Guarantees: Keep and WaitForShard together make sure that the cache is no older than the call of
// Keep, for all informers that have the shard: another process that has stopped writing before that
// call has written nothing that the cache lacks. Objects that come or go are no creations or
// deletions; see informer.Informer's Keep. A read of a namespace that isn't kept is a *ShardError,
// and never NotFound.
//
// Caveats: a list of all namespaces has those that are kept, and a namespace that has come isn't among
// them until it's listed. Kinds without namespaces are kept
// whole. An object that the cache doesn't keep brings no events.
type Sharded interface {
	// Keep makes the informers keep the objects of another shard.
	Keep(shard informer.Shard)
	// WaitForShard waits until they do. For informers that aren't allowed to list, and for kinds that
	// were removed, it only waits until what left is gone: what came is a *ShardError until it's listed.
	WaitForShard(ctx context.Context) error
}

// ShardError is the error of a read of a namespace that isn't kept: another replica has it, or it has
// come and isn't listed yet.
type ShardError struct {
	GVK       schema.GroupVersionKind
	Namespace string
}

func (e *ShardError) Error() string {
	return fmt.Sprintf("this replica's cache doesn't have the objects of %s in the namespace %s. Either "+
		"another replica has the namespace: then read them from the API server, or keep the kind whole "+
		"(ByObject.KeepWhole). Or it has come, and the list that brings them is refused: then the log says why",
		e.GVK, e.Namespace)
}

// IsElsewhere says to a client that the server can answer the read.
func (e *ShardError) IsElsewhere() bool { return true }

// Keep implements Sharded.
func (c *objectCache) Keep(shard informer.Shard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shard = shard
	for _, in := range c.byNamespace {
		if in.scope.sharded {
			in.informer.Keep(shard)
		}
	}
}

// WaitForShard implements Sharded.
func (c *objectCache) WaitForShard(ctx context.Context) error {
	if err := c.waitForMaking(ctx, nil); err != nil {
		return err
	}
	for _, in := range c.sortedInformers() {
		if err := in.waitForShard(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitForShard waits as long as the server answers, or may answer again.
func (k *namespaceInformer) waitForShard(ctx context.Context) error {
	if !k.scope.sharded {
		return nil
	}
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			refused, news := k.from.refusal.last()
			if refused != nil || k.from.isGone() {
				cancel()
			}
			select {
			case <-news:
			case <-k.informer.Stopped():
				cancel()
				return
			case <-until.Done():
				return
			}
		}
	}()
	err := k.informer.WaitForShard(until)
	if err != nil && ctx.Err() == nil {
		err = k.informer.WaitForLeave(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return timeout{fmt.Errorf("%s: %w", k, withoutNotFound(err))}
	}
	return nil
}

// shardLocked is what an informer begins with.
func (c *objectCache) shardLocked(kind objectKind) informer.ShardOptions {
	return informer.ShardOptions{First: c.shard, OnForeign: func() {
		c.log.Info("The API server doesn't select shards, so each replica receives and decodes all "+
			"objects, and keeps its own: Kubernetes has that feature from 1.36 on, behind the gate "+
			"ShardedListAndWatch", "kind", kind.GroupVersionKind.String())
	}}
}
