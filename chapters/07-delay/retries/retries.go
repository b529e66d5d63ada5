// Package retries is what both programs of the chapter do: names are reconciled that need a
// Secret, and some of the Secrets are missing.
package retries

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Way is a way to retry: a queue, and what the worker does until the queue ends.
type Way struct {
	Queue Queue
	Work  func(reconcile func(mini.Request) error)
}

// Queue is what a story needs of a queue.
type Queue interface {
	Add(mini.Request)
	ShutDown()
}

type story struct {
	context.Context
	*demo.Demo
	queue Queue
	began time.Time
	tries atomic.Int64 // to reconcile red and blue
}

// reconcile only reads the Secret from the API server.
func (s *story) reconcile(req mini.Request) error {
	if req.Name != "shop" {
		s.tries.Add(1)
	}
	time.Sleep(5 * time.Millisecond) // what else a reconcile does
	secrets := s.Client.CoreV1().Secrets(req.Namespace)
	if _, err := secrets.Get(s, req.Name, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("%s needs a Secret: %w", req.Name, err)
	}
	s.Say("%s is reconciled after %.1f s.", req.Name, time.Since(s.began).Seconds())
	return nil
}

// Missing adds red and blue, whose Secrets are missing, and then shop, which has one. The Secret
// of red comes after a second.
func Missing(ctx context.Context, d *demo.Demo, headline string, way Way) error {
	return play(ctx, d, headline, way, func(s *story) error {
		if err := s.createSecret("shop"); err != nil {
			return err
		}
		s.began = time.Now()
		s.add("red")
		s.add("blue")
		s.add("shop")
		demo.Sleep(ctx, time.Second)
		s.Say("Tries of red and blue in the first second: %d.", s.tries.Load())
		if err := s.createSecret("red"); err != nil {
			return err
		}
		demo.Sleep(ctx, 4*time.Second)
		return nil
	})
}

// Changes adds red, whose Secret is missing, five times in half a second.
func Changes(ctx context.Context, d *demo.Demo, headline string, way Way) error {
	return play(ctx, d, headline, way, func(s *story) error {
		for range 5 {
			s.add("red")
			demo.Sleep(ctx, 100*time.Millisecond)
		}
		demo.Sleep(ctx, 450*time.Millisecond)
		before := s.tries.Load()
		demo.Sleep(ctx, time.Second)
		s.Say("Tries of red in one second, after the changes: %d.", s.tries.Load()-before)
		return nil
	})
}

func play(
	ctx context.Context, d *demo.Demo, headline string, way Way, act func(*story) error,
) error {
	return d.Step(headline, func() error {
		s := &story{Context: ctx, Demo: d, queue: way.Queue}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			way.Work(s.reconcile)
		}()
		err := act(s)
		way.Queue.ShutDown()
		select {
		case <-ended:
		case <-ctx.Done(): // a worker that sleeps does not notice
			return ctx.Err()
		}
		secrets := d.Client.CoreV1().Secrets(d.Namespace)
		for _, name := range []string{"red", "shop"} {
			_ = secrets.Delete(ctx, name, metav1.DeleteOptions{}) // for the next step
		}
		return err
	})
}

func (s *story) add(name string) {
	s.queue.Add(mini.Request{Namespace: s.Namespace, Name: name})
}

func (s *story) createSecret(name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := s.Client.CoreV1().Secrets(s.Namespace).Create(s, secret, metav1.CreateOptions{})
	return err
}
