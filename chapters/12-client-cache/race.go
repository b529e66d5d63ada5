package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// wanted is how many sellers there should be.
const wanted = 10

// late is how long each event of a slow watch takes.
const late = 50 * time.Millisecond

// readYourWrites makes ten sellers, three times: with a cache that is as new as its watch, with one whose
// watch is slow, and with a client that waits for its own writes.
func (s *stage) readYourWrites(ctx context.Context) error {
	objects, plain, err := s.open(ctx, s.config(), cache.Options{}, client.CacheOptions{})
	if err != nil {
		return err
	}
	waiting, err := client.New(s.config(), client.Options{Scheme: s.scheme, Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
	if err != nil {
		return err
	}
	s.Say("Ten sellers are wanted. A reconciler lists them, and makes one if there are fewer, until there are enough. Each event of the slow watch takes 50 ms.")
	rows := [][]string{{"", "wanted", "made", "lists"}}
	for _, run := range []struct {
		what, label string
		late        time.Duration
		c           client.Client
	}{
		{"a cache, and a fast watch", "fast", 0, plain},
		{"a cache, and a slow watch", "late", late, plain},
		{"the same, with read-your-writes", "waits", late, waiting},
	} {
		if err := run.c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(s.Namespace)); err != nil { // now there is an informer
			return err
		}
		s.traffic.delay(run.late)
		lists, err := s.makeSellers(ctx, run.c, run.label)
		s.traffic.delay(0)
		if err != nil {
			return err
		}
		var made corev1.ConfigMapList
		if err := s.users.List(ctx, &made, client.InNamespace(s.Namespace), client.MatchingLabels{"run": run.label}); err != nil {
			return err
		}
		rows = append(rows, []string{run.what, strconv.Itoa(wanted), strconv.Itoa(len(made.Items)), strconv.Itoa(lists)})
		s.row("5. "+run.what, lists, s.traffic.since())
	}
	s.Table("  How many sellers?", rows...)
	return nil
}

// region race

// makeSellers is a reconciler that is called until there is nothing to do.
func (s *stage) makeSellers(ctx context.Context, c client.Client, label string) (lists int, err error) {
	for {
		var sellers corev1.ConfigMapList
		lists++
		if err := c.List(ctx, &sellers, client.MatchingLabels{"run": label}); err != nil {
			return lists, err
		}
		if len(sellers.Items) >= wanted {
			return lists, nil
		}
		seller := &corev1.ConfigMap{ObjectMeta: s.meta("")}
		seller.GenerateName, seller.Labels = "seller-", map[string]string{"run": label}
		if err := c.Create(ctx, seller); err != nil {
			return lists, fmt.Errorf("making a seller: %w", err)
		}
	}
}

// endregion race
