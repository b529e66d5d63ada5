package mini_test

import (
	"context"
	"testing"

	"github.com/loopwright/loopwright/mini"
)

func BenchmarkSharedInformerOneEventToOneHandler(b *testing.B) {
	s := mini.NewSharedInformer(&script{}, nil)
	told := make(chan struct{})
	s.AddHandler(func(mini.Change) { told <- struct{}{} })
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Run(ctx)
	}()
	if err := s.WaitFor(ctx, s.HasSynced); err != nil {
		b.Fatal(err)
	}
	one, two := mapAt(2, "a", "1"), mapAt(3, "a", "2")
	for b.Loop() {
		s.Update(one)
		<-told
		one, two = two, one
	}
	cancel()
	<-ended
}
