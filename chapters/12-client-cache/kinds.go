package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// kindGoes deletes the CRD while a cache has Stalls, and installs it again.
func (s *stage) kindGoes(ctx context.Context) error {
	quiet := cache.Options{DefaultWatchErrorHandler: func(error) {}}
	objects, c, err := s.open(ctx, s.config(), quiet, client.CacheOptions{})
	if err != nil {
		return err
	}
	stalls, err := objects.GetInformer(ctx, &Stall{})
	if err != nil {
		return err
	}
	var created, deleted atomic.Int32
	_, err = stalls.AddEventHandler(informer.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { created.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	if err != nil {
		return err
	}
	if err := s.until(ctx, "the handler", isTold(&created, 4)); err != nil {
		return err
	}
	s.Say("The cache has %d Stalls. Somebody deletes the CustomResourceDefinition, and so all Stalls:", created.Load())
	if err := s.users.Delete(ctx, s.crd()); err != nil {
		return err
	}
	err = s.until(ctx, "the end of the Stalls", func(ctx context.Context) error {
		return not(apierrors.IsNotFound, c.Get(ctx, s.key("stall-0"), &Stall{}))
	})
	if err != nil {
		return err
	}
	s.Say("  %v", c.Get(ctx, s.key("stall-0"), &Stall{}))
	s.Say("That is the end of an object. That the kind is gone, the cache believes when several answers and discovery say so, for a few seconds:")
	isGone := func(err error) bool { var gone *cache.KindGoneError; return errors.As(err, &gone) }
	err = s.until(ctx, "the end of the kind", func(ctx context.Context) error { return not(isGone, c.Get(ctx, s.key("stall-0"), &Stall{})) })
	if err != nil {
		return err
	}
	s.Say("  %v", c.Get(ctx, s.key("stall-0"), &Stall{}))
	if err := s.until(ctx, "the handler", isTold(&deleted, 4)); err != nil {
		return err
	}
	s.Say("The handler was told of %d deletions. The CustomResourceDefinition comes back, and with it a Stall:", deleted.Load())
	created.Store(0)
	if err := errors.Join(s.install(ctx), s.openStall(ctx, "fig")); err != nil {
		return err
	}
	if err := s.until(ctx, "the new Stall", func(ctx context.Context) error { return c.Get(ctx, s.key("fig"), &Stall{}) }); err != nil {
		return err
	}
	if err := s.until(ctx, "the handler", isTold(&created, 1)); err != nil {
		return err
	}
	s.Say("The same informer, the same handler: it was told of %d new Stall. IsStopped: %t", created.Load(), stalls.IsStopped())
	return nil
}

// isTold fails unless a handler was told of so many objects.
func isTold(told *atomic.Int32, want int32) func(context.Context) error {
	return func(context.Context) error {
		if got := told.Load(); got != want {
			return fmt.Errorf("it was told of %d, and not of %d", got, want)
		}
		return nil
	}
}

// not turns an error that is expected into success.
func not(expected func(error) bool, err error) error {
	if expected(err) {
		return nil
	}
	return fmt.Errorf("it is not there yet: %w", errors.Join(err, errors.New("another answer")))
}
