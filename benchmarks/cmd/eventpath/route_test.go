package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheListHasWhatRanInTheOrderOfTheLayers(t *testing.T) {
	passed, err := parse([]byte(`example.com/queue/queue.go:30:	*Queue.Get	80.0%
example.com/queue/queue.go:12:	*Queue.Add	100.0%
example.com/queue/queue.go:50:	*Queue.ShutDown	0.0%
example.com/watch/watch.go:7:	next	33.3%
example.com/watch/cache/store.go:9:	put	50.0%
/tmp/program/main.go:20:	main	50.0%
total	(statements)	12.0%
`))
	require.NoError(t, err)
	r := newRoute(passed, []string{"example.com/watch", "example.com/queue"})
	var printed bytes.Buffer
	r.print(&printed, "example")
	require.Equal(t, `example: 4 functions in 3 files
  example.com/watch/cache/store.go: put
  example.com/watch/watch.go: next
  example.com/queue/queue.go: *Queue.Add, *Queue.Get

`, printed.String())
}

func TestALayerBelowAnotherIsTheOneThatCounts(t *testing.T) {
	layers := []string{"example.com/queue", "example.com", "example.com/queue/order"}
	require.Equal(t, 2, layerOf("example.com/queue/order/fifo.go", layers))
	require.Equal(t, 1, layerOf("example.com/queued/queue.go", layers))
	require.Equal(t, len(layers), layerOf("example.org/queue.go", layers))
}
