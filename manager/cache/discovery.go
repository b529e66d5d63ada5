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
)

// removal is what is known about whether a kind was removed from the server.
//
// A list that is answered with 404 proves little: a proxy answers so, too, and a server that has
// not yet learned of a new CustomResourceDefinition. To take that for the end of a kind is to
// report the deletion of objects that are all there. So discovery is asked each time. It fails
// rather than leave something out, and a server that is starting answers it with 503. The kind is
// gone when goneAnswers such pairs in a row have said so, and gonePatience is over.
type removal struct {
	missingSince time.Time // the first 404 in a row with which discovery agreed
	answers      int       // such 404s
	isGone       bool
}

const (
	gonePatience = 3 * time.Second
	goneAnswers  = 3
)

// answered404 is for a 404, and what discovery says about it.
func (r removal) answered404(now time.Time, says discovery) removal {
	switch says {
	case saysServed:
		return removal{}
	case saysNothing:
		return r // the server is in trouble: neither is a proof
	}
	if r.answers == 0 {
		r.missingSince = now
	}
	r.answers++
	r.isGone = r.answers >= goneAnswers && now.Sub(r.missingSince) >= gonePatience
	return r
}

// discovery is what discovery says about a kind.
type discovery int

const (
	saysNothing discovery = iota // it does not answer
	saysServed
	saysMissing
	// saysMoved: the server has the kind under another resource name, or with another scope. Under
	// the old one, it is missing.
	saysMoved
)

// KindGoneError is the answer to a read of a kind that the server served once and serves no more.
// It is a meta.IsNoMatchError and no NotFound error: that an object is not there is not what it
// says.
//
// The informer of such a kind sends no more lists and watches. Its handlers are told the end of
// what was left, and stay. It looks for the kind every five seconds, and goes on where it is served
// again: its handlers are told what is new, and reads are answered when that is in the store. So
// nobody has to ask for another informer, and IsStopped stays false. If the kind is back with
// another resource name or scope, the informer ends as after RemoveInformer: reads start another
// one, and sources ask for it.
//
// controller-runtime's informer asks for the kind forever, twice a minute or more, and reads answer
// with what there was last.
type KindGoneError struct {
	GVK schema.GroupVersionKind
}

func (e *KindGoneError) Error() string {
	return fmt.Sprintf("the API server does not serve %s any more: its CustomResourceDefinition "+
		"was deleted, or has lost this version", e.GVK)
}

func (e *KindGoneError) Unwrap() error {
	return &meta.NoKindMatchError{GroupKind: e.GVK.GroupKind(),
		SearchedVersions: []string{e.GVK.Version}}
}

// discover asks the server whether it serves a kind. It says neither yes nor no if the question
// fails.
func (c *objectCache) discover(ctx context.Context, mapping *meta.RESTMapping) discovery {
	asker, err := clientdiscovery.NewDiscoveryClientForConfigAndClient(rest.CopyConfig(c.config),
		c.options.HTTPClient)
	if err != nil {
		return saysNothing
	}
	found, err := asker.ServerResourcesForGroupVersionWithContext(ctx,
		mapping.GroupVersionKind.GroupVersion().String())
	switch {
	case apierrors.IsNotFound(err):
		return saysMissing
	case err != nil:
		return saysNothing
	}
	says := saysMissing
	for _, served := range found.APIResources {
		switch {
		// another one, or a subresource
		case served.Kind != mapping.GroupVersionKind.Kind || strings.Contains(served.Name, "/"):
		case served.Name == mapping.Resource.Resource && served.Namespaced == isNamespaced(mapping):
			return saysServed
		default:
			says = saysMoved
		}
	}
	return says
}

// move removes the informers of a kind that is back under another resource name, or with another
// scope. Readers and sources of the kind get others, as after RemoveInformer.
//
// It leaves those that have not noticed yet that the old kind is gone: their handlers are still to
// be told. Each of them will call it, too.
func (c *objectCache) move(from *meta.RESTMapping) error {
	kind := from.GroupVersionKind
	meta.MaybeResetRESTMapper(c.options.Mapper)
	mapping, err := c.options.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err == nil && mapping.Resource == from.Resource &&
		mapping.Scope.Name() == from.Scope.Name() {
		err = errMapperIsOld
	}
	if err != nil {
		return fmt.Errorf("%s is back under another resource name or with another scope, where "+
			"the RESTMapper does not find it: %w", kind, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, form := range allForms {
		g := c.byGVK[objectKind{kind, form}]
		isThere := func(in *namespaceInformer) bool { return !in.from.isGone() }
		if g != nil && !slices.ContainsFunc(g.namespaces, isThere) {
			c.log.Info("A kind is back under another resource name or with another scope, and "+
				"gets another informer",
				"kind", kind.String(), "resource", mapping.Resource.Resource, "scope", mapping.Scope.Name())
			c.removeLocked(g)
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

// WaitForKind implements KindWaiter. It asks the RESTMapper, at once and then with pauses that grow
// to lookForKind.
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
			return fmt.Errorf("waiting for %s to be installed: %w: %w", gvk, err,
				context.Cause(ctx))
		}
	}
}
