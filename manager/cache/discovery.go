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

// removal is what we know about whether a kind was removed from the server.
//
// A 404 for a list proves nothing: a load balancer without a backend sends one, and so does a
// server that hasn't heard of a new CustomResourceDefinition yet. If we took it for the end of a
// kind, we'd report the deletion of objects that all still exist. So each 404 is a reason to ask
// discovery, and only a valid document that doesn't list the kind counts:
//
//	what                  threshold                     then
//	answers in a row      3, at least 2 s apart         the kind is gone, once the time is up
//	time, no objects      10 s                          reads fail: there's nothing to report
//	time, with objects    75 s                          the objects are reported as deleted
//
// One valid answer may come from a replica of the API server that is behind. That's why the answers
// have to be spread over time. 75 s are enough for a load balancer to take an unready replica out
// (with the usual three checks, 10 s apart, it takes 30 s). Without objects, a mistake harms no
// one, and that's the usual case: a server deletes the objects of a kind before the kind itself,
// and the watch reports each of them.
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

// answered404 processes a 404, and what discovery says about it.
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
	// the old one, it's missing.
	saysMoved
)

// KindGoneError is the error of a read of a kind that the server used to serve and no longer does.
// It's a meta.IsNoMatchError, and not a NotFound error, which would say that an object doesn't
// exist.
//
// A 404 alone never leads to it: see removal for the rules. Until then, reads return the objects
// that the cache has, and CheckHealth says how long they've been stale, and who answered instead.
//
// The informer of a removed kind sends no more lists and watches. Its handlers get the deletions of
// the remaining objects, and stay. Every five seconds the informer checks whether the kind is
// served again. If so, it resumes: its handlers get the new objects, and reads are answered once
// these are in the store. So you don't have to get another informer, and IsStopped stays false. If
// the kind is back with another resource name or scope, the informer ends as after RemoveInformer:
// reads start a new one, and sources get it.
//
// controller-runtime's informer retries forever, at least twice a minute, and reads return the last
// objects that it had.
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

// discover asks the server whether it serves a kind. It needs a discovery document for a yes or a
// no; otherwise the error says what answered.
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
// scope. Readers and sources of the kind get new ones, as after RemoveInformer.
//
// It leaves informers alone that haven't noticed yet that the old kind was removed, because their
// handlers still have to hear of it. Each of them will call move, too.
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

// KindWaiter is a cache that can wait for a kind that isn't installed yet.
type KindWaiter interface {
	// WaitForKind returns nil when the kind is installed, and an error when the context has ended.
	WaitForKind(ctx context.Context, gvk schema.GroupVersionKind) error
}

// WaitForKind implements KindWaiter. It asks the RESTMapper, first at once and then with pauses
// that grow to lookForKind.
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
