package mini_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/mini"
)

// events is a ListerWatcher with an empty list, and a watch that the benchmark feeds.
type events struct{ watch *watch.FakeWatcher }

func (e events) List(context.Context) ([]mini.Object, string, error) { return nil, "1", nil }

func (e events) Watch(context.Context, string) (watch.Interface, error) { return e.watch, nil }

// One change of an object, from the watch to the end of its reconcile: informer, handler,
// queue and worker, without the API server.
func BenchmarkEventToReconcile(b *testing.B) {
	source := events{watch.NewFake()}
	informer := mini.NewSharedInformer(source, nil)
	reconciled := make(chan struct{})
	c := mini.NewController("bench", mini.ReconcilerFunc(
		func(context.Context, mini.Request) (mini.Result, error) {
			reconciled <- struct{}{}
			return mini.Result{}, nil
		}))
	c.Watch(informer, mini.EnqueueObject, mini.GenerationChanged)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 2)
	go func() { ended <- informer.Run(ctx) }()
	go func() { ended <- c.Run(ctx) }()
	states := []*corev1.Pod{podAt("2"), podAt("3")}
	states[1].Generation = 2
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		source.watch.Modify(states[i%2])
		<-reconciled
		i++
	}
	cancel()
	source.watch.Stop()
	require.NoError(b, <-ended)
	require.NoError(b, <-ended)
}
