package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// This file is the judge of Shards. It sees each reconcile begin and end, and what's in the server when
// one ends.

// begins notes that a replica begins with an object, and judges OneWorker. A process that has been killed
// doesn't begin anything.
func (s *shop) begins(process string, key client.ObjectKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead[process] {
		return false
	}
	if other := s.inside[key]; other != "" {
		s.Breaks(simulation.OneWorker, time.Now(), "%s begins with %s, and %s is inside", process, key, other)
	}
	s.inside[key] = process
	s.begun++
	if s.workers != nil {
		s.workers[process] = true
	}
	s.Count("reconciles")
	s.Tell("%s begins with %s", process, key)
	return true
}

// leaves notes that a reconcile has ended, and what it leaves behind.
func (s *shop) leaves(process string, key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside[key] != process {
		return // it was killed
	}
	delete(s.inside, key)
	if s.judged[key] != process {
		return // it couldn't read it, so it hasn't written it either, and is judged next time
	}
	// The lock is held meanwhile: the next one must be judged by what this one leaves. It stops the
	// bubble's clock, but users' requests take no time.
	it, count, err := read(context.Background(), s.Live, key)
	if err != nil {
		s.T.Error(err)
	}
	if it == nil {
		delete(s.written, key) // a user has deleted it
		return
	}
	s.written[key] = written{timesOf(it, count), process}
	s.Tell("%s leaves %s, done %d times", process, key, s.written[key].done)
}

// ended notes that a process isn't inside anything any more.
func (s *shop) ended(process string) {
	s.mu.Lock()
	s.dead[process] = true
	var left []client.ObjectKey
	for key, who := range s.inside {
		if who == process {
			left = append(left, key)
		}
	}
	s.mu.Unlock()
	for _, key := range left {
		s.leaves(process, key)
	}
}

// sees judges NothingLost: a replica sees what the one before it has written.
func (s *shop) sees(process string, key client.ObjectKey, seen times) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.written[key]
	if s.dead[process] || before.by == process || s.deleted[key] {
		return
	}
	s.judged[key] = process
	if before.by != "" {
		s.Count("takeovers of an object")
	}
	if seen.done < before.done || seen.counted < before.counted {
		s.Breaks(simulation.NothingLost, time.Now(),
			"%s sees %s done %d times and counted %d times; when %s left it, that was %d and %d",
			process, key, seen.done, seen.counted, before.by, before.done, before.counted)
	}
}

// hears judges NothingLost: what another replica gets isn't deleted.
func (s *shop) hears(process string, key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deleted[key] && !s.dead[process] {
		s.Breaks(simulation.NothingLost, time.Now(), "%s hears that %s has been deleted, and it hasn't", process, key)
	}
}

// all returns what there is, as users see it.
func (s *shop) all() []corev1.ConfigMap {
	var list corev1.ConfigMapList
	if err := s.Live.List(context.Background(), &list); err != nil {
		s.T.Error(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

func (s *shop) state() string {
	var lines []string
	for _, it := range s.all() {
		lines = append(lines, wants(&it))
	}
	return strings.Join(lines, "; ")
}

// judge judges ActedOn and Quiet: each ConfigMap is what its user wants, nobody works any more, and if
// there's work again, all replicas do some of it.
func (s *shop) judge() {
	s.isRight()
	begun := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.begun
	}
	before := begun()
	time.Sleep(2 * time.Minute)
	if after := begun(); after != before {
		s.Breaks(simulation.Quiet, time.Now(), "%d reconciles, after all was done", after-before)
	}
	s.mu.Lock()
	s.workers = map[string]bool{}
	s.mu.Unlock()
	s.make("default")
	for range 9 {
		s.make(s.namespace())
	}
	time.Sleep(2 * time.Minute) // they look for new namespaces once a minute
	for _, key := range s.objects {
		s.change(key)
	}
	time.Sleep(30 * time.Second)
	s.isRight()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.workers) != len(names) {
		s.Breaks(simulation.ActedOn, time.Now(), "in the end, %d of %d replicas work", len(s.workers), len(names))
	}
}

func (s *shop) isRight() {
	for _, it := range s.all() {
		_, count, err := read(context.Background(), s.Live, client.ObjectKeyFromObject(&it))
		if err != nil {
			s.T.Error(err)
		}
		if !isDone(&it, count) {
			t := timesOf(&it, count)
			s.Breaks(simulation.ActedOn, time.Now(), "%s, done %d times and counted %d times", wants(&it), t.done, t.counted)
		}
	}
}

func wants(it *corev1.ConfigMap) string {
	return fmt.Sprintf("%s/%s wants %s and is %s", it.Namespace, it.Name, it.Data["wants"], it.Data["is"])
}
