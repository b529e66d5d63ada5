package server

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
)

// A manager puts its logger into the context of what it runs. Without this, a program that sets the
// manager's logger, and not the global one, never learns where its metrics are.
func TestTheServerWritesToTheManagersLogger(t *testing.T) {
	s, err := NewServer(Options{BindAddress: "127.0.0.1:0"}, nil, nil)
	require.NoError(t, err)
	said := make(chan string, 10) // more than the server has to say; read below
	logger := funcr.New(func(prefix, text string) { said <- prefix + " " + text }, funcr.Options{})
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logger))
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	first := <-said
	require.True(t, strings.HasPrefix(first, "metrics ") && strings.Contains(first, "Serving metrics"), first)
	stop()
	require.NoError(t, <-ended)
}
