package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	served "github.com/loopwright/loopwright/manager/internal/discovery"
)

// removal is what's known about whether a kind was removed from the server.
//
// A list that's answered with 404 proves nothing: it's what a load balancer without a backend says,
// and so does a server that hasn't learned of a new CustomResourceDefinition yet. If we took that
// for the end of a kind, we'd report the deletion of objects that are all there. So each 404 is a
// reason to ask discovery, and only a sound document that doesn't list the kind counts:
//
//	what                  threshold                     then
//	answers in a row      3, at least 2 s apart         the kind is gone, once the time is up
//	time, no objects      10 s                          reads fail: there's nothing to report
//	time, with objects    75 s                          the objects are reported as deleted
//
// One sound answer may come from a replica of the API server that's behind. The answers are apart
// so that they aren't all from the same moment, and 75 s are time enough for a load balancer to
// take a replica out that isn't ready (with the usual three checks, 10 s apart, it takes 30 s). With
// no objects, a mistake harms no one: that's the usual case, because a server deletes the objects
// of a kind before the kind itself, and the watch reports each of them.
type removal struct {
	since, last time.Time // the first and the last answer that counts
	answers     int
	isGone      bool
}

const (
	goneAnswers         = 3
	goneApart           = 2 * time.Second
	gonePatience        = 10 * time.Second
	goneWithObjects     = 75 * time.Second
	discoveryAnswersFor = 30 * time.Second // how long a question may take
)

// answered404 is for a 404, and what discovery says about it.
func (r removal) answered404(now time.Time, says discovery, holdsObjects bool) removal {
	switch {
	case says == saysServed:
		return removal{}
	case says == saysNothing:
		return r
	case r.answers > 0 && now.Sub(r.last) < goneApart:
		return r
	case r.answers == 0:
		r.since = now
	}
	r.last = now
	r.answers++
	patience := gonePatience
	if holdsObjects {
		patience = goneWithObjects
	}
	r.isGone = r.answers >= goneAnswers && now.Sub(r.since) >= patience
	return r
}

// discovery is what discovery says about a kind.
type discovery int

const (
	saysNothing discovery = iota // no answer, or one that is no discovery document
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
// A 404 alone never leads to it: see removal for what does. Until then, reads are answered with what
// there was, and CheckHealth says since when that is old, and what has answered.
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

// discover asks the server whether it serves a kind. It says neither yes nor no without a discovery
// document that says so; the error is then what has answered.
func (c *objectCache) discover(
	ctx context.Context, mapping *meta.RESTMapping,
) (discovery, error) {
	server, err := served.New(c.config, c.options.HTTPClient)
	if err != nil {
		return saysNothing, err
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryAnswersFor)
	defer cancel()
	found, err := server.Resources(ctx, mapping.GroupVersionKind.GroupVersion())
	switch {
	case err != nil:
		return saysNothing, err
	case found == nil:
		return saysMissing, nil
	}
	says := saysMissing
	for _, resource := range found.APIResources {
		switch {
		// another one, or a subresource
		case resource.Kind != mapping.GroupVersionKind.Kind || strings.Contains(resource.Name, "/"):
		case resource.Name == mapping.Resource.Resource &&
			resource.Namespaced == isNamespaced(mapping):
			return saysServed, nil
		default:
			says = saysMoved
		}
	}
	return says, nil
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
