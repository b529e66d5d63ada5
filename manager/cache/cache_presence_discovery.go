package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
)

// place is where the objects of a kind are.
type place struct {
	schema.GroupVersionResource
	namespaced bool
}

func placeOf(mapping *meta.RESTMapping) place {
	return place{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}
}

// discover asks the server whether it serves a kind. It says neither yes nor no if the question fails.
func (c *objectCache) discover(ctx context.Context, kind schema.GroupVersionKind, of place) discovery {
	asker, err := clientdiscovery.NewDiscoveryClientForConfigAndClient(rest.CopyConfig(c.config), c.options.HTTPClient)
	if err != nil {
		return saysNothing
	}
	found, err := asker.ServerResourcesForGroupVersionWithContext(ctx, kind.GroupVersion().String())
	switch {
	case apierrors.IsNotFound(err):
		return saysMissing
	case err != nil:
		return saysNothing
	}
	says := saysMissing
	for _, served := range found.APIResources {
		switch {
		case served.Kind != kind.Kind || strings.Contains(served.Name, "/"): // another one, or a subresource
		case served.Name == of.Resource && served.Namespaced == of.namespaced:
			return saysServed
		default:
			says = saysMoved
		}
	}
	return says
}

// move removes the informers of a kind that the server has under another resource name, or with another scope,
// than it had. Whoever reads the kind, or has a source of it, gets others, as after RemoveInformer.
//
// It leaves those that do not know yet that the old kind is gone: their handlers are still to be told. Each of them will
// call it, too.
func (c *objectCache) move(kind schema.GroupVersionKind, from place) error {
	meta.MaybeResetRESTMapper(c.options.Mapper)
	mapping, err := c.options.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err == nil && placeOf(mapping) == from {
		err = errMapperIsOld
	}
	if err != nil {
		return fmt.Errorf("%s is back under another resource name or with another scope, where the RESTMapper does not find it: %w", kind, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, form := range []informer.Form{informer.FormMetadata, informer.FormTyped, informer.FormUnstructured} {
		v := c.views[kindForm{kind, form}]
		isHere := func(part *kindInformer) bool { return !part.presence.isGone() }
		if v != nil && !slices.ContainsFunc(v.parts, isHere) {
			c.log.logger().Info("A kind is back in another place, and gets another informer", "kind", kind.String(), "resource", mapping.Resource.Resource, "scope", mapping.Scope.Name())
			c.removeLocked(v)
		}
	}
	return nil
}

var errMapperIsOld = errors.New("it cannot be reset, and has the old one")

// KindWaiter is a cache that can be asked to wait for a kind that is not installed yet.
type KindWaiter interface {
	// WaitForKind returns nil when the kind is installed, and an error when the context has ended.
	WaitForKind(ctx context.Context, gvk schema.GroupVersionKind) error
}

// WaitForKind implements KindWaiter. It asks the RESTMapper, at once and then with pauses that grow to
// lookForKind.
func (c *objectCache) WaitForKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, lookForKind) {
		versions := []string{gvk.Version}
		if gvk.Version == "" {
			versions = nil
		}
		_, err := c.options.Mapper.RESTMapping(gvk.GroupKind(), versions...)
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for %s to be installed: %w: %w", gvk, err, context.Cause(ctx))
		}
	}
}
