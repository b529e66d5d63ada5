package fakeapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// freshWait is how long a read waits for a version that is not there yet.
const freshWait = 3 * time.Second

// get serves one object.
func (s *Server) get(ctx context.Context, a answer, res *resource, r Request, stale uint64) {
	v, err := s.find(ctx, res, r, stale)
	if err != nil {
		a.error(err)
		return
	}
	data, err := a.format.encodeVersion(v)
	if err != nil {
		a.error(err)
		return
	}
	a.bytes(http.StatusOK, data)
}

// find looks an object up, in the present or, for a fault, in the past.
func (s *Server) find(ctx context.Context, res *resource, r Request, stale uint64) (*version, error) {
	if text := r.Query.Get("resourceVersion"); text != "" {
		rv, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("resourceVersion: Invalid value: %q: %w", text, err)
		}
		if err := s.waitForVersion(ctx, rv); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.store.table(res.storage())
	snap := t.now()
	if stale > 0 {
		if old, ok := t.asOf(s.pastLocked(t, stale)); ok {
			snap = old
		}
	}
	if v := snap.at(objectKey(r.Namespace, r.Name)); v != nil {
		return v, nil
	}
	return nil, apierrors.NewNotFound(res.gr(), r.Name)
}

// pastLocked is the version that lies back the given number of writes, or the
// oldest one that is remembered.
func (s *Server) pastLocked(t *table, back uint64) uint64 {
	oldest := max(t.forgotten, 1)
	if s.store.rv < oldest+back {
		return oldest
	}
	return s.store.rv - back
}

// waitForVersion waits until the store has reached rv.
func (s *Server) waitForVersion(ctx context.Context, rv uint64) error {
	deadline := time.NewTimer(freshWait)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		have, written := s.store.rv, s.changedLocked(anyResource)
		s.mu.Unlock()
		if have >= rv {
			return nil
		}
		select {
		case <-written:
		case <-deadline.C:
			return tooLarge(rv, have)
		case <-ctx.Done():
			return apierrors.NewTimeoutError(context.Cause(ctx).Error(), 0)
		case <-s.done:
			return apierrors.NewServiceUnavailable("the server is shutting down")
		}
	}
}

// list serves a collection, or one page of it.
func (s *Server) list(ctx context.Context, a answer, res *resource, r Request, plan faultPlan) {
	options, err := parseListOptions(res, r, true, s.options.ShardedListAndWatch)
	if err == nil {
		err = s.waitForVersion(ctx, options.rv)
	}
	if err != nil {
		a.error(err)
		return
	}
	p, rv, err := s.readPage(res, options, plan.stale)
	if err != nil {
		a.error(err)
		return
	}
	next := ""
	if p.next != "" {
		next = encodeToken(int64(rv), options.prefix, p.next)
	}
	lm := newListMeta(rv, next, p.remaining)
	if options.shard != nil {
		lm.ShardInfo = &metav1.ShardInfo{Selector: options.shard.String()}
	}
	if plan.noVersions {
		lm.ResourceVersion, p.items = "", withoutVersions(p.items)
	}
	a.raw(http.StatusOK, a.format.list(res, p.items, lm))
}

// readPage finds the snapshot that a list asks for and reads from it.
func (s *Server) readPage(res *resource, o listOptions, stale uint64) (page, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.store.table(res.storage())
	snap, rv, start := t.now(), s.store.rv, ""
	switch {
	case o.Continue != "" && o.rv != 0:
		return page{}, 0, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	case o.Continue != "":
		tokenRV, key, err := decodeToken(o.Continue, o.prefix)
		if err != nil {
			return page{}, 0, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
		}
		start = key
		if tokenRV < 0 {
			break // the rest, as it is now
		}
		old, ok := s.snapshotLocked(t, uint64(tokenRV))
		if !ok {
			return page{}, 0, expiredToken(encodeToken(-1, o.prefix, key))
		}
		snap, rv = old, uint64(tokenRV)
	case o.exact():
		old, ok := s.snapshotLocked(t, o.rv)
		if !ok {
			return page{}, 0, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		snap, rv = old, o.rv
	case stale > 0:
		past := s.pastLocked(t, stale)
		if old, ok := t.asOf(past); ok {
			snap, rv = old, past
		}
	}
	limit := o.pageable()
	if limit < 0 {
		limit = math.MaxInt64
	}
	return snap.page(o.selection, start, limit), rv, nil
}

func (s *Server) snapshotLocked(t *table, rv uint64) (snapshot, bool) {
	if !s.store.remembers(t, rv) {
		return snapshot{}, false
	}
	return t.asOf(rv)
}

// expiredToken refuses a page whose snapshot is gone. The new token in it
// yields the rest of the list at the current version, for clients that accept
// a list that was never true at any one moment.
func expiredToken(next string) error {
	err := apierrors.NewResourceExpired("the continue token is too old for a consistent list: start again, or go on inconsistently with the token of this answer")
	err.ErrStatus.ListMeta = metav1.ListMeta{Continue: next}
	return err
}
